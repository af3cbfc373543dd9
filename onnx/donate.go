package onnx

import (
	"errors"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Donate returns x as an input that a run may overwrite: where a node is the last to use it,
// TensorScatter, ScatterND and ScatterElements write their updates into its memory instead of
// copying it, if no other tensor has that memory and all work on it was the stream's. x is
// released by the run, whether it succeeds or not; only after an error of the inputs
// themselves it is still the caller's.
func Donate(x *tensor.Tensor) Value { return donation{x} }

// donation is an input that belongs to the run.
type donation struct{ x *tensor.Tensor }

func (d donation) Release() error { return d.x.Release() }

// own takes the tensors that the caller gave.
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

// mayOverwrite marks the given inputs whose last use a step is.
func (r *run) mayOverwrite(st *step) {
	r.last = append(r.last[:0], st.last...)
	for k, slot := range st.in {
		if slices.Contains(st.given, slot) && slices.Contains(r.given, slot) {
			r.last[k] = true
		}
	}
	r.call.last = r.last
}

// giveUp releases a given input.
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

// letGo releases the given inputs that are left, and copies of outputs.
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
	return errors.Join(errs...)
}
