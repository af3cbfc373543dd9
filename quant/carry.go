package quant

import (
	"errors"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// carrying is the plan of a tensor that is not a weight, whose numbers become float32: a view of
// them is converted.
type carrying struct {
	from layout.DType
	view layout.Layout
}

// Carry returns the plan of a tensor of numbers that becomes one of F32 with another name, as
// llama.cpp has norms and biases. Along the last axis it has every of-th element from the first
// on; and if head is not 0, elements of the first half of each head alternate with elements of
// the second.
func Carry(t Tensor, name string, first, of, head int64) (*Plan, error) {
	d := dtypeOf(t.Type)
	if d != layout.Float16 && d != layout.BFloat16 && d != layout.Float32 || len(t.Dims) == 0 {
		return nil, floats32.refuse("tensor %s of type %s and shape %v", quote.Name(t.Name), t.Type, layout.Shape(t.Dims))
	}
	last := len(t.Dims) - 1
	n := t.Dims[last]
	if of < 1 || n%of != 0 || head < 0 || head > 0 && (n%head != 0 || head%2 != 0 || of != 1) {
		return nil, floats32.refuse("tensor %s of shape %v in %d parts, heads of %d", quote.Name(t.Name), layout.Shape(t.Dims), of, head)
	}
	all, err := layout.Contiguous(t.Dims...)
	if err != nil {
		return nil, err
	}
	dims, strides := append([]int64{}, t.Dims[:last]...), append([]int64{}, all.Strides()[:last]...)
	out := append(append([]int64{}, dims...), n/of)
	if head > 0 {
		dims, strides = append(dims, n/head, head/2, 2), append(strides, head, 1, head/2)
	} else {
		dims, strides = append(dims, n/of), append(strides, of)
	}
	view, err := layout.Strided(dims, strides, first)
	if err != nil {
		return nil, err
	}
	weight := func(name, typ string, dims []int64) *Weight {
		p := Params{Bits: bitsOf(typ), details: details{Type: typ}}
		a := dense(values, "", typ, "k", bitsOf(typ))
		return &Weight{Name: name, Format: floats, Params: p, ext: extents{axisK: layoutCount(dims)}, arrays: []array{a}, Tensors: []Tensor{{Name: name, Type: typ, Dims: dims, Content: t.Content}}}
	}
	return &Plan{From: weight(t.Name, t.Type, t.Dims), To: weight(name, "F32", out), groupRatio: 1, carry: &carrying{d, view}}, nil
}

func layoutCount(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// runCarry is Run for such a plan.
func (p *Plan) runCarry(s *tensor.Stream, src Memory) (dst Memory, err error) {
	x, err := tensor.BorrowBuffer(s, src[p.From.Tensors[0].Name].Buffer(), p.carry.from, p.carry.view)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.Release()) }()
	t := p.To.Tensors[0]
	out, err := tensor.Empty(s, layout.Uint8, t.bytes(p.To.arrays[0]))
	if err != nil {
		return nil, err
	}
	l, err := layout.Contiguous(p.carry.view.Shape()...)
	if err != nil {
		return nil, errors.Join(err, out.Release())
	}
	to, err := tensor.BorrowBuffer(s, out.Buffer(), layout.Float32, l)
	if err != nil {
		return nil, errors.Join(err, out.Release())
	}
	defer func() { err = errors.Join(err, to.Release()) }()
	unit, err := tensor.FromSlice(s, []float32{1}, 1)
	if err == nil {
		err = errors.Join(x.DequantizeInto(to, tensor.Scaling{Scale: unit}), unit.Release())
	}
	if err != nil {
		return nil, errors.Join(err, out.Release())
	}
	return Memory{t.Name: out}, nil
}
