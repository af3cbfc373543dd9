package onnx

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// A Session is a model's graph, ready to run on a stream: the nodes are ordered, their
// attributes read and the constants loaded. Shapes, axes and the arithmetic on them stay on
// the host, on any device. Run may be called from many goroutines.
type Session struct {
	program *program
	stream  *tensor.Stream
	// attributor is the stream's queue, if errors of its work come late.
	attributor device.Attributor
	constants  map[*program][]held // of the graph, and of graphs in its nodes
	hook       atomic.Pointer[func(NodeReport)]
	closed     atomic.Bool
}

// NewSession prepares a model to run on a stream. Unsupported operators give a
// *MissingError that names them all. The session does not need the model afterwards. Close
// releases the constants.
func NewSession(s *tensor.Stream, m *model.Model, options ...Option) (*Session, error) {
	const op = "NewSession"
	switch {
	case s == nil:
		return nil, layout.Errorf(device.ErrInvalid, op, "the stream is nil")
	case m == nil:
		return nil, layout.Errorf(device.ErrInvalid, op, "the model is nil")
	}
	p := &program{stream: s}
	c := &compiler{}
	c.configure(options)
	if err := c.compile(p, m); err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.sessions.Store(1)
	sess := newSession(p, s)
	for each := range p.all {
		sess.constants[each], each.constants = each.constants, nil
	}
	return sess, nil
}

// newSession returns a session without constants.
func newSession(p *program, s *tensor.Stream) *Session {
	attributor, _ := device.As[device.Attributor](s.Queue())
	return &Session{program: p, stream: s, attributor: attributor, constants: map[*program][]held{}}
}

// On returns a session of the same model on another stream. The sessions share the compiled
// model and what engines keep and, on one device, the constants' memory. On another device
// the constants are copied, and an engine's operators give device.ErrUnsupported. Each
// session must be closed, in any order.
func (s *Session) On(stream *tensor.Stream) (_ *Session, err error) {
	const op = "Session.On"
	switch {
	case s == nil:
		return nil, nilSession(op)
	case stream == nil:
		return nil, layout.Errorf(device.ErrInvalid, op, "the stream is nil")
	case stream.Device() != s.stream.Device() && s.program.foreign():
		return nil, layout.Errorf(device.ErrUnsupported, op, "the engine's operators are for device %s; the stream is on %s", s.stream.Device().Info().ID(), stream.Device().Info().ID())
	case !s.program.join():
		return nil, layout.Named(op, device.ErrClosed)
	}
	other := newSession(s.program, stream)
	defer func() {
		if err != nil {
			err = errors.Join(layout.Named(op, err), other.Close())
		}
	}()
	if s.closed.Load() {
		return nil, device.ErrClosed
	}
	for of, constants := range s.constants {
		for _, c := range constants {
			x, err := constantOn(stream, c.value)
			if err != nil {
				return nil, err
			}
			other.constants[of] = append(other.constants[of], held{slot: c.slot, value: x})
		}
	}
	return other, nil
}

// constantOn returns a reference to a constant for a session on another stream, in no scope.
// Those on the host stay there.
func constantOn(s *tensor.Stream, x *tensor.Tensor) (*tensor.Tensor, error) {
	if x.Stream() == tensor.Host() {
		return x.Retain()
	}
	y, err := x.To(s)
	if err != nil {
		return nil, err
	}
	return y, tensor.Keep(y)
}

// Close releases the session's constants and, with the last session of the model, what
// engines keep for it. All runs must have ended.
func (s *Session) Close() error {
	if s == nil {
		return nilSession("Session.Close")
	}
	if s.closed.Swap(true) {
		return nil
	}
	var errs []error
	for _, constants := range s.constants {
		for _, c := range constants {
			errs = release(errs, c.value)
		}
	}
	if s.program.sessions.Add(-1) == 0 {
		errs = append(errs, s.program.close())
	}
	return errors.Join(errs...)
}

func nilSession(op string) error { return layout.Errorf(device.ErrInvalid, op, "the session is nil") }

// Inputs returns the names and declared types of the graph's inputs that have
// no default.
func (s *Session) Inputs() []model.ValueInfo {
	var out []model.ValueInfo
	for _, p := range s.program.inputs {
		if !p.optional {
			out = append(out, model.ValueInfo{Name: p.name, Type: p.typ})
		}
	}
	return out
}

// Outputs returns the names and declared types of the graph's outputs.
func (s *Session) Outputs() []model.ValueInfo {
	var out []model.ValueInfo
	for _, p := range s.program.outputs {
		out = append(out, model.ValueInfo{Name: p.name, Type: p.typ})
	}
	return out
}

// Run runs the graph. The caller keeps the inputs, except those passed through Donate, and
// must release the outputs. Outputs are on the session's stream, but results of shape
// arithmetic are on tensor.Host. When ctx is cancelled, Run ends with the context's cause
// before the next node, or while a node waits for elements that the host reads. Work
// already queued continues.
func (s *Session) Run(ctx context.Context, inputs Values, options ...RunOption) (Values, error) {
	return s.start(ctx, inputs, options, false, nil)
}

// check checks the preconditions of a run other than its inputs.
func (s *Session) check(op string, ctx context.Context) error {
	switch {
	case s == nil:
		return nilSession(op)
	case ctx == nil:
		return layout.Errorf(device.ErrInvalid, op, "the context is nil")
	case s.closed.Load():
		return layout.Named(op, device.ErrClosed)
	}
	return nil
}

// start is Run, or the run recorded by Capture or measured by Profile.
func (s *Session) start(ctx context.Context, inputs Values, options []RunOption, captures bool, profile *Profile) (Values, error) {
	if err := s.check("Session.Run", ctx); err != nil {
		return nil, err
	}
	r := s.program.take()
	defer s.program.put(r)
	r.begin(ctx, s, s.stream, profile.hook(s.hook.Load()))
	r.call.captures, r.call.profile = captures, profile
	for _, c := range s.constants[s.program] {
		r.values[c.slot] = c.value
	}
	return s.program.run(r, inputs, options)
}
