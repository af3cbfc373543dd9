package onnx

import (
	"errors"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// pending is a tensor that has not been assembled yet. A session makes one if the only user
// of a node's output, such as Concat, writes it directly into its own output.
type pending struct {
	stream *tensor.Stream
	op     string // the node that deferred it
	dtype  layout.DType
	dims   []int64
	parts  []tensor.Part // sources are own references
	depth  int           // nesting depth of pendings in it
}

// maxDepth is the maximum nesting depth of pendings. A part needs one step for each level
// to find its region.
const maxDepth = 16

// maxDeferred is the maximum number of parts of a pending. More would cost the host more
// than they save the device.
const maxDeferred = 1 << 10

// partBytes is the memory that a part and its regions need.
const partBytes = 512

// Release releases the sources.
func (p *pending) Release() error {
	var errs []error
	for i := range p.parts {
		if err := p.parts[i].Src.Release(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// force assembles the tensor after all.
func (p *pending) force() (*tensor.Tensor, error) {
	return tensor.Assemble(p.stream, p.op, p.dtype, p.dims, p.parts...)
}

// assemble makes output 0 of the call: a new contiguous tensor assembled from parts, on a
// stream. The caller keeps the sources.
func (c *call) assemble(s *tensor.Stream, t layout.DType, dims []int64, parts ...tensor.Part) error {
	c.parts = len(parts)
	if left, ok := c.target(s, t, dims, false, parts...); ok {
		c.parts = len(left)
		return c.set(c.into.Overwrite(c.d.name, left...))
	}
	if !c.mayDefer || c.depth > maxDepth || len(parts) > maxDeferred {
		return c.set(tensor.Assemble(s, c.d.name, t, dims, parts...))
	}
	p := &pending{stream: s, op: c.d.name, dtype: t, dims: append([]int64(nil), dims...), depth: c.depth}
	for _, part := range parts {
		if part.Src != nil {
			var err error
			if part.Src, err = part.Src.WithLayout(c.d.name, part.Src.Layout()); err != nil {
				return errors.Join(err, p.Release())
			}
		}
		p.parts = append(p.parts, part)
	}
	c.out[0] = p
	return nil
}

// reshaped makes output 0 of the call: x with other extents and the same number of
// elements. If elements must be copied, the output's user may do so.
func (c *call) reshaped(x *tensor.Tensor, dims ...int64) error {
	if c.mayDefer {
		if _, err := x.Layout().Reshape(dims...); errors.Is(err, layout.ErrNeedsCopy) {
			as := func(whole layout.Layout) (layout.Layout, error) { return whole.Reshape(x.Shape()...) }
			return c.assemble(x.Stream(), x.DType(), dims, tensor.Part{Into: as, Src: x})
		}
	}
	return c.set(x.Reshape(dims...))
}

// rearranged makes output 0 of the call: input 0 seen through a layout, then reshaped to
// dims with the same number of elements.
func (c *call) rearranged(l layout.Layout, dims ...int64) error {
	y, err := l.Reshape(dims...)
	if !errors.Is(err, layout.ErrNeedsCopy) {
		return c.set(c.d.view(c.x, y, err))
	}
	seen, err := c.x.WithLayout(c.d.name, l)
	if err != nil {
		return err
	}
	c.temps = append(c.temps, seen)
	return c.reshaped(seen, dims...)
}

// region maps the layout of a whole to the layout of a part of it.
type region = func(whole layout.Layout) (layout.Layout, error)

// goes reports whether the parts can be written to a region of a whole.
func (p *pending) goes(at region, whole layout.Layout) bool {
	l, err := at(whole)
	for i := range p.parts {
		if into := p.parts[i].Into; err == nil && into != nil {
			_, err = into(l)
		}
	}
	return err == nil
}

// at returns the parts with their regions relative to a whole.
func (p *pending) at(at region) []tensor.Part {
	within := func(f region) region {
		if f == nil {
			return nil
		}
		return func(whole layout.Layout) (layout.Layout, error) {
			l, err := at(whole)
			if err != nil {
				return l, err
			}
			return f(l)
		}
	}
	parts := make([]tensor.Part, len(p.parts))
	for i, part := range p.parts {
		if part.Into == nil {
			part.Into = at
		} else {
			part.Into = within(part.Into)
		}
		if part.Src == nil {
			part.From = within(part.From)
		}
		parts[i] = part
	}
	return parts
}
