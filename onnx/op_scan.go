package onnx

import (
	"context"
	"errors"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// scan is a Scan that no engine runs. Its body takes the states and a slice of each scanned
// input, and makes the next states and a slice of each collected output.
type scan struct {
	body            *subgraph
	states, scanned int
	first           int  // input of the node: Scan-8 has the lengths of sequences before it
	batched         bool // Scan-8: all inputs and outputs have a leading axis of batches
	in, out         []direction
}

// direction is how an input is cut into slices, or an output put together.
type direction struct {
	axis    int64
	reverse bool
}

func prepareScan(u *unit) error {
	attrs := u.node.Attrs
	n, given, err := attrs.Int("num_scan_inputs")
	if err != nil {
		return err
	}
	s := &scan{}
	if u.model.Opsets[""] < 9 {
		s.first, s.batched = 1, true
	}
	inputs := u.given() - s.first
	if !given || n < 1 || n > int64(inputs) {
		return u.d.invalid("attribute num_scan_inputs is %d; it must be from 1 to the number of inputs, %d", n, max(inputs, 0))
	}
	s.scanned, s.states = int(n), inputs-int(n)
	outputs := len(u.node.Outputs)
	if outputs < s.states {
		return u.d.invalid("the node has %d outputs; it needs one for each of the %d states", outputs, s.states)
	}
	if s.in, err = directions(u, "input", s.scanned, s.batched); err != nil {
		return err
	}
	if s.out, err = directions(u, "output", outputs-s.states, s.batched); err != nil {
		return err
	}
	if s.body, err = u.subgraph("body", inputs, outputs); err != nil {
		return err
	}
	for i := range inputs {
		s.body.from[i] = s.first + i
	}
	for k := range s.states {
		s.body.back[k] = k
	}
	u.kernel = s.run
	return nil
}

// directions reads the axes and directions of n inputs or outputs.
func directions(u *unit, of string, n int, batched bool) ([]direction, error) {
	list := make([]direction, n)
	read := func(name string, set func(d *direction, v int64) bool) error {
		values, given, err := u.node.Attrs.Ints(name)
		switch {
		case err != nil || !given:
			return err
		case len(values) != n:
			return u.d.invalid("attribute %s has %d values; it needs one for each of %d", name, len(values), n)
		}
		for i, v := range values {
			if !set(&list[i], v) {
				return u.d.invalid("attribute %s is %v; each must be 0 or 1", name, values)
			}
		}
		return nil
	}
	direct := func(d *direction, v int64) bool {
		d.reverse = v == 1
		return v == 0 || v == 1
	}
	if batched {
		if of == "output" {
			return list, nil
		}
		return list, read("directions", direct)
	}
	err := read("scan_"+of+"_axes", func(d *direction, v int64) bool {
		d.axis = v
		return true
	})
	return list, errors.Join(err, read("scan_"+of+"_directions", direct))
}

func (s *scan) run(c *call) error {
	own := c.in[s.first:][:s.states+s.scanned]
	xs := make([]*tensor.Tensor, len(own))
	for i, v := range own {
		x, ok := v.(*tensor.Tensor)
		if !ok || x == nil {
			return c.d.invalid("input %d is %s; it must be a tensor", s.first+i, describe(v))
		}
		xs[i] = x
	}
	a := s.body.enter(c)
	defer a.leave()
	if !s.batched {
		out, err := s.sequence(a, xs)
		copy(c.out, out)
		return err
	}
	return s.batches(a, xs)
}

// batches runs Scan-8: a scan for each batch.
func (s *scan) batches(a *activation, xs []*tensor.Tensor) (err error) {
	c := a.c
	if c.has(0) {
		return layout.Errorf(device.ErrUnsupported, c.d.name, "input sequence_lens is given; only sequences of one length are supported")
	}
	n := int64(-1)
	for i, x := range xs {
		if x.Rank() == 0 || n >= 0 && x.Dim(0) != n {
			return c.d.invalid("input %d is %s; its first axis must be the batches, as many as of the others", s.first+i, describe(x))
		}
		n = x.Dim(0)
	}
	if n == 0 {
		return layout.Errorf(device.ErrUnsupported, c.d.name, "there are no batches")
	}
	outputs := make([]items, len(c.out))
	defer func() {
		for k := range outputs {
			err = errors.Join(err, releaseAll(outputs[k]))
		}
	}()
	for i := range n {
		if err := s.batch(a, xs, i, outputs); err != nil {
			return err
		}
	}
	for k := range outputs {
		y, err := c.collect(0, outputs[k], &s.body.outputs[k])
		if err != nil {
			return err
		}
		c.out[k] = y
	}
	return nil
}

// batch scans one batch and adds its outputs to the items.
func (s *scan) batch(a *activation, xs []*tensor.Tensor, i int64, outputs []items) (err error) {
	one := make([]*tensor.Tensor, len(xs))
	defer func() {
		for _, x := range one {
			err = errors.Join(err, x.Release())
		}
	}()
	for k, x := range xs {
		if one[k], err = a.c.slice(x, 0, i); err != nil {
			one = one[:k]
			return err
		}
	}
	made, err := s.sequence(a, one)
	for k, v := range made {
		err = errors.Join(err, outputs[k].add(a.c, v))
	}
	return err
}

// slice returns the part of a tensor at an index of an axis, without that axis.
func (c *call) slice(x *tensor.Tensor, axis int, at int64) (*tensor.Tensor, error) {
	l, err := x.Layout().Slice(axis, at, at+1, 1)
	if err == nil {
		l, err = l.Squeeze(axis)
	}
	return c.d.view(x, l, err)
}

// sequence scans one sequence and returns the outputs, which the caller must release.
func (s *scan) sequence(a *activation, xs []*tensor.Tensor) (out []Value, err error) {
	c := a.c
	axes, length, err := s.cuts(c, xs)
	if err != nil {
		return nil, err
	}
	states := make([]Value, s.states)
	collected := make([]items, len(s.out))
	defer func() {
		err = errors.Join(err, releaseAll(states))
		for k := range collected {
			err = errors.Join(err, releaseAll(collected[k]))
		}
		if err != nil {
			err = errors.Join(err, releaseAll(out))
			out = nil
		}
	}()
	for k := range states {
		if states[k], err = alias(c.d.name, xs[k]); err != nil {
			return nil, err
		}
	}
	for i := range length {
		if err := s.step(a, xs, axes, i, length, states, collected); err != nil {
			return nil, err
		}
	}
	for k := range states {
		out = append(out, states[k])
		states[k] = nil
	}
	for k := range collected {
		if s.out[k].reverse {
			slices.Reverse(collected[k])
		}
		y, err := c.collect(s.out[k].axis, collected[k], &s.body.outputs[s.states+k])
		if err != nil {
			return out, err
		}
		out = append(out, y)
	}
	return out, nil
}

// cuts returns the axes of the scanned inputs and their common extent.
func (s *scan) cuts(c *call, xs []*tensor.Tensor) (axes []int, length int64, err error) {
	for k, x := range xs[s.states:] {
		rank := x.Rank()
		axis, err := c.d.axisFrom(s.in[k].axis, -int64(rank), rank, rank-1)
		if err != nil {
			return nil, 0, err
		}
		if n := x.Dim(axis); k > 0 && n != length {
			return nil, 0, c.d.invalid("input %d has %d slices, input %d has %d: they must be as many", s.first+s.states+k, n, s.first+s.states, length)
		}
		axes, length = append(axes, axis), x.Dim(axis)
	}
	return axes, length, nil
}

// step runs the body once, replaces the states and adds to the collected outputs.
func (s *scan) step(a *activation, xs []*tensor.Tensor, axes []int, i, length int64, states []Value, collected []items) (err error) {
	c := a.c
	if err := context.Cause(c.ctx); err != nil {
		return err
	}
	own := slices.Clone(states)
	defer func() { err = errors.Join(err, releaseAll(own[s.states:])) }()
	for k, x := range xs[s.states:] {
		at := i
		if s.in[k].reverse {
			at = length - 1 - i
		}
		y, err := c.slice(x, axes[k], at)
		if err != nil {
			return err
		}
		own = append(own, y)
	}
	made, err := a.run(own...)
	if err != nil {
		return err
	}
	for k := range states {
		err = errors.Join(err, states[k].Release())
		states[k] = made[k]
	}
	for k := range collected {
		err = errors.Join(err, collected[k].add(c, made[s.states+k]))
	}
	return err
}
