package tensor

import (
	"errors"
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Where returns the elements of a where cond is true, and of b elsewhere. cond is a bool tensor,
// in which every byte but 0 is true; a and b have the same type, which may be any. The three are
// on one device and are broadcast together, by numpy's rule: aligned at the last axis, extents
// are equal or 1. The result is a copy on a's stream.
func Where(cond, a, b *Tensor) (*Tensor, error) {
	const op = "Where"
	if err := alike(op, []*Tensor{a, b}); err != nil {
		return nil, err
	}
	if err := a.hold(op); err != nil {
		return nil, err
	}
	defer a.memory.drop()
	shape, err := layout.Broadcast(a.Shape(), b.Shape())
	if err == nil && cond != nil {
		shape, err = layout.Broadcast(cond.Shape(), shape)
	}
	if err != nil {
		return nil, whereFailed(op, cond, a, b, err)
	}
	out, err := allocate(a.stream, op, a.dtype, shape)
	if err != nil {
		return nil, err
	}
	if err := out.choose(op, cond, a, b); err != nil {
		return nil, whereFailed(op, cond, a, b, errors.Join(err, out.Release()))
	}
	out.note(op, move{verdict: Verdict{Kind: Copy, Bytes: bytesOf(a.dtype, out.Count()), Class: "where"}}, a)
	return out.publish(), nil
}

// FillWhere sets the elements of t to value's where cond is true, and keeps the others; t keeps
// its layout. cond, a bool tensor, and value, of t's type, are broadcast to t's shape, and are on
// its device.
func (t *Tensor) FillWhere(cond, value *Tensor) error {
	const op = "FillWhere"
	if err := alike(op, []*Tensor{t, value}); err != nil {
		return err
	}
	if err := t.hold(op); err != nil {
		return err
	}
	defer t.memory.drop()
	if err := t.choose(op, cond, value, t); err != nil {
		return whereFailed(op, cond, t, value, err)
	}
	if t.stream.trace.Load() != nil {
		t.stream.report(op, Verdict{Kind: Copy, Bytes: bytesOf(t.dtype, t.Count()), Class: "where"}, t.dtype, &value.layout, &t.layout)
	}
	return nil
}

// choose sets all elements of t, which is held, to elements of a or b.
func (t *Tensor) choose(op string, cond, a, b *Tensor) error {
	var operands [3]device.Operand
	for i, x := range []*Tensor{cond, a, b} {
		if x == nil {
			return layout.Errorf(device.ErrInvalid, op, "there is no condition")
		}
		if err := x.hold(op); err != nil {
			return err
		}
		defer x.memory.drop()
		if x.stream.dev != t.stream.dev {
			return apart(op, "the condition", x.stream, "the elements", t.stream)
		}
		if err := x.usedOn(t.stream); err != nil {
			return err
		}
		l, err := x.layout.Expand(t.Shape()...)
		if err != nil {
			return err
		}
		operands[i] = x.operandOf(l)
	}
	return t.stream.queue.Where(t.Operand(), operands[0], operands[1], operands[2])
}

// whereFailed adds the operation and its operands to err.
func whereFailed(op string, cond, a, b *Tensor, err error) error {
	by := "nothing"
	if cond != nil {
		by = fmt.Sprintf("%v%v", cond.dtype, cond.Shape())
	}
	return layout.Named(fmt.Sprintf("%s of %v%v and %v%v by %s", op, a.dtype, a.Shape(), b.dtype, b.Shape(), by), err)
}
