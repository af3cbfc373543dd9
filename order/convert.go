package order

import (
	"cmp"
	"errors"
	"slices"

	"github.com/restride/restride/internal/digits"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Convert returns the array that x has in one order in another one. ext are the extents of the
// array; nil: they follow from x's shape (Order.Extents). The result is a view of x if strides
// can express it, else a new contiguous tensor, for which each element is copied once;
// tensor.Verdict says which.
func Convert(x *tensor.Tensor, from, to Order, ext Extents) (*tensor.Tensor, error) {
	const op = "order.Convert"
	if x == nil {
		return nil, layout.Errorf(layout.ErrInvalid, op, "the tensor is nil")
	}
	out, err := convert(x, from, to, ext)
	return out, layout.Named(op, err)
}

func convert(x *tensor.Tensor, from, to Order, ext Extents) (_ *tensor.Tensor, err error) {
	if ext == nil {
		if ext, err = from.Extents(x.Shape()); err != nil {
			return nil, err
		}
	}
	have, err := from.Shape(ext)
	if err == nil && !have.Equal(x.Shape()) {
		err = from.fail("an array of its extents has the shape %v in memory, and the tensor %v", have, x.Shape())
	}
	if err != nil {
		return nil, err
	}
	shape, err := to.Shape(ext)
	if err != nil {
		return nil, err
	}
	src, err := from.digitsOf(x.Layout(), ext)
	if err != nil {
		return nil, err
	}
	dense, err := layout.Contiguous(shape...)
	if err != nil {
		return nil, err
	}
	dst, err := to.digitsOf(dense, ext)
	if err != nil {
		return nil, err
	}
	boxes, err := digits.Boxes(dst.digits, src.digits, ext)
	if err != nil {
		return nil, err
	}
	var pieces []piece
	for _, steps := range boxes {
		pieces = append(pieces, newPiece(steps, dst.at, src.at))
	}
	if len(pieces) == 1 && pieces[0].fills(dense.Count()) {
		return pieces[0].reshaped(x, shape)
	}
	return assembled(x, shape, pieces)
}

// located are the digits of an order, with strides in the elements of a buffer.
type located struct {
	digits []digits.Digit
	at     int64 // of the element at index 0
}

// digitsOf locates the digits of an array whose memory has a layout.
func (o Order) digitsOf(l layout.Layout, ext Extents) (p located, err error) {
	var counts []int64
	for _, axis := range o.axes {
		for _, d := range axis {
			p.digits = append(p.digits, d)
			counts = append(counts, d.Count(ext))
		}
	}
	if l, err = l.Reshape(counts...); err != nil { // of each axis alone: it needs no copy
		return p, err
	}
	p.at = l.Offset()
	for i := range p.digits {
		d := &p.digits[i]
		if d.Stride = l.Stride(i); d.Reverse {
			p.at += d.Stride * max(0, counts[i]-1)
			d.Stride = -d.Stride
		}
	}
	return p, nil
}

// piece is a strided copy: a part of the array, or all of it.
type piece struct {
	dims, dst, src []int64
	dstAt, srcAt   int64
}

// newPiece joins the steps of a piece, in the order of the destination.
func newPiece(steps []digits.Step, dstAt, srcAt int64) piece {
	p := piece{dstAt: dstAt, srcAt: srcAt}
	steps = slices.Clone(steps)
	for i := range steps {
		s := &steps[i]
		p.dstAt, p.srcAt = p.dstAt+s.DstAt, p.srcAt+s.SrcAt
		if s.Dst < 0 { // the same elements from the other end
			p.dstAt, p.srcAt = p.dstAt+s.Dst*(s.Count-1), p.srcAt+s.Src*(s.Count-1)
			s.Dst, s.Src = -s.Dst, -s.Src
		}
	}
	slices.SortStableFunc(steps, func(a, b digits.Step) int { return cmp.Compare(b.Dst, a.Dst) })
	for _, s := range steps {
		if s.Count > 1 {
			p.dims, p.dst, p.src = append(p.dims, s.Count), append(p.dst, s.Dst), append(p.src, s.Src)
		}
	}
	return p
}

// fills reports whether the piece is all n elements of the destination, in row-major order.
func (p piece) fills(n int64) bool {
	pitch := int64(1)
	for i := len(p.dims) - 1; i >= 0; i-- {
		if p.dst[i] != pitch {
			return false
		}
		pitch *= p.dims[i]
	}
	return pitch == n && p.dstAt == 0
}

// reshaped returns the piece as a tensor of a shape: a view of x or a copy.
func (p piece) reshaped(x *tensor.Tensor, shape layout.Shape) (*tensor.Tensor, error) {
	l, err := layout.Strided(p.dims, p.src, p.srcAt)
	if err != nil {
		return nil, err
	}
	v, err := x.WithLayout("order.Convert", l)
	if err != nil {
		return nil, err
	}
	out, err := v.Reshape(shape...)
	return out, errors.Join(err, v.Release())
}

// assembled returns a new tensor of the pieces, with zeros between them.
func assembled(x *tensor.Tensor, shape layout.Shape, pieces []piece) (*tensor.Tensor, error) {
	out, err := tensor.New(x.Stream(), x.DType(), shape...)
	if err != nil {
		return nil, err
	}
	for _, p := range pieces {
		if err = p.copy(out, x); err != nil {
			return nil, errors.Join(err, out.Release())
		}
	}
	return out, nil
}

// copy copies the piece.
func (p piece) copy(out, x *tensor.Tensor) error {
	const op = "order.Convert"
	to, err := layout.Strided(p.dims, p.dst, p.dstAt)
	if err != nil {
		return err
	}
	from, err := layout.Strided(p.dims, p.src, p.srcAt)
	if err != nil {
		return err
	}
	dst, err := out.WithLayout(op, to)
	if err != nil {
		return err
	}
	src, err := x.WithLayout(op, from)
	if err == nil {
		err = dst.CopyFrom(src)
	}
	return errors.Join(err, dst.Release(), src.Release())
}
