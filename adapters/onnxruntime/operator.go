package onnxruntime

import (
	"slices"
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// operator is nodes that ONNX Runtime runs. It loads them when the types of their inputs are
// known, which it needs and models need not declare: otherwise at the first call.
type operator struct {
	engine  *Engine
	inputs  []string // of a call; "": omitted
	outputs []string // of a call; "": not wanted
	takes   []int    // the inputs of a call that the model takes: each once

	mutex     sync.Mutex
	model     *model.Model
	light     bool                // without large constants: no other program can be made
	forgotten []model.ValueInfo   // the large constants, which are inputs then
	programs  map[string]*program // by the types and ranks of inputs
	closed    bool
}

// operand is the type and shape of a tensor. Unknown extents are -1.
type operand struct {
	dtype layout.DType
	dims  []int64
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
	o.mutex.Lock()
	defer o.mutex.Unlock()
	infos, err := o.describe(operands)
	if err != nil {
		return nil, err
	}
	out := make([]onnx.OutputInfo, len(o.outputs))
	k := 0
	for i, name := range o.outputs {
		if name == "" {
			continue
		}
		d := infos[k]
		if k++; !d.Ranked || slices.Min(append(d.Dims, 0)) < 0 {
			return nil, layout.Errorf(device.ErrUnsupported, "Session.Plan", "ONNX Runtime does not say of what shape output %q is", name)
		}
		out[i] = onnx.OutputInfo{Type: d.Type, Shape: d.Dims}
	}
	return out, nil
}

// program returns the program for inputs of certain types and ranks.
func (o *operator) program(in []operand) (*program, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.closed {
		return nil, layout.Named("onnxruntime", device.ErrClosed)
	}
	if p := o.programs[keyOf(in)]; p != nil {
		return p, nil
	}
	if o.light {
		return nil, layout.Errorf(device.ErrInvalid, "onnxruntime", "the inputs are not of the types that the model declares")
	}
	ranks := make([]operand, len(in))
	for i, x := range in {
		ranks[i] = operand{x.dtype, slices.Repeat([]int64{-1}, len(x.dims))}
	}
	return o.load(ranks)
}

// load makes a program for inputs of certain types. The caller holds the mutex.
func (o *operator) load(in []operand) (*program, error) {
	p, err := o.compile(in)
	if err == nil {
		o.programs[keyOf(in)] = p
	}
	return p, err
}

// keyOf names types and ranks.
func keyOf(in []operand) string {
	var key []byte
	for _, x := range in {
		key = append(key, byte(x.dtype), byte(len(x.dims)))
	}
	return string(key)
}

// forget gives up the large constants, which ONNX Runtime holds as long as it needs them.
func (o *operator) forget() {
	m, g := *o.model, *o.model.Graph
	m.Graph = &g
	m.Graph.Inputs = nil
	withoutWeights(&m)
	o.model, o.light, o.forgotten = &m, true, g.Inputs
}

func (o *operator) close() error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.closed = true
	for _, p := range o.programs {
		p.session.Close()
	}
	clear(o.programs)
	return nil
}
