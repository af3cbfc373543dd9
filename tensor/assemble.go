package tensor

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
)

// A Part sets some elements of a tensor in Assemble and Overwrite: to the elements of Src, to
// other elements of the tensor itself (From), or all to Fill.
type Part struct {
	// Into maps the layout of the whole to the layout of the elements that the part sets. nil:
	// all elements.
	Into func(whole layout.Layout) (layout.Layout, error)
	// Src has the new elements, in the shape of Into's result.
	Src *Tensor
	// From maps the layout of Src to the layout of the new elements, in the shape of Into's
	// result. Without Src it maps the layout of the whole, and selects elements that earlier
	// parts have set.
	From func(whole layout.Layout) (layout.Layout, error)
	// Fill is one element: its little-endian bytes (below a byte: one byte with the element in
	// the low bits), or the bytes of a string. nil is zero, or the empty string.
	Fill []byte
}

// Assemble returns a contiguous tensor put together from parts, in order. It is the general copy,
// as WithLayout is the general view: engines build operators with it. op names the operation in
// traces and errors. Elements that no part sets are undefined. The verdict is a copy of all bytes
// that the parts set, by the kernel that sets the most of them.
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

// Overwrite sets elements of t, which keeps its layout, from parts. It returns another reference
// to t, whose verdict says what was copied. If t has gaps, a part's Into may need a layout that
// does not exist: then the error is layout.ErrNeedsCopy, and nothing has been set.
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

// assemble runs the parts, and notes the verdict with t. It computes all layouts first, so that
// nothing is set if one of them fails.
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

// source returns where a part copies from; without a source, the operand has no buffer.
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
