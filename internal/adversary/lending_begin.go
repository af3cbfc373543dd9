package adversary

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/dlpack"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// loanBytes is the size of a loan: 4 by 4 words.
const loanBytes = 64

// begin makes a loan, of any kind.
func (b borrower) begin() (*loan, error) {
	switch b.rng.IntN(5) {
	case 0:
		return b.buffer("BorrowBuffer", true, false)
	case 1:
		return b.buffer("OwnBuffer", false, false)
	case 2:
		return b.buffer("ShareBuffer", false, true)
	case 3:
		return b.fromHost()
	}
	return b.adopted()
}

// buffer is a tensor over a buffer of the device.
func (b borrower) buffer(what string, lend, shared bool) (*loan, error) {
	o, s := b.number(what), b.stream()
	mem, err := s.Device().Alloc(loanBytes)
	if err != nil {
		return o, err
	}
	if err := s.Queue().Write(mem, 0, bytes.Repeat(o.word[:], loanBytes/4)); err != nil {
		return o, errors.Join(err, mem.Free())
	}
	o.end = o.release
	if lend {
		o.end = func() error { return errors.Join(o.release(), o.stillThere(s, mem), mem.Free()) }
	} else {
		b.check(func() error { return isFreed(o.what, mem) })
	}
	return o, o.over(s, mem, lend, shared)
}

// over makes the first tensor over a loan's buffer.
func (o *loan) over(s *tensor.Stream, mem device.Buffer, lend, shared bool) error {
	l, err := layout.Contiguous(4, 4)
	if err != nil {
		return err
	}
	make := tensor.OwnBuffer
	switch {
	case shared:
		make = tensor.ShareBuffer
	case lend:
		make = tensor.BorrowBuffer
	}
	x, err := make(s, mem, layout.Int32, l)
	if err == nil {
		o.refs = append(o.refs, &ref{x: x})
	}
	return err
}

// stillThere checks that a lent buffer is alive, and keeps its content.
func (o *loan) stillThere(s *tensor.Stream, mem device.Buffer) error {
	got := make([]byte, loanBytes)
	if err := s.Queue().Read(got, mem, 0); err != nil {
		return fmt.Errorf("the lent buffer: %w", err)
	}
	return o.shows(got)
}

// isFreed checks that the last release of an adopted buffer has freed it.
func isFreed(what string, mem device.Buffer) error {
	if err := mem.Free(); !errors.Is(err, device.ErrClosed) {
		return fmt.Errorf("%s: the buffer was not freed (Free: %v)", what, err)
	}
	return nil
}

// fromHost is a tensor over Go memory.
func (b borrower) fromHost() (*loan, error) {
	o := b.number("FromHostBytes")
	mem := bytes.Repeat(o.word[:], loanBytes/4)
	x, err := tensor.FromHostBytes(layout.Int32, mem, 4, 4)
	if err != nil {
		return o, err
	}
	o.refs = append(o.refs, &ref{x: x})
	o.end = func() error { return errors.Join(o.release(), o.shows(mem)) }
	return o, nil
}

// adopted is a tensor over memory whose owner is told when it is no longer used; over a buffer,
// if the device does not work in host memory.
func (b borrower) adopted() (*loan, error) {
	s := b.stream()
	adopter, ok := device.As[device.HostAdopter](s.Device())
	if !ok {
		return b.buffer("OwnBuffer", false, false)
	}
	o := b.number("AdoptHost")
	room := make([]byte, loanBytes+16)
	skip := -uintptr(unsafe.Pointer(&room[0])) % 16
	own := room[skip:][:loanBytes]
	copy(own, bytes.Repeat(o.word[:], loanBytes/4))
	var told atomic.Int32
	mem, err := adopter.AdoptHost(own, func() { told.Add(1) })
	if unsupported(err) {
		return b.buffer("OwnBuffer", false, false)
	}
	if err != nil {
		return o, err
	}
	b.check(func() error {
		if n := told.Load(); n != 1 {
			return fmt.Errorf("%s: the owner was told %d times", o.what, n)
		}
		return o.shows(own)
	})
	o.end = o.release
	return o, o.over(s, mem, false, b.rng.IntN(2) == 0)
}

// capsule exports a tensor as a capsule, and imports it again.
func (b borrower) capsule(o *loan, r *ref) error {
	c, err := dlpack.Export(r.x, dlpack.ExportOptions{Unversioned: b.rng.IntN(2) == 0})
	if unsupported(err) {
		return nil
	}
	if err != nil {
		return r.may(err)
	}
	if b.rng.IntN(3) == 0 {
		return c.Delete()
	}
	on := r.x.Stream()
	x, err := dlpack.Import(on, c, dlpack.ImportOptions{})
	if err != nil {
		return err
	}
	o.refs = append(o.refs, &ref{x: x})
	return nil
}
