package onnx

import (
	"github.com/restride/restride/internal/shapes"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	base := definition{inputs: arity{1, many}, attrs: []string{"axis"}, assembles: true, prepare: prepareConcat}
	register("Concat", base.versions(change{1, types1}, change{4, types5}, change{11, types5}, change{13, types13}))
}

func prepareConcat(d *definition, attrs Attrs) (kernel, error) {
	axis, given, err := attrs.Int("axis")
	if err != nil {
		return nil, err
	}
	if !given {
		if d.since >= 4 {
			return nil, d.invalid("attribute axis is missing")
		}
		axis = 1
	}
	return func(c *call) error { return c.concat(axis) }, nil
}

// piece is an input of Concat: a tensor, or the parts of one that was not made.
type piece struct {
	*tensor.Tensor
	pending *pending
	dims    layout.Shape
}

func (c *call) concat(axis int64) error {
	pieces, err := c.pieces()
	if err != nil {
		return err
	}
	like := pieces[0].dims
	at, err := c.d.axis(axis, len(like), len(like)-1)
	if err != nil {
		return err
	}
	home := tensor.Host()
	all := make([]layout.Shape, len(pieces))
	for i, p := range pieces {
		all[i] = p.dims
		home = farther(home, p.stream())
	}
	dims, err := shapes.Concat(c.d.name, at, all...)
	if err != nil {
		return err
	}
	if len(pieces) == 1 && pieces[0].pending == nil {
		return c.set(c.x.WithLayout(c.d.name, c.x.Layout()))
	}
	parts, err := c.join(home, dims, at, pieces)
	if err != nil {
		return err
	}
	return c.assemble(home, elemOfValue(c.in[0]), dims, parts...)
}

// pieces returns the inputs, which must have one type.
func (c *call) pieces() ([]piece, error) {
	pieces := make([]piece, len(c.in))
	for i, v := range c.in {
		switch v := v.(type) {
		case *tensor.Tensor:
			pieces[i] = piece{Tensor: v, dims: v.Shape()}
		case *pending:
			pieces[i] = piece{pending: v, dims: v.dims}
		default:
			return nil, c.d.invalid("input %d is %s; it must be a tensor", i, describe(v))
		}
		if t, want := elemOfValue(v), elemOfValue(c.in[0]); t != want {
			return nil, c.d.invalid("input %d is %s; input 0 is %s: they must be of one type", i, describe(v), describe(c.in[0]))
		}
	}
	return pieces, nil
}

func (p piece) stream() *tensor.Stream {
	if p.pending != nil {
		return p.pending.stream
	}
	return p.Tensor.Stream()
}

// join returns the parts that write each piece to its region.
func (c *call) join(home *tensor.Stream, dims layout.Shape, axis int, pieces []piece) ([]tensor.Part, error) {
	whole, err := layout.Contiguous(dims...)
	if err != nil {
		return nil, err
	}
	parts := make([]tensor.Part, 0, len(pieces))
	at := int64(0)
	for _, p := range pieces {
		from, to := at, at+p.dims[axis]
		at = to
		there := func(whole layout.Layout) (layout.Layout, error) { return whole.Slice(axis, from, to, 1) }
		if p.pending != nil {
			if p.stream() == home && p.pending.goes(there, whole) {
				parts = append(parts, p.pending.at(there)...)
				c.depth = max(c.depth, p.pending.depth+1)
				continue
			}
			if p.Tensor, err = p.pending.force(); err != nil {
				return nil, err
			}
			c.temps = append(c.temps, p.Tensor)
			if p.pending.stream == home { // otherwise it was assembled on the host, to be sent
				c.forced += p.Tensor.Verdict().Bytes
			}
		}
		if p.Tensor, err = c.bring(p.Tensor, home); err != nil {
			return nil, err
		}
		if from < to {
			parts = append(parts, tensor.Part{Into: there, Src: p.Tensor})
		}
	}
	return parts, nil
}
