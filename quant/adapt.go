package quant

import (
	"bytes"
	"errors"
	"fmt"
	"maps"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Some formats have a weight's codes, but other scales, or numbers to add in place of zero
// points. A weight is adapted on the way: in plain order, where these are computed.

// adaption is what changes: the scales' type, and zero points that become numbers to add.
type adaption struct {
	scale string
	mins  bool
	then  *Plan // from the adapted weight in plain order to the target
}

// adaptions are the ways to adapt a weight to a format that does not accept it as it is.
func (w *Weight) adaptions(to *Format) (all []adaption) {
	p := w.Params
	if p.Sorted || w.unordered || p.Flat || !w.has(scales) || w.has(superScales) || w.has(tensorScale) || p.Table != "" || w.Format.onlyNumbers || w.has(floatZeros) || p.Zeros && !w.has(zeros) {
		return nil
	}
	types := []string{p.Scale}
	if to == gguf && p.Scale != "F16" {
		types = append(types, "F16")
	}
	for _, typ := range types {
		if typ != p.Scale {
			all = append(all, adaption{scale: typ})
		}
		if !p.Mins {
			all = append(all, adaption{scale: typ, mins: true})
		}
	}
	return all
}

// planAdapted plans a conversion to a format that accepts the weight once it is adapted.
// Otherwise it returns the error of the weight as it is.
func (w *Weight) planAdapted(to *Format, refused error) (*Plan, error) {
	if to != gguf && to != mlx {
		return nil, refused
	}
	for _, a := range w.adaptions(to) {
		have := w.Params
		have.Scale, have.ZeroLess, have.Signed, have.Head = a.scale, false, false, w.Heads
		if a.mins {
			have.Mins, have.Zeros = true, false
		}
		params, err := to.accept(to, have, w.ext)
		if err != nil {
			continue
		}
		params.Sidecar = sidecar{}
		return w.planVia(&Weight{Name: w.Name, Format: to, Params: params}, a)
	}
	return nil, refused
}

// planVia plans a conversion with an adaption.
func (w *Weight) planVia(out *Weight, a adaption) (*Plan, error) {
	params := w.Params
	params.Signed, params.ZeroLess = false, false
	first, err := w.plan(&Weight{Name: w.Name, Format: plain, Params: params}, plainArrays(&Weight{Format: w.Format, Params: params, arrays: w.arrays}))
	if err != nil {
		return nil, err
	}
	params.Scale = a.scale
	if a.mins {
		params.Mins, params.Zeros = true, false
	}
	arrays := out.Format.arrays(out.Params)
	found := &Weight{Name: w.Name, Format: plain, Params: params, ext: maps.Clone(w.ext)}
	for _, x := range plainArrays(&Weight{Params: params, arrays: arrays}) {
		dims, err := x.dims(found.ext)
		if err != nil {
			return nil, err
		}
		found.arrays = append(found.arrays, x)
		found.Tensors = append(found.Tensors, Tensor{Name: joined(w.Name, x.suffix), Type: x.typ, Dims: dims})
	}
	if a.then, err = found.plan(&Weight{Name: out.Name, Format: out.Format, Params: out.Params}, arrays); err != nil {
		return nil, err
	}
	a.then.views = map[string]string{} // of tensors that are released on the way
	return &Plan{From: w, To: a.then.To, groupRatio: 1, plain: first, adapt: &a}, nil
}

// Rounded says which numbers of the target are rounded, though codes are not; "": none.
func (p *Plan) Rounded() string {
	if p.adapt == nil || !p.adapt.mins || !p.From.Params.Zeros {
		return ""
	}
	return fmt.Sprintf("zero points become numbers to add, rounded to %s", p.adapt.scale)
}

// runAdapted is Run for such a plan.
func (p *Plan) runAdapted(s *tensor.Stream, src Memory, at int64) (dst Memory, err error) {
	have, err := p.plain.run(s, src, at)
	if err != nil {
		return nil, err
	}
	c := &computation{stream: s, weight: p.plain.To, have: have}
	defer func() { err = errors.Join(err, c.release()) }()
	found := Memory{}
	for i, a := range p.adapt.then.From.arrays {
		name := p.adapt.then.From.Tensors[i].Name
		switch {
		case a.has(codes):
			found[name] = have[name]
		case a.has(scales):
			found[name] = c.exactly(scales, p.adapt.scale)
		case a.has(mins) && p.adapt.mins:
			found[name] = c.minsOf(p.adapt.scale)
		case a.has(mins):
			found[name] = c.exactly(mins, p.adapt.scale)
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	return p.adapt.then.Run(s, found)
}

// perGroup is the shape of numbers with one for each group.
func (c *computation) perGroup() (rows, g int64) {
	rows = c.weight.ext[axisN]
	if c.weight.Params.Batch {
		rows *= c.weight.ext[axisE]
	}
	return rows, max(1, c.weight.ext[axisG])
}

// exactly returns a role's numbers as another type, which must have all of them.
func (c *computation) exactly(r role, typ string) *tensor.Tensor {
	rows, g := c.perGroup()
	x := c.of(r, dtypeOf(c.weight.Params.Scale), rows, g)
	return c.same(c.rounded(x, layout.Float32), dtypeOf(typ), x)
}

// same returns numbers as another type, and refuses those that it does not have. as has the
// same numbers, perhaps as that type already.
func (c *computation) same(x *tensor.Tensor, to layout.DType, as *tensor.Tensor) *tensor.Tensor {
	if c.err != nil || as.DType() == to {
		return as
	}
	y := c.rounded(x, to)
	z := c.rounded(y, layout.Float32)
	if c.err != nil {
		return nil
	}
	a, err := x.Bytes()
	b, e := z.Bytes()
	if c.keep(nil, errors.Join(err, e)); c.err == nil && !bytes.Equal(a, b) {
		c.keep(nil, layout.Errorf(layout.ErrInvalid, "quant", "a number is a scale that %v does not have: it would be rounded", to))
	}
	return y
}

// minsOf returns what is added in place of zero points: each times its scale, below zero.
func (c *computation) minsOf(typ string) *tensor.Tensor {
	p := c.weight.Params
	rows, g := c.perGroup()
	scale := c.of(scales, dtypeOf(p.Scale), rows, g)
	if !p.Zeros {
		x := c.scaled(c.rounded(scale, layout.Float32), one(c, -float32(int64(1)<<(p.Bits-1))), nil)
		return c.same(x, dtypeOf(typ), x)
	}
	less := c.scaled(c.rounded(scale, layout.Float32), one(c, float32(-1)), nil)
	zero := c.of(zeros, wholeOf(c.weight.bits(zeros), false), rows, g)
	if c.err != nil {
		return nil
	}
	return c.keep(zero.Dequantize(dtypeOf(typ), tensor.Scaling{Scale: less}))
}
