package onnx

import (
	"errors"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Donate returns x as an input that a run may overwrite. If the last node to use it is a
// TensorScatter, ScatterND or ScatterElements, that node writes its updates into x's memory
// instead of copying x, provided that no other tensor shares the memory and all work on it
// was on the session's stream. The run releases x, whether it succeeds or fails; only after
// an error in the inputs themselves does x still belong to the caller.
func Donate(x *tensor.Tensor) Value { return donation{x} }

// donation is an input that the run owns.
type donation struct{ x *tensor.Tensor }

func (d donation) Release() error { return d.x.Release() }

// own takes over the tensors that the caller gave away.
func (p *program) own(r *run, inputs Values) (err error) {
	const op = "Session.Run"
	taken := make([]*tensor.Tensor, 0, len(r.given))
	defer func() {
		if err != nil {
			for _, x := range taken {
				err = errors.Join(err, x.Release())
			}
			r.given = r.given[:0]
		}
	}()
	for i := range p.inputs {
		d, ok := inputs[p.inputs[i].name].(donation)
		if !ok {
			continue
		}
		for name, v := range inputs {
			if name != p.inputs[i].name && (v == Value(d.x) || v == Value(d)) {
				return layout.Errorf(device.ErrInvalid, op, "input %s is given away, and is input %s, too", quote.Name(p.inputs[i].name), quote.Name(name))
			}
		}
		x, err := d.x.Retain()
		if err != nil {
			return layout.Named(op+": input "+quote.Name(p.inputs[i].name), err)
		}
		taken = append(taken, x)
	}
	var errs []error
	for i := range p.inputs {
		in := &p.inputs[i]
		d, ok := inputs[in.name].(donation)
		if !ok {
			continue
		}
		r.values[in.slot], taken = taken[0], taken[1:]
		if in.host >= 0 {
			r.values[in.host] = r.values[in.slot]
		}
		errs = append(errs, d.x.Release())
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, r.letGo())
	}
	return nil
}

// mayOverwrite marks the inputs given away whose last use is this step.
func (r *run) mayOverwrite(st *step) {
	r.last = append(r.last[:0], st.last...)
	for k, slot := range st.in {
		if slices.Contains(st.given, slot) && slices.Contains(r.given, slot) {
			r.last[k] = true
		}
	}
	r.call.last = r.last
}

// giveUp releases an input that was given away.
func (r *run) giveUp(slot int) error {
	i := slices.Index(r.given, slot)
	if i < 0 {
		return nil
	}
	r.given = slices.Delete(r.given, i, i+1)
	v := r.values[slot]
	r.values[slot] = nil
	return v.Release()
}

// letGo releases the remaining inputs that were given away, copies of outputs, and the memory
// for outputs.
func (r *run) letGo() error {
	var errs []error
	for _, slot := range r.given {
		errs = release(errs, r.values[slot])
		r.values[slot] = nil
	}
	for _, x := range r.copies {
		errs = release(errs, x)
	}
	r.given, r.copies = r.given[:0], nil
	return errors.Join(append(errs, r.unname())...)
}
