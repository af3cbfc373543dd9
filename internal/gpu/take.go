package gpu

import (
	"encoding/binary"
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/backend"
	"github.com/restride/restride/kernels"
	"github.com/restride/restride/layout"
)

// takes is the status of a queue's takes and puts: a few words on the device in which kernels
// note an index that is out of range (see kernels/source/indices.h). They are read
// when the queue waits, if there were takes since the last time.
type takes struct {
	status *block // nil: there were no takes so far
	noted  []byte // what was read
	none   []byte // zeros
	queued bool   // takes since status was read
}

const statusBytes = 2 * blockAlign

// prepareTakes allocates the status, and queues its zeros.
func (q *Queue) prepareTakes() error {
	if q.takes.status != nil {
		return nil
	}
	// Not counted, as parameters are not: it is as little.
	mem, err := q.withRoom(func() (Mem, error) { return q.dev.driver.Alloc(statusBytes) })
	if err != nil {
		return err
	}
	b := &block{mem, statusBytes}
	q.takes = takes{status: b, noted: make([]byte, statusBytes), none: make([]byte, statusBytes)}
	if err := q.upload(b, 0, q.takes.none); err != nil {
		q.takes.release(q.dev)
		return err
	}
	return nil
}

func (t *takes) release(d *Device) {
	if t.status != nil {
		_ = d.driver.Free(t.status.mem)
	}
	*t = takes{}
}

// Take copies the elements of src that indices name to dst.
func (q *Queue) Take(dst, src, at device.Operand, by ...device.Index) error {
	if err := q.begin("Take"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckTake(&dst, &src, &at, by); err != nil {
		return err
	}
	e, err := q.launches.Take(&dst.Layout, &src.Layout, &at.Layout, by, dst.Type.Bits(), at.Type.Bits())
	return q.launchIndexed("Take", e, err, &dst, &src, &at, 0)
}

// Put copies the elements of src to those of dst that indices name.
func (q *Queue) Put(dst, src, at device.Operand, how device.Reduction, by ...device.Index) error {
	if err := q.begin("Put"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckPut(&dst, &src, &at, how, by); err != nil {
		return err
	}
	if how == device.Set {
		e, err := q.launches.Put(&dst.Layout, &src.Layout, &at.Layout, by, dst.Type.Bits(), at.Type.Bits())
		return q.launchIndexed("Put", e, err, &dst, &src, &at, 0)
	}
	return q.reduce(&dst, &src, &at, how, by)
}

// reduce queues a checked put that reduces: one launch, or a half after the other where one
// takes more rounds of loops than the device does.
func (q *Queue) reduce(dst, src, at *device.Operand, how device.Reduction, by []device.Index) error {
	e, err := q.launches.Reduce(&dst.Layout, &src.Layout, &at.Layout, by, dst.Type, how, at.Type.Bits())
	axis := -1
	if errors.Is(err, kernels.ErrRounds) {
		axis = kernels.HalveReduce(dst.Layout, src.Layout, by)
	}
	if axis < 0 {
		return q.launchIndexed("Put", e, err, dst, src, at, kernels.Reducing(dst.Type, how))
	}
	n := src.Layout.Dim(axis)
	for _, half := range [2][2]int64{{0, n / 2}, {n / 2, n}} {
		d, s, a := *dst, *src, *at
		for _, x := range []*device.Operand{&d, &s, &a} {
			if x.Layout, err = x.Layout.Slice(axis, half[0], half[1], 1); err != nil {
				return err
			}
		}
		if err := q.reduce(&d, &s, &a, how, by); err != nil {
			return err
		}
	}
	return nil
}

// launchIndexed queues the launch of a checked take or put, or returns the error of planning
// it. hi is the kernel's argument of this name.
func (q *Queue) launchIndexed(op string, e *kernels.Entry[Mem], planned error, dst, src, at *device.Operand, hi uint64) error {
	to, from, err := q.usePair(op, dst.Buffer, src.Buffer)
	if err != nil {
		return err
	}
	indices, err := q.use(op, "at", at.Buffer)
	if err != nil {
		return err
	}
	if planned != nil || e.Groups == 0 {
		return planned
	}
	if err := q.prepareTakes(); err != nil {
		return err
	}
	d, s := e.Bases(dst.Layout.Offset(), src.Layout.Offset())
	q.args = Args{
		Dst: to.block.mem, Src: from.block.mem, Params: e.OnDevice, Bases: [2]int64{d, s},
		Values: [2]uint64{uint64(e.AtBase(at.Layout.Offset())), hi},
		More:   [2]Mem{indices.block.mem, q.takes.status.mem},
	}
	if q.capture != nil {
		q.capture.takes = true
	} else {
		q.takes.queued = true
	}
	return q.send(e)
}

// askTakes queues the download of the status before a wait, if there is need, and
// reports whether it did.
func (q *Queue) askTakes() (bool, error) {
	if !q.takes.queued {
		return false, nil
	}
	err := q.stream.Download(q.takes.noted, q.takes.status.mem, 0)
	return err == nil, err
}

// answerTakes returns the error that the status, now read, tells of, and clears the
// status. Until then each wait reads it: one that fails loses nothing.
func (q *Queue) answerTakes() error {
	word := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(q.takes.noted[4*i:])) }
	wrong := word(0) != 0
	if wrong && !q.closed { // or there will be no more takes
		if err := q.stream.Upload(q.takes.status.mem, 0, q.takes.none); err != nil {
			return err
		}
	}
	q.takes.queued = false
	if !wrong {
		return nil
	}
	index, extent := int64(word(1)|word(2)<<32), int64(word(3)|word(4)<<32)
	op := "Take"
	if word(5) != 0 {
		op = "Put"
	}
	return layout.Errorf(device.ErrInvalid, op, "%s", backend.OutOfRange(index, extent))
}
