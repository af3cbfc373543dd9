package devicetest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// takeOrder checks that takes keep the order of their queue, that their buffers may be freed
// immediately, and that an index out of range is reported once, at the latest by a wait for the
// queue.
func (r runner) takeOrder(t *testing.T) {
	rig := r.rig(t)
	rounds := 40
	if r.Small {
		rounds = 4
	}
	a, b := rig.buffer(noise(rotated, 1)), rig.buffer(make([]byte, rotated))
	want := noise(rotated, 1)
	for i := range rounds {
		src, dst := a, b
		if i%2 == 1 {
			src, dst = b, a
		}
		// A separate buffer of indices, which is freed before the wait.
		at := rig.indices(rotation()...)
		rig.ok(rig.rotate(dst, src, at))
		rig.ok(at.Free())
		want = rotate(want)
	}
	if !bytes.Equal(rig.bytes(a), want) {
		rig.Error("takes were not done in order")
	}

	wrong := rotation()
	wrong[5] = rotated
	e := takeErrors{rig, a, b, rig.indices(wrong...)}
	e.byWait(want)
	e.byRead()
	e.large()
	e.replayed()
	rig.ok(errors.Join(a.Free(), b.Free(), e.wrong.Free()))
}

// rotated is the length of the rows of bytes that takeOrder rotates by one element.
const rotated = 16

// rotation returns the indices, negative ones, that rotate a row.
func rotation() []int64 {
	at := make([]int64, rotated)
	for i := range at {
		at[i] = int64(i+1)%rotated - rotated
	}
	return at
}

func rotate(row []byte) []byte { return append(row[1:rotated:rotated], row[0]) }

// rotate takes a row of bytes by indices.
func (r rig) rotate(dst, src, at device.Buffer) error {
	return r.takeRow(dst, src, at, layout.Index{Extent: rotated, Stride: 1})
}

func (r rig) takeRow(dst, src, at device.Buffer, by layout.Index) error {
	return r.q.Take(bytesIn(dst, rotated), repeated(src, layout.Uint8, rotated), operand(at, layout.Int64, dense(0, rotated)), by)
}

// takeErrors checks errors of takes from a to b whose indices are out of range.
type takeErrors struct {
	rig
	a, b  device.Buffer
	wrong device.Buffer // a rotation with an index out of range: the one of element 5
}

// waited returns the error of a call, or else that of a wait for the queue.
func (e takeErrors) waited(err error) error {
	if err == nil {
		err = e.q.Wait()
	}
	return err
}

// byWait makes two takes, the second with a wrong index, and waits; row is what a holds.
func (e takeErrors) byWait(row []byte) {
	right := e.indices(rotation()...)
	e.ok(e.rotate(e.b, e.a, right))
	err := e.rotate(e.b, e.a, e.wrong)
	e.ok(e.q.Fill(bytesIn(e.a, 1), []byte{7})) // later work is done
	e.is(e.waited(err), device.ErrInvalid, "an index out of range")
	e.ok(e.q.Wait())
	if got, want := e.left(e.b), rotate(row); !bytes.Equal(got, want) {
		e.Errorf("after a wrong index dst is %v, want %v", got, want)
	}
	if got := e.bytes(e.a); got[0] != 7 {
		e.Error("work behind a wrong index was not done")
	}
	e.ok(right.Free())
}

// byRead checks that Read reports the error, too, and that another queue does not.
func (e takeErrors) byRead() {
	other := e.fork(e.T)
	err := e.rotate(e.b, e.a, e.wrong)
	e.ok(other.q.Wait())
	if err == nil {
		err = e.q.Read(make([]byte, 1), e.b, 0)
	}
	e.is(err, device.ErrInvalid, "an index out of range, before Read")
	e.ok(e.q.Wait())
}

// large checks that errors report a large index and a large extent in full, though devices may
// note them in words of 32 bits.
func (e takeErrors) large() {
	far := layout.Index{Extent: 3<<40 | 5<<31 | 7, Stride: 0}
	beyond := far.Extent | 1<<50
	at := e.indices(slices.Repeat([]int64{beyond}, rotated)...)
	err := e.waited(e.takeRow(e.b, e.a, at, far))
	e.is(err, device.ErrInvalid, "a large index out of range")
	if err != nil && !strings.HasSuffix(err.Error(), backend.OutOfRange(beyond, far.Extent)) {
		e.Errorf("index %d of extent %d is reported as %v", beyond, far.Extent, err)
	}
	e.ok(at.Free())
}

// replayed checks that each run of a recorded take reports the error, where the device records
// takes.
func (e takeErrors) replayed() {
	recorder, ok := device.As[device.Recorder](e.q)
	if !ok {
		return
	}
	replay, err := recorder.Capture(func() error { return e.rotate(e.b, e.a, e.wrong) })
	if errors.Is(err, device.ErrUnsupported) {
		return
	}
	e.ok(err)
	e.ok(e.q.Wait())
	for range 2 {
		e.is(e.waited(replay.Run()), device.ErrInvalid, "an index out of range, replayed")
	}
	e.ok(e.q.Write(e.wrong, 0, make([]byte, 8*rotated)))
	e.ok(replay.Run())
	if first := e.bytes(e.a)[0]; !bytes.Equal(e.bytes(e.b), bytes.Repeat([]byte{first}, rotated)) {
		e.Error("a replayed take is wrong")
	}
	e.ok(replay.Close())
}
