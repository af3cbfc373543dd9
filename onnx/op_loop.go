package onnx

import (
	"context"
	"errors"
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
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

// firstCarried is the index of the first value that a loop carries, in the node's inputs and in
// the body's.
const firstCarried = 2

func prepareLoop(u *unit) error {
	l := &loop{carried: max(u.given()-firstCarried, 0)}
	collected := len(u.node.Outputs) - l.carried
	if collected < 0 {
		return u.d.invalid("the node has %d outputs; it needs one for each of the %d values that it carries", len(u.node.Outputs), l.carried)
	}
	body, err := u.subgraph("body", firstCarried+l.carried, 1+l.carried+collected)
	if err != nil {
		return err
	}
	l.body = body
	body.from[0], body.from[1] = -1, -1
	for k := range l.carried {
		body.from[firstCarried+k], body.back[1+k] = firstCarried+k, firstCarried+k
	}
	for j := range body.to {
		body.to[j] = j - 1
	}
	for i := range min(firstCarried, u.given()) {
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
		if trips, err = c.scalarInt(0, "the number of iterations", false); err != nil {
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
		at := firstCarried + k
		if absent(c.in[at]) {
			return c.d.invalid("input %d is missing", at)
		}
		if carried[k], err = alias(c.d.name, c.in[at]); err != nil {
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
