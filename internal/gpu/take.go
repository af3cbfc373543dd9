package gpu

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/backend"
	"github.com/restride/restride/kernels"
)

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
	return q.launchIndexed(indexed{op: "Take", by: by}, &dst, &src, &at, e, err)
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
	put := indexed{op: "Put", by: by}
	if how != device.Set {
		put.reducing = kernels.Reducing(dst.Type, how)
		return q.reduce(put, &dst, &src, &at, how)
	}
	e, err := q.launches.Put(&dst.Layout, &src.Layout, &at.Layout, by, dst.Type.Bits(), at.Type.Bits())
	return q.launchIndexed(put, &dst, &src, &at, e, err)
}

// indexed is what a checked take or put has beside its operands.
type indexed struct {
	op       string
	by       []device.Index
	reducing uint64 // the kernel's argument hi
}

// reduce queues a checked put that reduces: one launch, or a half after the other where one
// takes more rounds of loops than the device does.
func (q *Queue) reduce(put indexed, dst, src, at *device.Operand, how device.Reduction) error {
	e, err := q.launches.Reduce(&dst.Layout, &src.Layout, &at.Layout, put.by, dst.Type, how, at.Type.Bits())
	axis := -1
	if errors.Is(err, kernels.ErrRounds) {
		axis = kernels.HalveReduce(dst.Layout, src.Layout, put.by)
	}
	if axis < 0 {
		return q.launchIndexed(put, dst, src, at, e, err)
	}
	n := src.Layout.Dim(axis)
	for _, half := range [2][2]int64{{0, n / 2}, {n / 2, n}} {
		d, s, a := *dst, *src, *at
		for _, x := range []*device.Operand{&d, &s, &a} {
			if x.Layout, err = x.Layout.Slice(axis, half[0], half[1], 1); err != nil {
				return err
			}
		}
		if err := q.reduce(put, &d, &s, &a, how); err != nil {
			return err
		}
	}
	return nil
}

// launchIndexed queues the launch of a take or put, or returns the error of planning it.
func (q *Queue) launchIndexed(x indexed, dst, src, at *device.Operand, e *kernels.Entry[Mem], planned error) error {
	to, from, err := q.usePair(x.op, dst.Buffer, src.Buffer)
	if err != nil {
		return err
	}
	indices, err := q.use(x.op, "at", at.Buffer)
	if err != nil {
		return err
	}
	if planned != nil || e.Groups == 0 {
		return planned
	}
	var p *page
	if q.capture != nil {
		p = q.capture.page
	} else if p, err = q.status(); err != nil {
		return err
	}
	d, s := e.Bases(dst.Layout.Offset(), src.Layout.Offset())
	q.args = Args{
		Dst: to.block.mem, Src: from.block.mem, Params: e.OnDevice, Bases: [2]int64{d, s},
		Values: [2]uint64{uint64(e.AtBase(at.Layout.Offset())), x.reducing},
		More:   [2]Mem{indices.block.mem, p.slots[p.used]},
	}
	if err := q.send(e); err != nil {
		return err
	}
	q.flowIndexed(x, dst, src, at, p)
	return nil
}

// flowIndexed is flow for a take or put, whose status a page has.
func (q *Queue) flowIndexed(x indexed, dst, src, at *device.Operand, p *page) {
	var own *outcome
	if q.capture != nil {
		q.capture.takes = true
	} else {
		own = p.next(q)
	}
	ofDst, ofSrc := x.by, []device.Index(nil)
	if x.op == "Take" {
		ofDst, ofSrc = ofSrc, ofDst
	}
	to := partOf(dst, ofDst)
	for i := range x.by {
		if x.by[i].Outside == device.OutsideSkip {
			to.dense = false // elements may stay as they are
		}
	}
	q.parts = append(q.parts[:0], partOf(src, ofSrc))
	for i := range x.by {
		p, off := partOf(at, nil), x.by[i].Offset*int64(at.Type.Bits()/8)
		q.parts = append(q.parts, part{b: p.b, lo: p.lo + off, hi: p.hi + off})
	}
	q.flowParts(to, own, q.parts)
}
