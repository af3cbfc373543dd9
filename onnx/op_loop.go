package onnx

import (
	"context"
	"errors"
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// loop is a Loop that no engine runs. Its body takes the number of the iteration, a condition
// and the values that the loop carries. It makes the next condition, the values that are
// carried on, and elements of the outputs that the loop collects.
type loop struct {
	body    *subgraph
	carried int
	limited bool // the number of iterations is given
	// conditional: a condition is given. Otherwise those that the body makes are ignored.
	conditional bool
}

// maxPlanned is the maximum number of iterations that a plan runs through: without a context, an
// endless loop would not end.
const maxPlanned = 1 << 18

func prepareLoop(u *unit) error {
	const first = 2 // of the carried values, in the node and in the body
	l := &loop{carried: max(u.given()-first, 0)}
	collected := len(u.node.Outputs) - l.carried
	if collected < 0 {
		return u.d.invalid("the node has %d outputs; it needs one for each of the %d values that it carries", len(u.node.Outputs), l.carried)
	}
	body, err := u.subgraph("body", first+l.carried, 1+l.carried+collected)
	if err != nil {
		return err
	}
	l.body = body
	body.from[0], body.from[1] = -1, -1
	for k := range l.carried {
		body.from[first+k], body.back[1+k] = first+k, first+k
	}
	for j := range body.to {
		body.to[j] = j - 1
	}
	for i := range min(first, u.given()) {
		u.d.host |= 1 << i
	}
	l.limited = u.given() > 0 && u.in[0] != ""
	l.conditional = u.given() > 1 && u.in[1] != ""
	u.kernel = l.run
	return nil
}

func (l *loop) run(c *call) (err error) {
	trips, going := int64(math.MaxInt64), true
	if l.limited {
		if trips, err = c.scalarInt(0, "the number of iterations"); err != nil {
			return err
		}
	}
	if l.conditional {
		if going, err = c.condition(c.in[1]); err != nil {
			return err
		}
	}
	carried := make([]Value, l.carried)
	collected := make([]items, len(c.out)-l.carried)
	defer func() {
		err = errors.Join(err, releaseAll(carried))
		for i := range collected {
			err = errors.Join(err, releaseAll(collected[i]))
		}
	}()
	for k := range carried {
		if absent(c.in[2+k]) {
			return c.d.invalid("input %d is missing", 2+k)
		}
		if carried[k], err = alias(c.d.name, c.in[2+k]); err != nil {
			return err
		}
	}
	a := l.body.enter(c)
	defer a.leave()
	for i := int64(0); going && i < trips; i++ {
		if going, err = l.iterate(a, i, carried, collected); err != nil {
			return err
		}
	}
	for k := range carried {
		c.out[k], carried[k] = carried[k], nil
	}
	for k := range collected {
		port := &l.body.outputs[1+l.carried+k]
		y, err := c.collect(0, collected[k], port)
		if err != nil {
			return err
		}
		c.out[l.carried+k] = y
	}
	return nil
}

// iterate runs the body once, replaces the carried values and adds to the collected ones.
func (l *loop) iterate(a *activation, i int64, carried []Value, collected []items) (going bool, err error) {
	if err := context.Cause(a.c.ctx); err != nil {
		return false, err
	}
	if a.c.dry() && i == maxPlanned {
		return false, layout.Errorf(device.ErrUnsupported, a.c.d.name, "a plan of more than %d iterations", maxPlanned)
	}
	number, err := tensor.FromHost([]int64{i}, l.ones(0)...)
	if err != nil {
		return false, err
	}
	truth, err := tensor.FromHost([]bool{true}, l.ones(1)...)
	if err != nil {
		return false, errors.Join(err, number.Release())
	}
	made, err := a.run(append([]Value{number, truth}, carried...)...)
	if err = errors.Join(err, number.Release(), truth.Release()); err != nil {
		return false, errors.Join(err, releaseAll(made))
	}
	defer func() { err = errors.Join(err, releaseAll(made)) }()
	if going = true; l.conditional {
		if going, err = a.c.condition(made[0]); err != nil {
			return false, err
		}
	}
	for k := range carried {
		err = errors.Join(err, carried[k].Release())
		carried[k], made[1+k] = made[1+k], nil
	}
	for k := range collected {
		at := 1 + len(carried) + k
		err = errors.Join(err, collected[k].add(a.c, made[at]))
		made[at] = nil
	}
	return going, err
}

// ones returns the shape of the body's input i, one number or condition: ONNX allows a scalar
// or one axis.
func (l *loop) ones(i int) layout.Shape {
	if t := &l.body.inputs[i].typ; t.HasShape && len(t.Dims) == 1 {
		return layout.Shape{1}
	}
	return layout.Shape{}
}

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
