package core

import (
	"runtime"
	"slices"
	"sync"

	"github.com/pkg/errors"
	"github.com/restride/restride/tensor"
	"k8s.io/klog/v2"
)

// Executable is a compiled computation. Several goroutines may execute it concurrently.
type Executable struct {
	b         *Backend
	name      string
	names     []string
	ins, outs []Array
	plan      *plan
	constants *constants
	spares    []sync.Pool // for each slot, buffers of the Go backend to fill
	cleanup   runtime.Cleanup
	mu        sync.RWMutex // while it is executed; to finalize it
}

// constants are the tensors that are made once, in the order of the plan's.
type constants struct{ tensors []*tensor.Tensor }

func (c *constants) release() {
	for _, t := range c.tensors {
		_ = t.Release()
	}
	c.tensors = nil
}

func newExecutable(g *Graph, returned []*output, values []Value) (*Executable, error) {
	p, err := newPlan(g, returned, values)
	if err != nil {
		return nil, err
	}
	e := &Executable{b: g.b, name: g.name, names: g.names, plan: p, constants: &constants{}, spares: make([]sync.Pool, len(p.slots))}
	for _, x := range g.params {
		e.ins = append(e.ins, x.of)
	}
	for _, x := range returned {
		e.outs = append(e.outs, x.of)
	}
	for i := range p.steps {
		p.steps[i].counters = g.b.counters(p.steps[i].ops)
	}
	for _, c := range p.constants {
		t, err := e.b.constant(c.node, p.slots[c.slot].to)
		if err != nil {
			e.constants.release()
			return nil, errors.WithMessagef(err, "restride: %s", c.node.op)
		}
		e.constants.tensors = append(e.constants.tensors, t)
	}
	e.cleanup = runtime.AddCleanup(e, (*constants).release, e.constants)
	e.log()
	return e, nil
}

func (b *Backend) constant(n *Node, to Array) (*tensor.Tensor, error) {
	if n.kind == constant {
		return tensor.FromBytes(b.Stream, to.DType, bytesOf(n.flat), to.Dims...)
	}
	return n.view(b.Stream, nil, to)
}

// Steps returns the numbers of layout operations, of executions of the Go backend, and of
// constants on the device.
func (e *Executable) Steps() (layouts, runs, constants int) {
	layouts, runs = e.plan.count()
	return layouts, runs, len(e.plan.constants)
}

// log shows where operations run, in GoMLX's log, at level 1.
func (e *Executable) log() {
	layouts, runs, _ := e.Steps()
	text := "restride: %q: %d layout operations on %s, and %d executions of the Go backend"
	args := []any{e.name, layouts, e.b.Stream.Device().Info().ID(), runs}
	if toHost, toDevice := e.plan.transfers(); e.b.host == nil {
		text += ", for which up to %d bytes come to the host, and up to %d go to the device, each time"
		args = append(args, toHost, toDevice)
	}
	klog.V(1).Infof(text, args...)
}

// Inputs are the names and shapes of the parameters.
func (e *Executable) Inputs() ([]string, []Array) { return e.names, e.ins }

// Outputs are the shapes of the results.
func (e *Executable) Outputs() []Array { return e.outs }

// Finalize frees the constants.
func (e *Executable) Finalize() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.plan != nil {
		e.cleanup.Stop()
		e.constants.release()
		e.plan, e.spares = nil, nil
	}
}

// Execute runs the computation. Inputs that are donated are gone afterwards.
func (e *Executable) Execute(inputs []*Held, donate []bool, num int) ([]*Held, error) {
	if err := e.b.Check(num); err != nil {
		return nil, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.plan == nil {
		return nil, errors.Errorf("restride: %q was finalized", e.name)
	}
	if err := e.checkInputs(inputs, donate); err != nil {
		return nil, err
	}
	fr := newFrame(e, inputs, donate)
	defer fr.end()
	outputs, err := fr.run()
	if err != nil {
		return nil, errors.WithMessagef(err, "restride: %q", e.name)
	}
	for i, x := range inputs {
		if len(donate) > 0 && donate[i] {
			x.drop(false) // the Go backend may have its memory
		}
	}
	return outputs, nil
}

// checkInputs checks the caller's inputs.
func (e *Executable) checkInputs(inputs []*Held, donate []bool) error {
	if len(inputs) != len(e.ins) {
		return errors.Errorf("restride: %q takes %d inputs, and was given %d", e.name, len(e.ins), len(inputs))
	}
	if len(donate) != 0 && len(donate) != len(inputs) {
		return errors.Errorf("restride: %q takes %d inputs, and was told of %d whether they are donated", e.name, len(e.ins), len(donate))
	}
	for i, x := range inputs {
		if x == nil {
			return errors.Errorf("restride: %q: input %d, %q, is nil", e.name, i, e.names[i])
		}
		if x.b != e.b {
			return errors.Errorf("restride: %q: input %d, %q, is a buffer of another backend, on %s", e.name, i, e.names[i], x.b.Stream.Device().Info().ID())
		}
		if want := e.ins[i]; x.of.DType != want.DType || len(x.of.Dims) != len(want.Dims) || !want.Open() && !slices.Equal(x.of.Dims, want.Dims) {
			return errors.Errorf("restride: %q: input %d, %q, has shape %s; %s is wanted", e.name, i, e.names[i], x.of.Shape, want.Shape)
		}
	}
	return nil
}
