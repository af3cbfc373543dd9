package onnx

import (
	"context"
	"errors"
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dry"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// A Plan is the work and memory of a run on inputs of certain shapes. Sizes are in bytes,
// with each buffer rounded up as the device's pool does.
type Plan struct {
	Inputs    int64 // inputs on the device
	Constants int64 // the session's constants on the device
	// Peak is the maximum memory held at once besides inputs and constants: outputs of
	// nodes, including the graph's, each until its last use.
	Peak     int64
	Copies   int64 // calls of device kernels
	Copied   int64 // bytes that they write
	Uploaded int64 // bytes copied from the host to the device
	Nodes    []NodeReport
}

// Plan returns the plan of a run, without work or memory on the device. shapes has the
// shapes of inputs that the graph declares without extents; such inputs may be in known
// instead. Inputs whose elements are shapes or axes must be in known, on tensor.Host; all
// others are assumed to be on the session's stream. Inputs in known that Donate returned
// may be overwritten in the plan; they still belong to the caller. Copies are planned even
// on a stream that forbids them.
func (s *Session) Plan(shapes map[string]layout.Shape, known Values) (p *Plan, err error) {
	const op = "Session.Plan"
	if s == nil {
		return nil, nilSession(op)
	}
	if s.closed.Load() {
		return nil, layout.Named(op, device.ErrClosed)
	}
	dev := dry.Open(s.stream.Device(), s.stream.Queue())
	on, err := tensor.NewStream(dev)
	if err != nil {
		return nil, err
	}
	var made []Value
	defer func() {
		for _, v := range made {
			err = errors.Join(err, v.Release())
		}
	}()
	hold := func(t *tensor.Tensor, err error) (*tensor.Tensor, error) {
		if err == nil {
			made = append(made, t)
		}
		return t, err
	}
	r := &run{values: make([]Value, s.program.slots)}
	r.call.standIns = map[*tensor.Tensor]*tensor.Tensor{}
	for _, constants := range s.constants {
		for _, c := range constants {
			x := c.value
			if x.Stream() == tensor.Host() {
				continue
			}
			if r.call.standIns[x], err = hold(tensor.Empty(on, x.DType(), x.Shape()...)); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range s.constants[s.program] {
		r.values[c.slot] = r.call.constant(c)
	}
	p = &Plan{Constants: dev.Stats().Live}
	inputs, unknownText, err := s.planned(op, on, shapes, known, hold)
	if err != nil {
		return nil, err
	}
	r.call.noText = unknownText
	before := dev.Stats()
	p.Inputs = before.Live - p.Constants
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	note := reporter(op, p, &p.Nodes, stop)
	r.begin(ctx, s, on, &note)
	outputs, err := s.program.run(r, inputs, nil)
	if errors.Is(err, dry.ErrRead) {
		return nil, fmt.Errorf("%s: a shape, axes or a string depend on elements that are not known: give the input that they come from: %w", op, err)
	}
	if err != nil {
		return nil, err
	}
	after := dev.Stats()
	p.Peak = after.Peak - before.Live
	p.Copies, p.Copied = after.Launches-before.Launches, after.DeviceToDevice-before.DeviceToDevice
	p.Uploaded = after.HostToDevice - before.HostToDevice
	return p, outputs.Release()
}

// planned makes stand-ins for the inputs. unknownText: some inputs are strings on
// tensor.Host, for which empty strings stand in.
func (s *Session) planned(op string, on *tensor.Stream, shapes map[string]layout.Shape, known Values, hold func(*tensor.Tensor, error) (*tensor.Tensor, error)) (inputs Values, unknownText bool, err error) {
	inputs = Values{}
	for name := range shapes {
		if err := s.program.checkInput(op, name); err != nil {
			return nil, false, err
		}
	}
	for name, v := range known {
		if absent(v) {
			return nil, false, layout.Errorf(device.ErrInvalid, op, "input %s is nil", quote.Name(name))
		}
		d, given := v.(donation)
		if given {
			v = d.x
		}
		x, ok := v.(*tensor.Tensor)
		if !ok {
			return nil, false, layout.Errorf(device.ErrUnsupported, op, "input %s is %s; only tensors can be planned with", quote.Name(name), describe(v))
		}
		if x.Stream() != tensor.Host() {
			var err error
			if x, err = hold(tensor.Empty(on, x.DType(), x.Shape()...)); err != nil {
				return nil, false, err
			}
			if given {
				inputs[name] = donation{x}
				continue
			}
		}
		inputs[name] = x
	}
	for i := range s.program.inputs {
		p := &s.program.inputs[i]
		if inputs[p.name] != nil || p.optional && shapes[p.name] == nil {
			continue
		}
		shape, ok := shapes[p.name]
		if !ok {
			if shape, ok = extentsOf(&p.typ); !ok {
				return nil, false, layout.Errorf(device.ErrInvalid, op, "input %s is declared as %v: its shape must be given", quote.Name(p.name), p.typ)
			}
		}
		where := on
		if elemOf(&p.typ) == layout.String && !on.Device().Info().Strings {
			where, unknownText = tensor.Host(), true
		}
		x, err := hold(tensor.Empty(where, elemOf(&p.typ), shape...))
		if err != nil {
			return nil, false, err
		}
		inputs[p.name] = x
	}
	return inputs, unknownText, nil
}

// extentsOf returns the shape that a type declares, if all extents are known.
func extentsOf(t *model.Type) (layout.Shape, bool) {
	if t.Kind != model.TensorType || !t.HasShape || t.Elem == layout.Invalid {
		return nil, false
	}
	shape := layout.Shape{}
	for _, d := range t.Dims {
		if d.Value < 0 {
			return nil, false
		}
		shape = append(shape, d.Value)
	}
	return shape, true
}
