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
	token   *tensor.Tensor   // of these
	into    []onnx.RunOption // a step writes its outputs over them
	step    *onnx.Captured   // replayed by run; nil: run plans each step
	outputs onnx.Values      // of the last step
}

// load reads PATH.onnx. Inputs with the names of tensors in PATH.safetensors become constants.
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

// newDecoder begins a sequence with each token. It must be closed, also after an error.
func newDecoder(s *tensor.Stream, path, cublas string, tokens []int64) (*decoder, error) {
	d := &decoder{state: onnx.Values{}}
	m, err := load(path)
	if err != nil {
		return d, err
	}
	dtype := layout.Float32
	for _, in := range m.Graph.Inputs {
		dims := []int64{int64(len(tokens))}
		for _, n := range in.Type.Dims[min(1, len(in.Type.Dims)):] {
			dims = append(dims, n.Value)
		}
		x, err := tensor.New(s, in.Type.Elem, dims...)
		if err != nil {
			return d, err
		}
		d.state[in.Name] = x
		d.into = append(d.into, onnx.Into(in.Name+".new", x))
		if len(dims) == 4 {
			dtype = in.Type.Elem // of a cache
		}
	}
	if err = d.begin(tokens); err == nil {
		d.engine.kernels, err = loadKernels(s.Device(), dtype)
	}
	if err == nil {
		d.engine.blas, err = openBLAS(s, cublas)
	}
	if err == nil {
		d.session, err = onnx.NewSession(s, m, onnx.WithOperators(&d.engine))
	}
	return d, err
}

// begin changes the tokens that the next step begins with.
func (d *decoder) begin(tokens []int64) (err error) {
	if d.token, err = d.state.Tensor("token"); err != nil {
		return err
	}
	x, err := tensor.FromSlice(d.token.Stream(), tokens, d.token.Shape()...)
	if err != nil {
		return err
	}
	return errors.Join(d.token.CopyFrom(x), x.Release())
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

// run queues a step.
func (d *decoder) run(ctx context.Context) (err error) {
	if d.step != nil {
		return d.step.Run()
	}
	before := d.outputs
	d.outputs, err = d.session.Run(ctx, d.state, d.into...)
	return errors.Join(err, before.Release())
}
