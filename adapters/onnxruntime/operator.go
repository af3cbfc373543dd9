package onnxruntime

import (
	"errors"
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// operator is nodes that ONNX Runtime runs. It loads them when the types of their inputs are
// known, which it needs and models need not declare: mostly at the first call.
type operator struct {
	engine  *Engine
	model   *model.Model
	inputs  []string // of a call; "": omitted
	outputs []string // of a call; "": not wanted
	takes   []int    // the inputs of a call that the model takes: each once

	mutex    sync.Mutex
	programs map[string]*program // by the types and ranks of inputs
	closed   bool
}

// operand is the type and shape of a tensor. Unknown extents are -1.
type operand struct {
	dtype layout.DType
	dims  []int64
}

func unknownDims(rank int) []int64 {
	dims := make([]int64, rank)
	for i := range dims {
		dims[i] = -1
	}
	return dims
}

func (e *Engine) newOperator(m *model.Model, inputs, outputs []string) *operator {
	o := &operator{engine: e, model: m, inputs: inputs, outputs: outputs, programs: map[string]*program{}}
	taken := map[string]bool{"": true}
	for i, name := range inputs {
		if !taken[name] {
			taken[name] = true
			o.takes = append(o.takes, i)
		}
	}
	return o
}

// operator returns the session's form of it.
func (o *operator) operator(s *tensor.Stream) *onnx.Operator {
	op := &onnx.Operator{Run: o.run, Types: o.types, Close: o.close}
	if !s.IsHost() {
		op.Host = onnx.All
	}
	return op
}

// run is the operator's.
func (o *operator) run(c *onnx.Call) error {
	in := make([]*tensor.Tensor, len(o.takes))
	operands := make([]operand, len(o.takes))
	for k, i := range o.takes {
		x, err := c.Tensor(i)
		if err != nil {
			return err
		}
		in[k], operands[k] = x, operand{x.DType(), x.Shape()}
		if err := x.Wait(); err != nil {
			return err
		}
	}
	p, err := o.program(operands)
	if err != nil {
		return err
	}
	return p.run(c, in, operands)
}

// types is the operator's.
func (o *operator) types(made []onnx.OutputInfo) ([]onnx.OutputInfo, error) {
	operands := make([]operand, len(o.takes))
	for k, i := range o.takes {
		operands[k] = operand{made[i].Type, made[i].Shape}
	}
	outputs, err := o.describe(operands)
	if err != nil {
		return nil, err
	}
	out := make([]onnx.OutputInfo, len(o.outputs))
	for _, d := range outputs {
		if !d.ranked || hasUnknown(d.dims) {
			return nil, layout.Errorf(device.ErrUnsupported, "Session.Plan", "ONNX Runtime does not say of what shape output %q is", o.outputs[d.index])
		}
		out[d.index] = onnx.OutputInfo{Type: d.dtype, Shape: d.dims}
	}
	return out, nil
}

func hasUnknown(dims []int64) bool {
	for _, n := range dims {
		if n < 0 {
			return true
		}
	}
	return false
}

// program returns the program for inputs of certain types and ranks.
func (o *operator) program(in []operand) (*program, error) {
	var key []byte
	for _, x := range in {
		key = append(key, byte(x.dtype), byte(len(x.dims)))
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.closed {
		return nil, layout.Named("onnxruntime", device.ErrClosed)
	}
	if p := o.programs[string(key)]; p != nil {
		return p, nil
	}
	ranks := make([]operand, len(in))
	for i, x := range in {
		ranks[i] = operand{x.dtype, unknownDims(len(x.dims))}
	}
	p, err := o.compile(ranks)
	if err == nil {
		o.programs[string(key)] = p
	}
	return p, err
}

func (o *operator) close() error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.closed = true
	var errs []error
	for _, p := range o.programs {
		errs = append(errs, p.session.Destroy())
	}
	clear(o.programs)
	return errors.Join(errs...)
}
