package quant

import (
	"errors"
	"slices"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// carrying is the plan of a tensor that is not a weight, whose numbers get another type or order:
// a view of them is converted.
type carrying struct {
	from, to layout.DType
	view     layout.Layout
	plus     float32
}

// Carriage describes what becomes of a tensor of numbers that is not a weight, such as a norm, a
// bias, or a weight that stays as numbers.
type Carriage struct {
	Name      string
	Type      string  // F32, or the tensor's own
	First, Of int64   // every Of-th element of the last axis from First on; Of 0: all
	Head      int64   // if not 0, the rows of a head (see Head): of a vector, its elements
	Turned    bool    // the last two axes are exchanged
	Plus      float32 // added to each number; the Type is F32
}

// Carry returns the plan of such a tensor, of type F16, BF16 or F32.
func Carry(t Tensor, as Carriage) (*Plan, error) {
	d, to := dtypeOf(t.Type), dtypeOf(as.Type)
	if d != layout.Float16 && d != layout.BFloat16 && d != layout.Float32 || len(t.Dims) == 0 || to != d && to != layout.Float32 {
		return nil, floats32.refuse("tensor %s of type %s and shape %v", quote.Name(t.Name), t.Type, layout.Shape(t.Dims))
	}
	view, out, ok := as.view(t.Dims)
	if !ok || as.Plus != 0 && to != layout.Float32 {
		return nil, floats32.refuse("tensor %s of shape %v in %d parts, heads of %d", quote.Name(t.Name), layout.Shape(t.Dims), as.Of, as.Head)
	}
	weight := func(name, typ string, dims []int64) *Weight {
		p := Params{Bits: bitsOf(typ), details: details{Type: typ}}
		a := dense(values, "", typ, "k", bitsOf(typ))
		return &Weight{Name: name, Format: floats, Params: p, ext: extents{axisK: layoutCount(dims)}, arrays: []array{a}, Tensors: []Tensor{{Name: name, Type: typ, Dims: dims, Content: t.Content}}}
	}
	return &Plan{From: weight(t.Name, t.Type, t.Dims), To: weight(as.Name, as.Type, out), groupRatio: 1, carry: &carrying{d, to, view, as.Plus}}, nil
}

// view returns the elements of a tensor of shape dims in their new order, and the new shape.
func (as Carriage) view(dims []int64) (view layout.Layout, out []int64, ok bool) {
	all, err := layout.Contiguous(dims...)
	if err != nil {
		return view, nil, false
	}
	last, of := len(dims)-1, max(1, as.Of)
	out, strides := slices.Clone(dims), slices.Clone([]int64(all.Strides()))
	if out[last]%of != 0 || as.Turned && last < 1 {
		return view, nil, false
	}
	out[last], strides[last] = out[last]/of, strides[last]*of
	if as.Turned {
		out[last-1], out[last] = out[last], out[last-1]
		strides[last-1], strides[last] = strides[last], strides[last-1]
	}
	split := slices.Clone(out)
	if h := as.Head; h != 0 {
		rows := max(0, last-1)
		n, step := out[rows], strides[rows]
		if h < 0 || h%2 != 0 || n%h != 0 {
			return view, nil, false
		}
		split = slices.Replace(split, rows, rows+1, n/h, h/2, 2)
		strides = slices.Replace(strides, rows, rows+1, h*step, step, h/2*step)
	}
	view, err = layout.Strided(split, strides, as.First)
	return view, out, err == nil
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
	to, err := tensor.BorrowBuffer(s, out.Buffer(), p.carry.to, l)
	if err != nil {
		return nil, errors.Join(err, out.Release())
	}
	defer func() { err = errors.Join(err, to.Release()) }()
	if p.carry.from == p.carry.to && p.carry.plus == 0 {
		err = to.CopyFrom(x)
	} else {
		err = p.carry.convert(s, to, x)
	}
	if err != nil {
		return nil, errors.Join(err, out.Release())
	}
	return Memory{t.Name: out}, nil
}

// convert writes x's numbers to another type, with a number added.
func (c *carrying) convert(s *tensor.Stream, to, x *tensor.Tensor) error {
	unit, err := tensor.FromSlice(s, []float32{1}, 1)
	if err != nil {
		return err
	}
	add, err := tensor.FromSlice(s, []float32{c.plus}, 1)
	if err != nil {
		return errors.Join(err, unit.Release())
	}
	by := tensor.Scaling{Scale: unit}
	if c.plus != 0 { // otherwise -0 would become 0
		by.Add = add
	}
	return errors.Join(x.DequantizeInto(to, by), unit.Release(), add.Release())
}
