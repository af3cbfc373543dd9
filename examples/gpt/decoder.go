package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// decoder generates tokens of a batch of sequences.
type decoder struct {
	engine  engine
	session *onnx.Session
	state   onnx.Values      // a step's inputs: tokens, their places, caches
	into    []onnx.RunOption // a step writes its outputs over them
	step    *onnx.Captured   // nil: each step is planned
	outputs onnx.Values      // of the last step
}

// load reads PATH.onnx. The inputs that PATH.safetensors has become constants, which a session
// reads from there.
func load(path string) (*model.Model, error) {
	m, err := model.Load(path + ".onnx")
	if err != nil {
		return nil, err
	}
	weights, err := checkpoint.Open(path + ".safetensors")
	if err != nil {
		return nil, err
	}
	for _, t := range weights.Tensors {
		at := &model.External{Dir: m.Dir, Path: filepath.Base(t.File().Path), Offset: t.Offset(), Length: t.Size()}
		m.Graph.Initializers = append(m.Graph.Initializers, model.Tensor{Name: t.Name, Type: t.Type.DType, Dims: t.Dims, External: at})
	}
	m.Graph.Inputs = slices.DeleteFunc(m.Graph.Inputs, func(in model.ValueInfo) bool { return weights.Lookup(in.Name) != nil })
	return m, weights.Close()
}

// newDecoder makes a session of a model, and the state of sequences at their start.
func newDecoder(s *tensor.Stream, m *model.Model, batch int64, cublas string) (_ *decoder, err error) {
	d := &decoder{state: onnx.Values{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	dtype := layout.Float32
	for _, in := range m.Graph.Inputs {
		var dims []int64
		for _, n := range in.Type.Dims {
			if n.Param == "batch" {
				n.Value = batch
			}
			dims = append(dims, n.Value)
		}
		if len(dims) == 4 {
			dtype = in.Type.Elem // of a cache
		}
		x, err := tensor.New(s, in.Type.Elem, dims...)
		if err != nil {
			return nil, err
		}
		d.state[in.Name] = x
		d.into = append(d.into, onnx.Into(in.Name+".new", x))
	}
	if d.engine.kernels, err = loadKernels(s.Device(), dtype); err != nil {
		return nil, err
	}
	if d.engine.blas, err = openBLAS(s, cublas); err != nil {
		return nil, err
	}
	d.session, err = onnx.NewSession(s, m, onnx.WithOperators(&d.engine))
	return d, err
}

func (d *decoder) close() error {
	errs := []error{d.outputs.Release(), d.state.Release()}
	if d.step != nil {
		errs = append(errs, d.step.Close())
	}
	if d.session != nil {
		errs = append(errs, d.session.Close())
	}
	if d.engine.blas != nil {
		errs = append(errs, d.engine.blas.close())
	}
	return errors.Join(errs...)
}

// capture records a step, which run then replays.
func (d *decoder) capture(ctx context.Context) (err error) {
	d.step, err = d.session.Capture(ctx, d.state, d.into...)
	return err
}

// run queues a step.
func (d *decoder) run(ctx context.Context) (err error) {
	if d.step != nil {
		return d.step.Run()
	}
	before := d.outputs
	d.outputs, err = d.session.Run(ctx, d.state, d.into...)
	return errors.Join(err, before.Release())
}

// set changes the tokens or their places, in the order of steps.
func (d *decoder) set(name string, values []int64) error {
	x, err := d.state.Tensor(name)
	if err != nil {
		return err
	}
	y, err := tensor.FromSlice(x.Stream(), values, x.Shape()...)
	if err != nil {
		return err
	}
	return errors.Join(x.CopyFrom(y), y.Release())
}

// tokens waits for the last step and reads the tokens that it made.
func (d *decoder) tokens(into []int64) error {
	x, err := d.state.Tensor("token")
	if err != nil {
		return err
	}
	return x.ReadInto(into)
}
