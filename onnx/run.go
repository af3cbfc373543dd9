package onnx

import (
	"context"
	"errors"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// run is the state of one run of a program.
type run struct {
	values []Value
	call   call
	given  []int // slots of inputs given away, until they are released
	last   []bool
	copies []Value          // per output: a copy if other outputs would overwrite it; nil: none
	into   []*tensor.Tensor // per output: the caller's memory for it; nil: none
	// nested: the program is a graph in a node. In a loop, extents may change.
	nested bool
}

// take returns the state for a run; put recycles it.
func (p *program) take() *run {
	if r, ok := p.runs.Get().(*run); ok {
		return r
	}
	return &run{values: make([]Value, p.slots)}
}

func (p *program) put(r *run) {
	clear(r.values)
	clear(r.call.in[:cap(r.call.in)])
	clear(r.call.out[:cap(r.call.out)])
	clear(r.into)
	r.given, r.into = r.given[:0], r.into[:0]
	clear(r.call.later[:cap(r.call.later)])
	r.call.x, r.call.ctx, r.call.hook, r.call.profile, r.call.session, r.call.into, r.call.standIns = nil, nil, nil, nil, nil, nil, nil
	p.runs.Put(r)
}

// begin starts a run of a session, or of its plan; in a plan far stands in for its stream.
func (r *run) begin(ctx context.Context, s *Session, far *tensor.Stream, hook *func(NodeReport)) {
	c := &r.call
	c.ctx, c.hook, c.session, c.far, c.captures = ctx, hook, s, far, false
}

// run runs the graph. r already has the constants.
func (p *program) run(r *run, inputs Values, options []RunOption) (Values, error) {
	if err := p.bind(r, inputs); err != nil {
		return nil, err
	}
	if len(options) > 0 {
		if err := p.name(r, options); err != nil {
			return nil, errors.Join(err, r.unname())
		}
	}
	if len(r.given) > 0 {
		if err := p.own(r, inputs); err != nil {
			return nil, errors.Join(err, r.unname())
		}
	}
	c := &r.call
	if c.hook != nil {
		for _, n := range p.folded {
			(*c.hook)(n)
		}
	}
	for i := range p.steps {
		st := &p.steps[i]
		err := context.Cause(c.ctx)
		if err == nil {
			err = r.do(p, i)
		}
		if err != nil {
			return nil, errors.Join(st.fail(err), p.abandon(r, i+1))
		}
	}
	for i := range p.outputs {
		out := &p.outputs[i]
		// Extents are not compared: real models declare wrong ones, and still run.
		if v := r.values[out.slot]; !out.accepts(v, false) {
			err := layout.Errorf(device.ErrInvalid, "Session.Run", "output %s is %s; the graph declares %v", quote.Name(out.name), describe(v), out.typ)
			return nil, errors.Join(err, p.abandon(r, len(p.steps)))
		}
	}
	return p.results(r)
}

// do runs one step and then releases values that are no longer used.
func (r *run) do(p *program, i int) error {
	st := &p.steps[i]
	r.prepare(st)
	c := &r.call
	if len(r.given) > 0 && len(st.given) > 0 {
		r.mayOverwrite(st)
	}
	if c.into, c.later = nil, c.later[:0]; len(r.into) > 0 {
		r.aim(p, i)
	}
	began := c.profile.begin()
	if err := c.runNamed(st); err != nil {
		return err
	}
	for i, slot := range st.out {
		if slot >= 0 {
			r.values[slot] = c.out[i]
		}
	}
	if c.hook != nil {
		n := st.report(c)
		c.profile.end(began, &n)
		(*c.hook)(n)
	}
	var errs []error
	for i, slot := range st.out {
		if slot < 0 {
			errs = release(errs, c.out[i])
		}
	}
	for _, slot := range st.free {
		errs = release(errs, r.values[slot])
		r.values[slot] = nil
	}
	if len(r.given) > 0 {
		for _, slot := range st.given {
			errs = append(errs, r.giveUp(slot))
		}
	}
	return errors.Join(errs...)
}

// runNamed runs the kernel of a step, and names the node in errors of its indices that come
// late.
func (c *call) runNamed(st *step) error {
	if !st.d.dataFirst || c.session.attributor == nil || c.dry() {
		return c.run(st.kernel)
	}
	attributor := c.session.attributor
	before := attributor.Position()
	if err := c.run(st.kernel); err != nil {
		return err
	}
	if y, ok := c.out[0].(*tensor.Tensor); ok && y.Stream() == c.session.stream {
		attributor.Attribute(y.Buffer(), before, st)
	}
	return nil
}

// prepare initializes the call of a step.
func (r *run) prepare(st *step) {
	c := &r.call
	c.d, c.home, c.last, c.mayDefer = st.d, c.far, st.last, st.mayDefer
	if st.host {
		c.home = tensor.Host()
	}
	c.in = slices.Grow(c.in[:0], len(st.in))[:len(st.in)]
	c.out = slices.Grow(c.out[:0], len(st.out))[:len(st.out)]
	clear(c.out)
	for i, slot := range st.in {
		c.in[i] = nil
		if slot >= 0 {
			c.in[i] = r.values[slot]
		}
	}
}

// abandon releases outputs of the first n steps that are still held, and the inputs given
// away.
func (p *program) abandon(r *run, n int) error {
	var errs []error
	for _, st := range p.steps[:n] {
		for _, slot := range st.out {
			if slot >= 0 {
				errs = release(errs, r.values[slot])
				r.values[slot] = nil
			}
		}
	}
	return errors.Join(append(errs, r.letGo())...)
}

// results returns the outputs.
func (p *program) results(r *run) (Values, error) {
	err := p.guard(r)
	out := make(Values, len(p.outputs))
	for i := range p.outputs {
		var v Value
		if err == nil {
			v, err = p.result(r, i)
		}
		if err != nil {
			return nil, errors.Join(err, out.Release(), p.abandon(r, len(p.steps)))
		}
		out[p.outputs[i].name] = v
	}
	if err := r.letGo(); err != nil {
		return nil, errors.Join(err, out.Release())
	}
	return out, nil
}

// result returns a reference to output i for the caller.
func (p *program) result(r *run, i int) (Value, error) {
	port := &p.outputs[i]
	v, named := r.values[port.slot], i < len(r.into) && r.into[i] != nil
	copied := r.copies != nil && r.copies[i] != nil
	if port.made && !named && !copied {
		r.values[port.slot] = nil
		return v, nil
	}
	if copied {
		v = r.copies[i]
	}
	var err error
	if named {
		v, err = r.place(port, v, r.into[i])
	} else {
		v, err = alias(opIdentity, v) // a reference of the caller's own, or the session's
	}
	if err == nil && port.made {
		err = r.values[port.slot].Release()
		r.values[port.slot] = nil
	}
	return v, err
}

// bind stores the inputs in their slots, after checking names and types.
func (p *program) bind(r *run, inputs Values) error {
	bound := 0
	for i := range p.inputs {
		in := &p.inputs[i]
		v, given := inputs[in.name]
		if !given || absent(v) {
			if in.optional {
				continue
			}
			return layout.Errorf(device.ErrInvalid, "Session.Run", "input %s is missing", quote.Name(in.name))
		}
		if in.fixed {
			return errFixed("Session.Run", in.name)
		}
		if d, ok := v.(donation); ok {
			v = d.x
			r.given = append(r.given, in.slot)
		}
		if r.nested {
			v = in.wrapped(v)
		}
		if !in.accepts(v, !r.nested) {
			return layout.Errorf(device.ErrInvalid, "Session.Run", "input %s is %s; the graph declares %v", quote.Name(in.name), describe(v), in.typ)
		}
		r.values[in.slot] = v
		if in.host >= 0 {
			r.values[in.host] = v
		}
		bound++
	}
	if bound < len(inputs) {
		for name := range inputs {
			if err := p.checkInput("Session.Run", name); err != nil {
				return err
			}
		}
	}
	return nil
}
