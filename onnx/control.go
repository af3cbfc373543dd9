package onnx

import (
	"errors"
	"fmt"
	"slices"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// controls prepare the operators whose graphs the session runs itself, unless an engine runs
// the node. Each adds the graphs to the unit and sets its kernel.
var controls map[string]func(*unit) error

func init() {
	controls = map[string]func(*unit) error{
		"If":          prepareIf,
		"Loop":        prepareLoop,
		"Scan":        prepareScan,
		"SequenceMap": prepareSequenceMap,
	}
}

// control is an operator that runs graphs of its node.
type control struct {
	graphs []*subgraph
	onHost []bool // per output of the node: it is made on the host
}

// forget drops the graphs, once they are compiled: a session does not keep the model.
func (c *control) forget() {
	for _, b := range c.graphs {
		b.graph = nil
	}
}

// subgraph is a graph in an attribute of a node. The inputs of its program are its own,
// followed by values that it captures from the graph around it.
type subgraph struct {
	*program
	attr  string
	path  string
	graph *model.Graph
	from  []int // per input of its own: the node's input that it is or is cut from; -1: a number or condition that the operator makes on the host
	back  []int // per output: the input that it becomes in the next iteration; -1: none
	to    []int // per output: the node's output that it is or is part of; -1: a condition, which the host reads
	takes []int // per captured value: the node's input
	// wanted are the outputs that are read on the host.
	wanted []bool
	// inner compiles model, the graph, for an explanation.
	inner *compiler
	model *model.Model
}

// subgraph adds the graph in an attribute to a unit.
func (u *unit) subgraph(attr string, inputs, outputs int) (*subgraph, error) {
	a, _ := u.node.Attrs.Get(attr)
	g, ok := a.Value.(*model.Graph)
	switch {
	case !ok || g == nil:
		return nil, u.d.invalid("attribute %s is missing", attr)
	case len(g.Inputs) > inputs:
		g = withoutDefaults(g)
	}
	switch {
	case len(g.Inputs) != inputs:
		return nil, u.d.invalid("%s has %d inputs; the node needs %d", attr, len(g.Inputs), inputs)
	case len(g.Outputs) != outputs:
		return nil, u.d.invalid("%s has %d outputs; the node needs %d", attr, len(g.Outputs), outputs)
	}
	b := &subgraph{attr: attr, path: u.String() + "." + attr, graph: g}
	b.from, b.back, b.to, b.wanted = make([]int, inputs), make([]int, outputs), make([]int, outputs), make([]bool, outputs)
	for j := range outputs {
		b.back[j], b.to[j] = -1, j
	}
	if u.control == nil {
		u.control, u.d.controls = &control{}, true
	}
	u.control.graphs = append(u.control.graphs, b)
	return b, nil
}

// withoutDefaults returns a graph whose initializers are not inputs, which they must be before
// version 4 of the format.
func withoutDefaults(g *model.Graph) *model.Graph {
	has := map[string]bool{}
	for i := range g.Initializers {
		has[g.Initializers[i].Name] = true
	}
	for i := range g.SparseInitializers {
		has[g.SparseInitializers[i].Values.Name] = true
	}
	own := *g
	own.Inputs = slices.DeleteFunc(slices.Clone(g.Inputs), func(in model.ValueInfo) bool { return has[in.Name] })
	return &own
}

// given returns the number of the node's inputs, without those that its graphs capture.
func (u *unit) given() int { return len(u.in) - len(u.captured) }

// activation is the use of a subgraph in one call of its node.
type activation struct {
	of    *subgraph
	c     *call
	r     *run
	hook  func(NodeReport)
	given Values
}

// enter prepares a subgraph for one or more runs within a call.
func (b *subgraph) enter(c *call) *activation {
	a := &activation{of: b, c: c, r: b.take(), given: Values{}}
	for i, k := range b.takes {
		a.given[b.inputs[len(b.from)+i].name] = c.in[k]
	}
	hook := c.hook
	if hook != nil {
		a.hook = func(n NodeReport) {
			n.Graph = joined(b.path, n.Graph)
			(*c.hook)(n)
		}
		hook = &a.hook
	}
	a.r.begin(c.ctx, c.session, c.far, hook)
	a.r.call.captures, a.r.call.profile, a.r.call.noText, a.r.nested = c.captures, c.profile, c.noText, true
	a.r.call.standIns = c.standIns
	for _, constant := range c.session.constants[b.program] {
		a.r.values[constant.slot] = c.constant(constant)
	}
	return a
}

func (a *activation) leave() { a.of.put(a.r) }

// run runs the subgraph on values for its own inputs, which the caller keeps. The outputs
// belong to the caller.
func (a *activation) run(own ...Value) ([]Value, error) {
	for i, v := range own {
		a.given[a.of.inputs[i].name] = v
	}
	made, err := a.of.program.run(a.r, a.given, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.of.attr, err)
	}
	out := make([]Value, len(a.of.outputs))
	for j := range out {
		out[j] = made[a.of.outputs[j].name]
	}
	return out, nil
}

// condition returns the value of a condition, which has one element.
func (c *call) condition(v Value) (bool, error) {
	x, ok := v.(*tensor.Tensor)
	if !ok || x == nil || x.DType() != layout.Bool || x.Count() != 1 {
		return false, c.d.invalid("the condition is %s; it must be one bool", describe(v))
	}
	if err := c.await(x); err != nil {
		return false, err
	}
	held, err := tensor.Values[bool](x)
	return err == nil && held[0], err
}

// releaseAll releases values and clears the list.
func releaseAll(list []Value) error {
	var errs []error
	for i, v := range list {
		errs = release(errs, v)
		list[i] = nil
	}
	return errors.Join(errs...)
}
