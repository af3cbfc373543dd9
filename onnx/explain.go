package onnx

import (
	"errors"
	"fmt"
	"maps"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/dry"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// An Explanation says what a session would do with each node of a model. The session need
// not be able to run the model.
type Explanation struct {
	Nodes  []Explained `json:"nodes"`
	Totals Totals      `json:"totals"`
}

// Outcome says how a session handles a node.
type Outcome string

const (
	IsView     Outcome = "view"        // nothing moves
	IsCopy     Outcome = "copy"        // elements are written on the device
	ViewUnless Outcome = "view unless" // Why says what it depends on
	IsElided   Outcome = "elided"      // not made: its user writes it into its own output
	IsHost     Outcome = "host"        // computed on the host: shapes
	IsConstant Outcome = "constant"    // loaded with the session
	IsTransfer Outcome = "transfer"    // elements move between host and device
	IsForeign  Outcome = "foreign"     // run by an engine: its outputs are contiguous
	IsWrong    Outcome = "wrong"       // violates a rule of its operator
)

// Unknown stands for an unknown number of bytes.
const Unknown = -1

// Explained is the outcome of one node.
type Explained struct {
	// Graph is empty for the model's graph. For nested graphs it is the path of nodes and
	// attributes, "node 3 (If).then_branch", and for the nodes of a function of the model the
	// node that calls it, "node 3 (Heads)".
	Graph   string   `json:"graph,omitempty"`
	Index   int      `json:"index"` // in the graph's list of nodes
	Name    string   `json:"name,omitempty"`
	Op      string   `json:"op"` // "Reshape-14"
	Inputs  []string `json:"inputs,omitempty"`
	Outputs []Typed  `json:"outputs"`
	Outcome Outcome  `json:"outcome"`
	Why     string   `json:"why,omitempty"`
	// Bytes is the number of bytes copied on the device.
	Bytes int64 `json:"bytes"`
	// Runtime is the number of bytes that ONNX Runtime's kernel of this operator copies.
	Runtime int64 `json:"onnx_runtime_bytes"`
}

// Typed is a value and its type as far as it is known: "float[batch,3,?]".
type Typed struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type"`
}

// Totals are sums over an explanation. They count each node of each graph once, however
// often it runs.
type Totals struct {
	Nodes     int `json:"nodes"`
	Foreign   int `json:"foreign"`
	Views     int `json:"views"` // including elided nodes
	Copies    int `json:"copies"`
	Unless    int `json:"view_unless"`
	Host      int `json:"host"`
	Constants int `json:"constants"`
	Wrong     int `json:"wrong"`
	// Bytes is the sum over nodes whose bytes are known; Uncounted is the number of the
	// other nodes. Runtime and RuntimeUncounted are the same for ONNX Runtime.
	Bytes            int64 `json:"bytes"`
	Uncounted        int   `json:"uncounted"`
	Runtime          int64 `json:"onnx_runtime_bytes"`
	RuntimeUncounted int   `json:"onnx_runtime_uncounted"`
}

func (t *Totals) add(n *Explained) {
	t.Nodes++
	switch n.Outcome {
	case IsForeign:
		t.Foreign++
	case IsView, IsElided:
		t.Views++
	case ViewUnless:
		t.Unless++
	case IsHost:
		t.Host++
	case IsConstant:
		t.Constants++
	case IsWrong:
		t.Wrong++
	default:
		t.Copies++
	}
	count := func(bytes int64, sum *int64, uncounted *int) {
		if bytes == Unknown {
			*uncounted++
		} else {
			*sum += bytes
		}
	}
	count(n.Bytes, &t.Bytes, &t.Uncounted)
	count(n.Runtime, &t.Runtime, &t.RuntimeUncounted)
}

// Assumptions complete what a model declares.
type Assumptions struct {
	Shapes map[string]layout.Shape // of inputs and other values
	Dims   map[string]int64        // values of symbolic extents in the model
}

// Explain says what a session on the stream's device would do with each node, without work
// or memory there. It accepts any model with a consistent graph. Unknown operators are
// opaque: their outputs are contiguous and have the types declared by given and the model's
// value_info, or that follow from those of the inputs. If an extent remains unknown, the
// outcome is the operator's general one. Graphs in attributes of nodes
// (If, Loop, Scan) are explained too, and functions of the model. With an engine
// (WithOperators), nodes that the session would leave to it are foreign, with the reason.
func Explain(s *tensor.Stream, m *model.Model, given Assumptions, options ...Option) (*Explanation, error) {
	const op = "Explain"
	switch {
	case s == nil:
		return nil, layout.Errorf(device.ErrInvalid, op, "the stream is nil")
	case m == nil || m.Graph == nil:
		return nil, layout.Errorf(device.ErrInvalid, op, "the model has no graph")
	}
	on, err := tensor.NewStream(dry.Open(s.Device(), s.Queue()))
	if err != nil {
		return nil, err
	}
	e := &explainer{model: m, on: on, shapes: given.Shapes, dims: maps.Clone(given.Dims), out: &Explanation{}, elements: map[*tensor.Tensor]*model.Tensor{}}
	if e.dims == nil {
		e.dims = map[string]int64{}
	}
	if err := e.checkGiven(op); err != nil {
		return nil, err
	}
	c := &compiler{explains: true}
	c.configure(options)
	_, err = e.graph(&explained{model: m, own: len(m.Graph.Inputs)}, c, nil, nil)
	if err = errors.Join(err, e.close()); err != nil {
		return nil, err
	}
	for i := range e.out.Nodes {
		e.out.Totals.add(&e.out.Nodes[i])
	}
	return e.out, nil
}

// explainer walks the graphs of a model.
type explainer struct {
	model  *model.Model
	on     *tensor.Stream // a dry device
	shapes map[string]layout.Shape
	dims   map[string]int64 // by name
	out    *Explanation
	call   call
	made   []Value
	opened []*program
	// elements are those of constants, which the dry device does not have.
	elements map[*tensor.Tensor]*model.Tensor
}

// checkGiven checks the given shapes against the inputs, and records the values that they
// imply for symbolic extents.
func (e *explainer) checkGiven(op string) error {
	known := e.names()
	for name, shape := range e.shapes {
		if _, err := shape.Count(); err != nil {
			return fmt.Errorf("%s: value %s: %w", op, quote.Name(name), err)
		}
		if !known[name] {
			return layout.Errorf(device.ErrInvalid, op, "the model has no value %s", quote.Name(name))
		}
	}
	found := map[string]int64{}
	for i := range e.model.Graph.Inputs {
		in := &e.model.Graph.Inputs[i]
		shape, ok := e.shapes[in.Name]
		if !ok {
			continue
		}
		if !fits(&in.Type, shape) {
			return layout.Errorf(device.ErrInvalid, op, "input %s cannot be %v; the graph declares %v", quote.Name(in.Name), shape, in.Type)
		}
		for k, d := range in.Type.Dims {
			n, before := found[d.Param]
			if found[d.Param] = shape[k]; before && n != shape[k] {
				found[d.Param] = Unknown // real models use one name for different extents
			}
		}
	}
	for name, n := range found {
		if _, given := e.dims[name]; !given && name != "" && n != Unknown {
			e.dims[name] = n
		}
	}
	return nil
}

// names returns the names of values in the model's graph.
func (e *explainer) names() map[string]bool {
	known := map[string]bool{}
	for _, in := range e.model.Graph.Inputs {
		known[in.Name] = true
	}
	for i := range e.model.Graph.Nodes {
		for _, out := range e.model.Graph.Nodes[i].Outputs {
			known[out] = true
		}
	}
	return known
}

// hold keeps a value until the explanation ends.
func (e *explainer) hold(v Value) Value {
	if !absent(v) {
		e.made = append(e.made, v)
	}
	return v
}

func (e *explainer) close() error {
	var errs []error
	for _, v := range e.made {
		errs = release(errs, v)
	}
	for _, s := range e.opened {
		errs = append(errs, s.close())
	}
	return errors.Join(append(errs, e.on.Close())...)
}

// note adds a node to the explanation.
func (e *explainer) note(n Explained) error {
	const size = 1 << 10 // bytes, approximately
	if err := budget.TakeFor(budget.Process(), e.out, "the explanation", size+int64(len(n.Why))); err != nil {
		return err
	}
	e.out.Nodes = append(e.out.Nodes, n)
	return nil
}
