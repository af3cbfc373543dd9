// Package onnxruntime makes ONNX Runtime run the nodes that a session of package onnx cannot,
// those that are not layout operators, in groups as large as possible, with the layout operators
// between them. The session runs other layout operators, as views where strides allow.
//
//	engine, err := onnxruntime.New(onnxruntime.Options{Library: "/usr/lib/libonnxruntime.so"})
//	sess, err := onnx.NewSession(s, m, onnx.WithOperators(engine))
//
// On the cpu device both work on the same memory. On others the inputs of a group are
// transferred to the host, and its outputs to the device.
//
// The library is loaded at run time, without cgo.
package onnxruntime

import (
	"cmp"
	"maps"
	"slices"

	"github.com/restride/restride/adapters/onnxruntime/internal/ort"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// Options are options of New.
type Options struct {
	// Library is the path of ONNX Runtime's shared library. Without it, the system searches for
	// libonnxruntime.so (.dylib, onnxruntime.dll).
	Library string
	// Threads is the number of threads of a node; 0 means as many as there are cores. Each group
	// has threads of its own.
	Threads int
	// Config are entries of the configuration of ONNX Runtime's sessions. Without an entry
	// session.intra_op.allow_spinning, waiting threads do not spin.
	Config map[string]string
	// Providers are the execution providers, the preferred ones first.
	Providers []Provider
	// Operators are paths of libraries with custom operators.
	Operators []string
}

// Provider is one of ONNX Runtime's execution providers, such as XNNPACK.
type Provider struct {
	Name    string
	Options map[string]string
}

// session returns the options of a session.
func (o *Options) session(weights []ort.Initializer) *ort.Options {
	config := map[string]string{"session.intra_op.allow_spinning": "0"} // spinning would keep processors from other groups
	maps.Copy(config, o.Config)
	s := &ort.Options{Threads: o.Threads, Config: config, Libraries: o.Operators, Initializers: weights}
	for _, p := range o.Providers {
		s.Providers = append(s.Providers, ort.Provider(p))
	}
	return s
}

// Engine is ONNX Runtime, as an onnx.Claimer. Many sessions may use it concurrently.
type Engine struct{ options Options }

// New loads ONNX Runtime, which then stays in the process.
func New(o Options) (*Engine, error) {
	path := cmp.Or(o.Library, ort.LibraryName())
	if err := ort.Load(path); err != nil {
		return nil, layout.Errorf(device.ErrNoDevice, "onnxruntime.New", "ONNX Runtime cannot be loaded from %q: %v", path, err)
	}
	return &Engine{o}, nil
}

// Version returns the version of ONNX Runtime.
func (e *Engine) Version() string { return ort.Version() }

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
		dims := make([]int64, len(in.Type.Dims))
		for k, d := range in.Type.Dims {
			dims[k] = d.Value
		}
		operands = append(operands, operand{in.Type.Elem, dims})
	}
	for i := range g.Model.Graph.Outputs {
		outputs = append(outputs, g.Model.Graph.Outputs[i].Name)
	}
	o := e.newOperator(g.Model, inputs, outputs)
	op := o.operator(g.Stream)
	if declared {
		if _, err := o.load(operands); err != nil {
			return op, err
		}
		if g.Checked {
			o.forget()
		}
	}
	return op, nil
}
