// Package onnxruntime makes ONNX Runtime run the nodes that a session of package onnx cannot,
// those that are not layout operators, in groups as large as possible. The session runs layout
// operators between them, as views where strides allow.
//
//	engine, err := onnxruntime.New(onnxruntime.Options{Library: "/usr/lib/libonnxruntime.so"})
//	sess, err := onnx.NewSession(s, m, onnx.WithOperators(engine))
//
// On the cpu device both work on the same memory. On others the inputs of a group are
// transferred to the host, and its outputs to the device.
//
// It is an adapter to github.com/yalue/onnxruntime_go, and needs cgo, too.
package onnxruntime

import (
	"slices"

	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	ort "github.com/yalue/onnxruntime_go"
)

// Options are options of New.
type Options struct {
	// Library is the path of ONNX Runtime's shared library. Without it, the system searches for
	// libonnxruntime.so (.dylib, onnxruntime.dll).
	Library string
	// Session, if it is not nil, can change the options of each of ONNX Runtime's sessions:
	// threads, providers, custom operators. There is a session for each group, with its own
	// threads, which wait without spinning by default.
	Session func(*ort.SessionOptions) error
}

// Engine is ONNX Runtime, as an onnx.Provider and onnx.Grouper. Many sessions may use it
// concurrently.
type Engine struct{ options Options }

// New loads ONNX Runtime, which then stays in the process. If the program has initialised
// it through its own calls of onnxruntime_go, that is used.
func New(o Options) (*Engine, error) {
	if err := load(o.Library); err != nil {
		return nil, err
	}
	return &Engine{o}, nil
}

// domains are the domains of ONNX Runtime's operators.
var domains = []string{"", "ai.onnx.ml", "com.microsoft"}

// Operator is onnx.Provider's: ONNX Runtime has the operators of its domains. Functions of the
// model in other domains are left to the session, which inlines them.
func (e *Engine) Operator(n onnx.Node) (*onnx.Operator, error) {
	if !slices.Contains(domains, n.Domain) {
		return nil, nil
	}
	m := *n.Model
	m.Graph = &model.Graph{Name: n.Op, Nodes: []model.Node{{
		Name: n.Name, OpType: n.Op, Domain: n.Domain, Overload: n.Overload, Attrs: n.Attrs, Inputs: n.Inputs, Outputs: n.Outputs,
	}}}
	return e.newOperator(&m, slices.Concat(n.Inputs, n.Captured), n.Outputs).operator(n.Stream), nil
}

// Group is onnx.Grouper's. If the model declares the types of the group's inputs, a refusal of
// ONNX Runtime is an error here, otherwise of the first run.
func (e *Engine) Group(g onnx.Group) (*onnx.Operator, error) {
	var inputs, outputs []string
	operands := []operand{}
	declared := true
	for i := range g.Model.Graph.Inputs {
		in := &g.Model.Graph.Inputs[i]
		inputs = append(inputs, in.Name)
		declared = declared && in.Type.Kind == model.TensorType && in.Type.Elem.Valid() && in.Type.HasShape
		operands = append(operands, operand{in.Type.Elem, unknownDims(len(in.Type.Dims))})
	}
	for i := range g.Model.Graph.Outputs {
		outputs = append(outputs, g.Model.Graph.Outputs[i].Name)
	}
	o := e.newOperator(g.Model, inputs, outputs)
	op := o.operator(g.Stream)
	if declared {
		if _, err := o.program(operands); err != nil {
			return op, err
		}
	}
	return op, nil
}
