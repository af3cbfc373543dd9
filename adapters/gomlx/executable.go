package gomlx

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	"github.com/pkg/errors"
	"github.com/restride/restride/tensor"
	"k8s.io/klog/v2"
)

// executable is a compute.Executable. Several goroutines may execute it concurrently.
type executable struct {
	b         *Backend
	name      string
	names     []string
	ins, outs []shapes.Shape
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

func newExecutable(bu *builder) (*executable, error) {
	p, err := newPlan(bu)
	if err != nil {
		return nil, err
	}
	e := &executable{b: bu.b, name: bu.name, names: bu.main.names, plan: p, constants: &constants{}, spares: make([]sync.Pool, len(p.slots))}
	for _, x := range bu.main.params {
		e.ins = append(e.ins, x.shape)
	}
	for _, x := range bu.main.returned {
		e.outs = append(e.outs, x.shape)
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
	e.tell()
	return e, nil
}

func (b *Backend) constant(n *node, to target) (*tensor.Tensor, error) {
	if n.kind == constant {
		return tensor.FromBytes(b.stream, to.dtype, bytesOf(n.flat), to.dims...)
	}
	return n.view(b.stream, nil, to)
}

// tell logs where operations run, in GoMLX's log, at level 1.
func (e *executable) tell() {
	layouts, runs := e.plan.count()
	text := fmt.Sprintf("restride: %q: %d layout operations on %s, and %d executions of the Go backend", e.name, layouts, e.b.stream.Device().Info().ID(), runs)
	if toHost, toDevice := e.plan.transfers(); e.b.host == nil {
		text += fmt.Sprintf(", for which up to %d bytes come to the host, and up to %d go to the device, each time", toHost, toDevice)
	}
	klog.V(1).Info(text)
}

func (e *executable) Inputs() ([]string, []shapes.Shape) { return e.names, e.ins }
func (e *executable) Outputs() []shapes.Shape            { return e.outs }

// Finalize frees the constants.
func (e *executable) Finalize() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.plan != nil {
		e.cleanup.Stop()
		e.constants.release()
		e.plan, e.spares = nil, nil
	}
}

func (e *executable) Execute(inputs []compute.Buffer, donate []bool, num compute.DeviceNum) ([]compute.Buffer, error) {
	if err := e.b.check(num); err != nil {
		return nil, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.plan == nil {
		return nil, errors.Errorf("restride: %q was finalized", e.name)
	}
	xs, err := e.checkInputs(inputs, donate)
	if err != nil {
		return nil, err
	}
	fr := newFrame(e, xs, donate)
	defer fr.end()
	outputs, err := fr.run()
	if err != nil {
		return nil, errors.WithMessagef(err, "restride: %q", e.name)
	}
	for i, x := range xs {
		if len(donate) > 0 && donate[i] {
			_ = x.Finalize() // always nil
		}
	}
	return outputs, nil
}

// checkInputs checks the caller's inputs.
func (e *executable) checkInputs(inputs []compute.Buffer, donate []bool) ([]*buffer, error) {
	if len(inputs) != len(e.ins) {
		return nil, errors.Errorf("restride: %q takes %d inputs, and was given %d", e.name, len(e.ins), len(inputs))
	}
	if len(donate) != 0 && len(donate) != len(inputs) {
		return nil, errors.Errorf("restride: %q takes %d inputs, and was told of %d whether they are donated", e.name, len(e.ins), len(donate))
	}
	xs := make([]*buffer, len(inputs))
	for i, in := range inputs {
		x, ok := in.(*buffer)
		if !ok || x == nil {
			return nil, errors.Errorf("restride: %q: input %d, %q, is a buffer of another kind: %T", e.name, i, e.names[i], in)
		}
		if x.b != e.b {
			return nil, errors.Errorf("restride: %q: input %d, %q, is a buffer of another backend: %s", e.name, i, e.names[i], x.b.Description())
		}
		if want := e.ins[i]; x.to.shape.DType != want.DType || x.to.shape.Rank() != want.Rank() || !want.IsDynamic() && !x.to.shape.EqualDimensions(want) {
			return nil, errors.Errorf("restride: %q: input %d, %q, has shape %s; %s is wanted", e.name, i, e.names[i], x.to.shape, want)
		}
		xs[i] = x
	}
	return xs, nil
}
