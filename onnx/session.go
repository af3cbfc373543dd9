package onnx

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// A Session is a model's graph, ready to run on a stream: nodes in order, their
// attributes read, constants loaded. Shapes, axes and the arithmetic on them
// stay on the host, whatever the device. Run may be called from many
// goroutines.
type Session struct {
	stream    *tensor.Stream
	inputs    []port
	outputs   []port
	steps     []step
	constants []held
	folded    []NodeReport // Constant nodes
	slots     int
	runs      sync.Pool
	hook      atomic.Pointer[func(NodeReport)]
	bodies    []*Session     // of nodes' graphs
	closers   []func() error // of engines' operators
	closed    atomic.Bool
}

// port is an input or output of the graph.
type port struct {
	name     string
	slot     int
	host     int // the slot of an input whose default is on the host too; else -1
	typ      model.Type
	optional bool // an input with a default
	made     bool // an output that a node makes; else it is an input or constant
}

// step is a node that runs.
type step struct {
	d      *definition
	kernel kernel
	in     []int  // slots; -1: left out
	out    []int  // slots; -1: not wanted
	free   []int  // slots that nobody uses after this step
	last   []bool // of each input: its slot is free after this step
	home   *tensor.Stream
	// mayDefer: the output's only user can write it straight into its own.
	mayDefer bool

	index    int
	name     string
	outputs  []string
	captured []string // by bodies: the last inputs
	group    []int    // the nodes that it runs, if they are an engine's group
	trouble  error    // why it is opaque, though its operator is known
}

// fail names the node that an error is from.
func (st *step) fail(err error) error {
	return fmt.Errorf("%s: %w", nodeLabel(st.index, st.d.op, st.name), err)
}

// held is a value that the session keeps for all runs.
type held struct {
	slot  int
	value *tensor.Tensor
}

// run is the state of one Run.
type run struct {
	values []Value
	call   call
	// on stands in for the session's stream, to plan a run; nil: the run is real.
	on *tensor.Stream
}

// NewSession prepares a model to run on a stream. Operators that are not supported
// give a *MissingError that names them all. The model is not needed afterwards.
// Close releases the constants.
func NewSession(s *tensor.Stream, m *model.Model, options ...Option) (*Session, error) {
	const op = "NewSession"
	switch {
	case s == nil:
		return nil, layout.Errorf(device.ErrInvalid, op, "the stream is nil")
	case m == nil:
		return nil, layout.Errorf(device.ErrInvalid, op, "the model is nil")
	}
	sess := &Session{stream: s}
	c := &compiler{}
	for _, option := range options {
		if option != nil {
			option(c)
		}
	}
	if err := c.compile(sess, m); err != nil {
		return nil, errors.Join(err, sess.Close())
	}
	return sess, nil
}

// Close releases the session's constants, and what engines keep for it. Runs must have
// ended.
func (s *Session) Close() error {
	if s == nil {
		return nilSession("Session.Close")
	}
	if s.closed.Swap(true) {
		return nil
	}
	var errs []error
	for _, c := range s.constants {
		errs = release(errs, c.value)
	}
	for _, b := range s.bodies {
		errs = append(errs, b.Close())
	}
	for _, closer := range s.closers {
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}

func nilSession(op string) error { return layout.Errorf(device.ErrInvalid, op, "the session is nil") }

// Inputs returns the names and declared types of the graph's inputs that have
// no default.
func (s *Session) Inputs() []model.ValueInfo {
	var out []model.ValueInfo
	for _, p := range s.inputs {
		if !p.optional {
			out = append(out, model.ValueInfo{Name: p.name, Type: p.typ})
		}
	}
	return out
}

// Outputs returns the names and declared types of the graph's outputs.
func (s *Session) Outputs() []model.ValueInfo {
	var out []model.ValueInfo
	for _, p := range s.outputs {
		out = append(out, model.ValueInfo{Name: p.name, Type: p.typ})
	}
	return out
}

// Run runs the graph. The inputs stay the caller's; the outputs are the
// caller's to release. Outputs are on the session's stream, but results of
// shape arithmetic on tensor.Host. When ctx is
// cancelled, Run stops before the next node, with the context's cause.
func (s *Session) Run(ctx context.Context, inputs Values) (Values, error) {
	const op = "Session.Run"
	switch {
	case s == nil:
		return nil, nilSession(op)
	case ctx == nil:
		return nil, layout.Errorf(device.ErrInvalid, op, "the context is nil")
	case s.closed.Load():
		return nil, layout.Named(op, device.ErrClosed)
	}
	r := s.take()
	defer s.put(r)
	for _, c := range s.constants {
		r.values[c.slot] = c.value
	}
	return s.run(ctx, r, inputs, s.hook.Load())
}

// take returns the state for a run, which put gets back.
func (s *Session) take() *run {
	if r, ok := s.runs.Get().(*run); ok {
		return r
	}
	return &run{values: make([]Value, s.slots)}
}

func (s *Session) put(r *run) {
	clear(r.values)
	clear(r.call.in[:cap(r.call.in)])
	clear(r.call.out[:cap(r.call.out)])
	r.call.x, r.call.ctx, r.call.hook, r.on = nil, nil, nil, nil
	s.runs.Put(r)
}

// run runs the graph. r has the constants.
func (s *Session) run(ctx context.Context, r *run, inputs Values, hook *func(NodeReport)) (Values, error) {
	if err := s.bind(r, inputs); err != nil {
		return nil, err
	}
	c := &r.call
	c.ctx, c.hook, c.stream, c.far = ctx, hook, s.stream, s.stream
	if r.on != nil {
		c.far = r.on
	}
	if hook != nil {
		for _, n := range s.folded {
			(*hook)(n)
		}
	}
	for i := range s.steps {
		st := &s.steps[i]
		err := context.Cause(ctx)
		if err == nil {
			err = r.do(st, hook)
		}
		if err != nil {
			return nil, errors.Join(st.fail(err), s.abandon(r, i+1))
		}
	}
	for i := range s.outputs {
		p := &s.outputs[i]
		// Its extents are not compared: real models declare wrong ones, and run.
		if v := r.values[p.slot]; !p.accepts(v, false) {
			err := layout.Errorf(device.ErrInvalid, "Session.Run", "output %s is %s; the graph declares %v", quote.Name(p.name), describe(v), p.typ)
			return nil, errors.Join(err, s.abandon(r, len(s.steps)))
		}
	}
	out := make(Values, len(s.outputs))
	for i := range s.outputs {
		p := &s.outputs[i]
		v := r.values[p.slot]
		r.values[p.slot] = nil // out gets it
		if !p.made {
			// The caller's or the session's own: hand out another reference.
			var err error
			if v, err = alias(opIdentity, v); err != nil {
				return nil, errors.Join(err, out.Release(), s.abandon(r, len(s.steps)))
			}
		}
		out[p.name] = v
	}
	return out, nil
}

// do runs one step and releases what nobody uses afterwards.
func (r *run) do(st *step, hook *func(NodeReport)) error {
	c := &r.call
	c.d, c.home, c.last, c.mayDefer = st.d, st.home, st.last, st.mayDefer
	if r.on != nil && c.home != tensor.Host() {
		c.home = r.on
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
	if err := c.run(st.kernel); err != nil {
		return err
	}
	for i, slot := range st.out {
		if slot >= 0 {
			r.values[slot] = c.out[i]
		}
	}
	if hook != nil {
		(*hook)(st.report(c))
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
	return errors.Join(errs...)
}

// abandon releases what the first n steps made and is still held.
func (s *Session) abandon(r *run, n int) error {
	var errs []error
	for _, st := range s.steps[:n] {
		for _, slot := range st.out {
			if slot >= 0 {
				errs = release(errs, r.values[slot])
				r.values[slot] = nil
			}
		}
	}
	return errors.Join(errs...)
}

// bind puts the inputs into their slots, after checking names and types.
func (s *Session) bind(r *run, inputs Values) error {
	bound := 0
	for i := range s.inputs {
		p := &s.inputs[i]
		v, given := inputs[p.name]
		if !given || absent(v) {
			if p.optional {
				continue
			}
			return layout.Errorf(device.ErrInvalid, "Session.Run", "input %s is missing", quote.Name(p.name))
		}
		if !p.accepts(v, true) {
			return layout.Errorf(device.ErrInvalid, "Session.Run", "input %s is %s; the graph declares %v", quote.Name(p.name), describe(v), p.typ)
		}
		r.values[p.slot] = v
		if p.host >= 0 {
			r.values[p.host] = v
		}
		bound++
	}
	if bound < len(inputs) {
		for name := range inputs {
			if err := s.checkInput("Session.Run", name); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkInput refuses the name of an input that there is not.
func (s *Session) checkInput(op, name string) error {
	names := make([]string, len(s.inputs))
	for i, p := range s.inputs {
		if names[i] = p.name; p.name == name {
			return nil
		}
	}
	return layout.Errorf(device.ErrInvalid, op, "the graph has no input %s; it has %s", quote.Name(name), listed(names))
}

// accepts reports whether a value is of the declared type, as far as that goes,
// and if wanted of the declared extents.
func (p *port) accepts(v Value, extents bool) bool {
	switch v := v.(type) {
	case *tensor.Tensor:
		if !isOf(&p.typ, model.TensorType, v.DType()) {
			return false
		}
		var few [8]int64
		return !extents || fits(&p.typ, v.AppendDims(few[:0]))
	case *Sequence:
		return isOf(&p.typ, model.SequenceType, v.Elem)
	case *Optional:
		return isOf(&p.typ, model.OptionalType, v.Elem)
	}
	return false
}

// isOf reports whether a declared type allows values of a kind and element
// type.
func isOf(t *model.Type, kind model.TypeKind, elem layout.DType) bool {
	want := elemOf(t)
	return t.Kind == model.UnknownType || t.Kind == kind && (want == layout.Invalid || want == elem)
}

// fits reports whether a tensor's declared type allows these extents.
func fits(t *model.Type, dims []int64) bool {
	if !t.HasShape {
		return true
	}
	if len(dims) != len(t.Dims) {
		return false
	}
	for i := range dims {
		if want := t.Dims[i].Value; want >= 0 && want != dims[i] {
			return false
		}
	}
	return true
}
