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

// fewHanded is the largest number of elements of a constant that graphs in nodes get copies
// of: with them, shapes and indices are known in these graphs.
const fewHanded = 1 << 10

// maxProbed is the maximum number of compilations that find places of values, after which
// none that a loop carries is on the host: those of loops in loops multiply.
const maxProbed = 1 << 10

// control is an operator that runs graphs of its node.
type control struct {
	graphs []*subgraph
	onHost []bool // per output of the node: it is made on the host
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
	b.from, b.back, b.to = make([]int, inputs), make([]int, outputs), make([]int, outputs)
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

// placeControl compiles the graphs of a node for the places of the values that they get.
func (c *compiler) placeControl(u *unit) error {
	u.control.onHost = make([]bool, len(u.outs))
	for i := range u.control.onHost {
		u.control.onHost[i] = true
	}
	for _, b := range u.control.graphs {
		inner, m, err := c.inner(u, b)
		if err != nil {
			return fmt.Errorf("%s: %w", b.attr, err)
		}
		made, err := c.settle(b, inner, m)
		if err != nil {
			return fmt.Errorf("%s: %w", b.attr, err)
		}
		for j, k := range b.to {
			if k >= 0 && k < len(u.outs) && !made[j] {
				u.control.onHost[k] = false
			}
		}
		for i, k := range b.from {
			if name := b.graph.Inputs[i].Name; k >= 0 && inner.hosted[name] && c.handable(u.in[k]) {
				u.single |= 1 << k
			}
		}
		switch {
		case c.probes:
			continue
		case c.explains:
			b.inner, b.model = inner, m
			continue
		}
		b.program = &program{stream: c.p.stream}
		c.p.bodies = append(c.p.bodies, b.program) // closed with c.p, even after errors
		var lack *MissingError
		switch err := inner.compile(b.program, m); {
		case errors.As(err, &lack):
			for i, op := range lack.Ops {
				c.lacking = append(c.lacking, slices.Repeat([]string{op}, lack.Nodes[i])...)
			}
		case err != nil:
			return fmt.Errorf("%s: %w", b.attr, err)
		}
	}
	return nil
}

// inner returns a compiler and a model for a graph of a node.
func (c *compiler) inner(u *unit, b *subgraph) (*compiler, *model.Model, error) {
	captured, err := free(b.graph, c.depth+1)
	if err != nil {
		return nil, nil, err
	}
	inner := &compiler{explains: c.explains, provider: c.provider, depth: c.depth + 1, path: joined(c.path, b.path), inlined: c.inlined, probed: c.probed, hosted: map[string]bool{}, wanted: map[string]bool{}}
	constants := c.constants()
	var copies model.Graph
	var rest []string
	b.takes = nil
	for _, name := range captured {
		k := u.given() + slices.Index(u.captured, name)
		if k < 64 && c.handable(name) {
			u.handed |= 1 << k
			switch t := constants[name].(type) {
			case *model.Tensor:
				copied := *t
				copied.Name = name
				copies.Initializers = append(copies.Initializers, copied)
			case *model.SparseTensor:
				copies.SparseInitializers = append(copies.SparseInitializers, *t)
			}
			continue
		}
		inner.hosted[name] = c.onHost(name)
		b.takes = append(b.takes, k)
		rest = append(rest, name)
	}
	for i, k := range b.from {
		inner.hosted[b.graph.Inputs[i].Name] = k < 0 || k < 64 && c.onHost(u.in[k])
	}
	for j, k := range b.to {
		onHost := func(use use) bool { return use.side() == onHost }
		inner.wanted[b.graph.Outputs[j].Name] = k < 0 || k < len(u.outs) && slices.ContainsFunc(c.uses[u.outs[k]], onHost)
	}
	m := within(u.model, b.graph, rest)
	m.Graph.Initializers = slices.Concat(m.Graph.Initializers, copies.Initializers)
	m.Graph.SparseInitializers = slices.Concat(m.Graph.SparseInitializers, copies.SparseInitializers)
	return inner, m, nil
}

// settle finds out which outputs of a graph are made on the host. A value that goes from
// iteration to iteration is on the host if it is at first, and after each iteration.
func (c *compiler) settle(b *subgraph, inner *compiler, m *model.Model) ([]bool, error) {
	drop := func(unless []bool) (dropped bool) {
		for j, i := range b.back {
			if i < 0 || unless != nil && unless[j] {
				continue
			}
			name := b.graph.Inputs[i].Name
			dropped = dropped || inner.hosted[name]
			inner.hosted[name] = false
		}
		return dropped
	}
	for tries := 0; ; tries++ {
		if *c.probed++; *c.probed > maxProbed {
			drop(nil)
		}
		probe := &compiler{probes: true, explains: c.explains, depth: inner.depth, inlined: c.inlined, probed: c.probed, hosted: inner.hosted, wanted: inner.wanted}
		if err := probe.compile(&program{stream: c.p.stream}, m); err != nil {
			return nil, err
		}
		made := make([]bool, len(b.graph.Outputs))
		for j := range made {
			made[j] = probe.onHost(b.graph.Outputs[j].Name)
		}
		if !drop(made) {
			return made, nil
		}
		if tries == 1 {
			drop(nil)
		}
	}
}

// activation is the use of a subgraph in one call of its node.
type activation struct {
	of    *subgraph
	c     *call
	r     *run
	hook  func(NodeReport)
	given Values
}

// enter prepares a subgraph for one or more runs within a call.
func (b *subgraph) enter(c *call) (*activation, error) {
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
	a.r.call.captures, a.r.call.profile, a.r.nested = c.captures, c.profile, true
	for _, constant := range c.session.constants[b.program] {
		x := constant.value
		if c.dry() && x.Stream() != tensor.Host() {
			var err error
			if x, err = tensor.Empty(c.far, x.DType(), x.Shape()...); err != nil {
				a.leave()
				return nil, err
			}
			c.temps = append(c.temps, x)
		}
		a.r.values[constant.slot] = x
	}
	return a, nil
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
