package tensor

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
)

// A Part sets some elements of a tensor in Assemble and Overwrite: to those of Src, to
// others of the tensor itself (From), or all to Fill.
type Part struct {
	// Into takes the layout of the whole to that of the elements that the part
	// sets. nil: all of them.
	Into func(whole layout.Layout) (layout.Layout, error)
	// Src has the elements, in the shape that Into makes.
	Src *Tensor
	// From takes the layout of Src to that of the elements, in the shape that Into
	// makes. Without Src it takes the layout of the whole to that of elements which
	// earlier parts have set.
	From func(whole layout.Layout) (layout.Layout, error)
	// Fill is one element: its little-endian bytes (below a byte: its bits, low
	// in one byte), or the bytes of a string. nil is zero, or the empty string.
	Fill []byte
}

// Assemble returns a contiguous tensor put together from parts, one after the
// other: it is to copies what WithLayout is to views, and what engines make operators of
// their own with. op names the operation to the trace hook and in errors. What no part sets
// is undefined. The verdict is a copy of all bytes that the parts set, by the kernel that
// sets the most of them.
func Assemble(s *Stream, op string, t layout.DType, dims []int64, parts ...Part) (*Tensor, error) {
	out, err := allocate(s, op, t, dims)
	if err != nil {
		return nil, err
	}
	if out.Count() == 0 {
		return out.publish(), nil
	}
	if err := out.assemble(op, parts); err != nil {
		return nil, out.fail(op, errors.Join(err, out.Release()))
	}
	return out.publish(), nil
}

// Overwrite sets elements of t, which keeps its layout, from parts, and returns another
// reference to it, whose verdict is what was copied. If t has gaps, a part's Into may need
// a layout that cannot be: that is layout.ErrNeedsCopy, and nothing has been set.
func (t *Tensor) Overwrite(op string, parts ...Part) (*Tensor, error) {
	if err := t.hold(op); err != nil { // for the reference
		return nil, err
	}
	out := &Tensor{stream: t.stream, memory: t.memory, layout: t.layout, dtype: t.dtype}
	if err := out.assemble(op, parts); err != nil {
		return nil, t.fail(op, errors.Join(err, out.Release()))
	}
	return out.publish(), nil
}

// assemble runs the parts, and notes the verdict with t. All layouts come first, so that
// what cannot be done is not begun.
func (t *Tensor) assemble(op string, parts []Part) error {
	var few [2][4]device.Operand
	to, from := few[0][:0], few[1][:0]
	if n := len(parts); n > len(few[0]) {
		bytes := 2 * int64(n) * int64(unsafe.Sizeof(few[0][0]))
		if err := budget.Process().Take(op, bytes); err != nil {
			return err
		}
		defer budget.Process().Give(bytes)
		to, from = make([]device.Operand, 0, n), make([]device.Operand, 0, n)
	}
	for i := range parts {
		p := &parts[i]
		l := t.layout
		var err error
		if p.Into != nil {
			l, err = p.Into(l)
		}
		if err != nil {
			return err
		}
		if p.Src != nil && p.Src.dtype != t.dtype {
			return layout.Errorf(device.ErrInvalid, op, "part %d is %v%v; the whole is %v", i, p.Src.dtype, p.Src.Shape(), t.dtype)
		}
		if p.Src != nil && p.Src.stream.dev != t.stream.dev {
			return apart(op, fmt.Sprintf("part %d", i), p.Src.stream, "the whole", t.stream)
		}
		source, err := t.source(p)
		if err != nil {
			return err
		}
		to, from = append(to, t.operandOf(l)), append(from, source)
	}
	done := move{verdict: Verdict{Kind: Copy}}
	in := &t.layout
	var most int64
	for i := range parts {
		if err := t.set(&to[i], &from[i], &parts[i]); err != nil {
			return err
		}
		n := bytesOf(t.dtype, to[i].Layout.Count())
		done.verdict.Bytes += n
		if n > most {
			most, done.dst, done.src = n, to[i], from[i]
			done.verdict.Class = "fill" // unless there is a source
		}
		if src := parts[i].Src; src != nil && in == &t.layout {
			in = &src.layout
		}
	}
	t.moved = &done
	if t.stream.trace.Load() != nil {
		t.stream.report(op, t.Verdict(), t.dtype, in, &t.layout)
	}
	return nil
}

// source returns where a part copies from, if it does.
func (t *Tensor) source(p *Part) (from device.Operand, err error) {
	switch {
	case p.Src != nil:
		from = p.Src.Operand()
	case p.From != nil:
		from = t.Operand()
	}
	if p.From != nil {
		from.Layout, err = p.From(from.Layout)
	}
	return from, err
}

// set runs one part.
func (t *Tensor) set(to, from *device.Operand, p *Part) error {
	q := t.stream.queue
	switch {
	case p.Src != nil:
		if !p.Src.retain() {
			return ErrReleased // the caller names the operation
		}
		defer p.Src.memory.drop()
		if err := p.Src.usedOn(t.stream); err != nil {
			return err
		}
	case p.From != nil:
	case t.dtype == layout.String:
		// A tensor of strings lies on a device that holds them.
		return t.stream.words.FillString(*to, string(p.Fill))
	default:
		pattern := p.Fill
		if pattern == nil {
			pattern = make([]byte, (t.dtype.Bits()+7)/8)
		}
		return q.Fill(*to, pattern)
	}
	return q.Copy(*to, *from)
}
