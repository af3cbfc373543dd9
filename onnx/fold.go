package onnx

import (
	"context"
	"errors"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// folds are the operators, besides arithmetic, whose results are kept.
var folds = words("Concat Flatten Identity Reshape Shape Size Slice Split Squeeze Transpose Unsqueeze")

// fold computes the results of nodes that depend on constants alone, once, and keeps them
// as constants. Together they need at most as many bytes as these constants plus
// smallFolds. If it fails for a node, each run computes that node and reports the error.
func (c *compiler) fold() error {
	if c.explains {
		return nil
	}
	s := c.p
	r := &run{values: make([]Value, s.slots)}
	room := smallFolds
	for _, k := range s.constants {
		r.values[k.slot] = k.value
		room.grow(k.value)
	}
	for _, p := range s.inputs { // defaults are not constants: a run can replace them
		if p.fixed {
			continue
		}
		r.values[p.slot] = nil
		if p.host >= 0 {
			r.values[p.host] = nil
		}
	}
	r.call.ctx, r.call.far = context.Background(), s.stream
	var rest []step
	for i := range s.steps {
		st := &s.steps[i]
		if folded, err := r.fold(s, st, &room); err != nil {
			return err
		} else if !folded {
			rest = append(rest, *st)
		}
	}
	s.steps = rest
	return nil
}

// fold computes a step if it depends on constants alone and there is room for its outputs.
func (r *run) fold(s *program, st *step, left *room) (folded bool, err error) {
	in := make([]Value, len(st.in))
	for i, slot := range st.in {
		if slot >= 0 {
			in[i] = r.values[slot]
		}
		if slot >= 0 && in[i] == nil {
			return false, nil
		}
	}
	need, ok := left.has(st.d, in)
	if !ok {
		return false, nil
	}
	once := *st
	once.last, once.mayDefer = nil, false
	r.prepare(&once)
	if r.call.run(once.kernel) != nil {
		return false, nil
	}
	report := once.report(&r.call)
	for i, slot := range st.out {
		if slot >= 0 {
			r.values[slot] = r.call.out[i]
		} else if err := r.call.out[i].Release(); err != nil {
			return false, err
		}
	}
	if !r.settle(st) {
		return false, r.forget(st)
	}
	*left -= need
	for _, slot := range st.out {
		if slot >= 0 {
			x := r.values[slot].(*tensor.Tensor)
			s.constants = append(s.constants, held{slot: slot, value: x})
			if err := tensor.Keep(x); err != nil {
				return false, errors.Join(err, r.forget(st))
			}
		}
	}
	report.Kind, report.Why, report.Read, report.Sent = tensor.Transfer, whyFolded, 0, 0
	s.folded = append(s.folded, report)
	return true, nil
}

const whyFolded = "of constants alone: worked out once, with the session"

// settle makes outputs contiguous, as constants are: a plan assumes that.
func (r *run) settle(st *step) bool {
	for _, slot := range st.out {
		if slot < 0 {
			continue
		}
		x := r.values[slot].(*tensor.Tensor)
		l := x.Layout()
		if plain, err := layout.Contiguous(x.Shape()...); err != nil || l.Equal(&plain) {
			continue
		}
		y, err := x.Clone()
		if err != nil {
			return false
		}
		r.values[slot] = y
		if x.Release() != nil {
			return false
		}
	}
	return true
}

// forget releases the outputs of a step.
func (r *run) forget(st *step) error {
	var errs []error
	for _, slot := range st.out {
		if slot >= 0 {
			errs = release(errs, r.values[slot])
			r.values[slot] = nil
		}
	}
	return errors.Join(errs...)
}
