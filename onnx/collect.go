package onnx

import (
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// items are the values of an output, one for each iteration.
type items []Value

// add takes over a value.
func (l *items) add(c *call, v Value) error {
	const each = 512 // bytes, about the size of a tensor without its elements
	*l = append(*l, v)
	return c.take(each)
}

// collect makes an output of its items, along a new axis. Without items it has the declared
// type, and extent 0 wherever that has none.
func (c *call) collect(axis int64, list items, port *port) (*tensor.Tensor, error) {
	if len(list) > 0 {
		y, err := c.stack(axis, list, "output "+quote.Name(port.name)+" of iteration")
		if err == nil && y.Verdict().Kind == tensor.Copy {
			c.collected += y.Verdict().Bytes
		}
		return y, err
	}
	t := &port.typ
	if t.Kind != model.TensorType || !t.HasShape || !t.Elem.Valid() {
		return nil, c.d.invalid("no iteration ran, and the body does not declare the type and rank of its output %s", quote.Name(port.name))
	}
	at, err := c.d.axisFrom(axis, -int64(len(t.Dims))-1, len(t.Dims)+1, len(t.Dims))
	if err != nil {
		return nil, err
	}
	dims := make(layout.Shape, len(t.Dims))
	for i, d := range t.Dims {
		dims[i] = max(d.Value, 0)
	}
	home := c.far
	if t.Elem == layout.String && !home.Device().Info().Strings {
		home = tensor.Host()
	}
	return tensor.New(home, t.Elem, insert(dims, at, 0)...)
}

// stack joins tensors of one type and shape along a new axis. what names them in errors.
func (c *call) stack(axis int64, list []Value, what string) (*tensor.Tensor, error) {
	first, ok := list[0].(*tensor.Tensor)
	if !ok {
		return nil, c.d.invalid("%s 0 is %s; it must be a tensor", what, describe(list[0]))
	}
	at, err := c.d.axisFrom(axis, -int64(first.Rank())-1, first.Rank()+1, first.Rank())
	if err != nil {
		return nil, err
	}
	if len(list) == 1 {
		l, err := first.Layout().Unsqueeze(at)
		return c.d.view(first, l, err)
	}
	home := tensor.Host()
	for i, v := range list {
		x, ok := v.(*tensor.Tensor)
		if !ok || x.DType() != first.DType() || !x.Shape().Equal(first.Shape()) {
			return nil, c.d.invalid("%s %d is %s; the first is %s: they must be of one type and shape to be joined", what, i, describe(v), describe(first))
		}
		home = farther(home, x.Stream())
	}
	parts := make([]tensor.Part, len(list))
	for i, v := range list {
		x, err := c.bring(v.(*tensor.Tensor), home)
		if err != nil {
			return nil, err
		}
		parts[i] = tensor.Part{Src: x, Into: func(whole layout.Layout) (layout.Layout, error) {
			l, err := whole.Slice(at, int64(i), int64(i)+1, 1)
			if err != nil {
				return l, err
			}
			return l.Squeeze(at)
		}}
	}
	c.parts += len(parts)
	return tensor.Assemble(home, c.d.name, first.DType(), insert(first.Shape(), at, int64(len(list))), parts...)
}

// insert returns a shape with one more axis.
func insert(shape layout.Shape, at int, extent int64) layout.Shape {
	dims := make(layout.Shape, 0, len(shape)+1)
	return append(append(append(dims, shape[:at]...), extent), shape[at:]...)
}
