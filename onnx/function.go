package onnx

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// maxInlined is the maximum number of nodes that functions of a model may become, counted in
// each compilation of a graph: functions that call each other grow exponentially, and so do
// graphs that callers hand on.
const maxInlined = 1 << 18

// callee is the function or operator that a node calls.
type callee struct{ domain, name, overload string }

func calleeOf(domain, name, overload string) callee {
	if domain == "ai.onnx" { // an alias of ""
		domain = ""
	}
	return callee{domain, name, overload}
}

// functionsOf returns the model's functions.
func functionsOf(m *model.Model) map[callee]*model.Function {
	functions := make(map[callee]*model.Function, len(m.Functions))
	for i := range m.Functions {
		f := &m.Functions[i]
		functions[calleeOf(f.Domain, f.Name, f.Overload)] = f
	}
	return functions
}

// inline replaces a node that calls a function of the model with the function's nodes.
func (c *compiler) inline(u *unit, f *model.Function) error {
	if u.depth++; u.depth > maxNested {
		return layout.Errorf(device.ErrUnsupported, "graph", "functions call each other more than %d deep, or themselves", maxNested)
	}
	if err := c.countInlined(f.Nodes); err != nil {
		return err
	}
	in, err := c.inlining(u, f)
	if err != nil {
		return err
	}
	of := c.importing(u.model, f)
	for i := range f.Nodes {
		n, err := in.node(&f.Nodes[i], in.local, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", nodeLabel(i, f.Nodes[i].OpType, f.Nodes[i].Name), err)
		}
		if err := c.resolveNode(&unit{node: &n, index: i, path: in.path, model: of, depth: u.depth}); err != nil {
			return err
		}
	}
	for i := range in.passed {
		if err := c.resolveNode(&unit{node: &in.passed[i], index: len(f.Nodes) + i, path: in.path, model: newest, depth: u.depth}); err != nil {
			return err
		}
	}
	for i := range f.ValueInfo {
		if to, ok := in.local.find(f.ValueInfo[i].Name); ok && c.declared != nil {
			c.declared[to] = f.ValueInfo[i].Type
		}
	}
	return nil
}

// newest is a model of the newest opset, for nodes that no file has.
var newest = &model.Model{Opsets: map[string]int64{"": int64(MaxOpset)}}

// countInlined charges memory for nodes of functions, and limits their number.
func (c *compiler) countInlined(nodes []model.Node) error {
	if c.shared.inlined += 1 + nodesIn(nodes, maxInlined); c.shared.inlined > maxInlined {
		return layout.Errorf(device.ErrUnsupported, "graph", "functions of the model become more than %d nodes", maxInlined)
	}
	return budget.TakeFor(budget.Process(), c.p, "the session", sizeOfSession(&model.Graph{Nodes: nodes}))
}

// nodesIn counts nodes, with those of graphs in them. It stops above a maximum.
func nodesIn(nodes []model.Node, most int) int {
	n := len(nodes)
	for i := range nodes {
		for _, b := range bodiesOf(&nodes[i]) {
			if n <= most {
				n += nodesIn(b.graph.Nodes, most-n)
			}
		}
	}
	return n
}

// importing returns the model with the opsets that a function imports. A domain that the
// function does not import has the model's version.
func (c *compiler) importing(m *model.Model, f *model.Function) *model.Model {
	opsets := maps.Clone(m.Opsets)
	for domain, v := range f.Opsets {
		opsets[calleeOf(domain, "", "").domain] = v
	}
	switch {
	case maps.Equal(opsets, m.Opsets):
		return m
	case maps.Equal(opsets, c.model.Opsets):
		return c.model
	}
	of := *m
	of.Opsets = opsets
	return &of
}

// inlining copies the nodes of a function for one call.
type inlining struct {
	c     *compiler
	path  string // the node that calls it
	name  string // the function's, for errors
	attrs Attrs  // by the names that the function's nodes refer to
	taken map[string]bool
	local *scope
	// passed are nodes for outputs that no node of the function makes under that name.
	passed []model.Node
}

// scope maps the names of values in a function, or in a graph in it, to names in the graph
// that calls the function.
type scope struct {
	names  map[string]string
	around *scope
}

func (s *scope) find(name string) (string, bool) {
	for ; s != nil; s = s.around {
		if to, ok := s.names[name]; ok {
			return to, true
		}
	}
	return "", false
}

// inlining relates the values and attributes of a function to those of a node that calls it.
func (c *compiler) inlining(u *unit, f *model.Function) (*inlining, error) {
	in := &inlining{c: c, path: u.String(), name: operatorName(u.node), taken: c.allNames(), local: &scope{names: map[string]string{"": ""}}}
	given := trimAbsent(u.node.Inputs)
	if n := len(given); n > len(f.Inputs) {
		return nil, invalidGraph("%d inputs are given; %s takes %d", n, in.name, len(f.Inputs))
	}
	if n := len(u.node.Outputs); n > len(f.Outputs) {
		return nil, invalidGraph("it has %d outputs; %s makes %d", n, in.name, len(f.Outputs))
	}
	local := in.local.names
	for i, formal := range f.Inputs {
		if _, twice := local[formal]; twice {
			return nil, invalidGraph("input %d of %s has no name of its own", i, in.name)
		}
		if local[formal] = ""; i < len(given) {
			local[formal] = given[i]
		}
	}
	for i, wanted := range u.node.Outputs {
		formal := f.Outputs[i]
		as, named := local[formal]
		switch {
		case wanted == "":
		case !named:
			local[formal] = wanted
		case as == "":
			return nil, invalidGraph("output %d of %s is an input that is left out", i, in.name)
		default:
			in.passed = append(in.passed, model.NewNode(opIdentity, []string{as}, []string{wanted}))
		}
	}
	for i := range f.Nodes {
		for _, out := range f.Nodes[i].Outputs {
			in.own(out, in.local)
		}
	}
	return in, in.bindAttrs(u.node.Attrs, f)
}

// bindAttrs finds the values of the attributes that the function's nodes refer to.
func (in *inlining) bindAttrs(given Attrs, f *model.Function) error {
	used := map[string]bool{}
	for _, attr := range f.Attrs {
		used[attr] = true
	}
	for _, a := range f.Defaults {
		used[a.Name] = true
	}
	if err := references(f.Nodes, used, 0); err != nil {
		return err
	}
	for i, a := range given {
		if _, twice := given[:i].Get(a.Name); twice {
			return invalidGraph("attribute %s is given twice", quote.Name(a.Name))
		}
		if !used[a.Name] {
			return invalidGraph("%s has no attribute %s", in.name, quote.Name(a.Name))
		}
	}
	in.attrs = slices.Concat(given, f.Defaults) // the first of a name counts
	return nil
}

// references records the attributes of the function that nodes refer to.
func references(nodes []model.Node, used map[string]bool, depth int) error {
	if depth > maxNested {
		return errTooDeep()
	}
	for i := range nodes {
		for _, a := range nodes[i].Attrs {
			if a.Ref != "" {
				used[a.Ref] = true
			}
		}
		for _, b := range bodiesOf(&nodes[i]) {
			if err := references(b.graph.Nodes, used, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// node copies a node of the function, with the graph's names and the caller's attributes.
func (in *inlining) node(n *model.Node, local *scope, depth int) (model.Node, error) {
	m := *n
	m.Inputs, m.Outputs, m.Attrs = in.list(n.Inputs, local), in.list(n.Outputs, local), nil
	for _, a := range n.Attrs {
		passed := a.Ref != ""
		a, given, err := in.attr(a)
		switch v := a.Value.(type) {
		case *model.Graph:
			if v != nil && err == nil && !passed {
				a.Value, err = in.graph(v, local, depth+1)
			}
		case []*model.Graph:
			if passed {
				break
			}
			copies := make([]*model.Graph, len(v))
			for i, g := range v {
				if g != nil && err == nil {
					copies[i], err = in.graph(g, local, depth+1)
				}
			}
			a.Value = copies
		}
		if err != nil {
			return m, err
		}
		if given {
			m.Attrs = append(m.Attrs, a)
		}
	}
	return m, nil
}

// attr returns an attribute with the caller's value, if it refers to one. An attribute that
// refers to one that the caller omits is omitted.
func (in *inlining) attr(a Attr) (_ Attr, given bool, err error) {
	if a.Ref == "" {
		return a, true, nil
	}
	v, given := in.attrs.Get(a.Ref)
	if given && a.RefKind != "" && a.RefKind != v.Kind() {
		err = invalidGraph("attribute %s of %s is of kind %s; it must be of kind %s", quote.Name(a.Ref), in.name, v.Kind(), a.RefKind)
	}
	v.Name = a.Name
	if err == nil {
		// Graphs of the caller keep the caller's names.
		for _, b := range bodiesOf(&model.Node{Attrs: Attrs{v}}) {
			err = errors.Join(err, in.c.countInlined(b.graph.Nodes))
		}
	}
	return v, given, err
}

// list returns the graph's names of values.
func (in *inlining) list(names []string, local *scope) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = in.rename(name, local)
	}
	return out
}

// rename returns the graph's name of a value. Values of the function get names of their own.
// So do names that nothing in the function makes: a function captures nothing.
func (in *inlining) rename(name string, local *scope) string {
	if to, ok := local.find(name); ok {
		return to
	}
	return in.declare(name, local)
}

// declare gives a value a name of its own in the graph.
func (in *inlining) declare(name string, local *scope) string {
	to := in.path + "." + name
	for in.taken[to] {
		to += "'"
	}
	in.taken[to] = true
	local.names[name] = to
	return to
}

// graph copies a graph in an attribute. Its own values get new names, too: the graph around
// the call may use theirs.
func (in *inlining) graph(g *model.Graph, around *scope, depth int) (*model.Graph, error) {
	if depth > maxNested {
		return nil, errTooDeep()
	}
	local := &scope{names: map[string]string{"": ""}, around: around}
	values := func(list []model.ValueInfo, rename func(string, *scope) string) []model.ValueInfo {
		list = slices.Clone(list)
		for i := range list {
			list[i].Name = rename(list[i].Name, local)
		}
		return list
	}
	m := *g
	m.Inputs = values(g.Inputs, in.declare)
	m.Initializers, m.SparseInitializers = slices.Clone(g.Initializers), slices.Clone(g.SparseInitializers)
	for i := range m.Initializers {
		m.Initializers[i].Name = in.own(m.Initializers[i].Name, local)
	}
	for i := range m.SparseInitializers {
		m.SparseInitializers[i].Values.Name = in.own(m.SparseInitializers[i].Values.Name, local)
	}
	for i := range g.Nodes {
		for _, out := range g.Nodes[i].Outputs {
			in.own(out, local)
		}
	}
	m.Nodes = make([]model.Node, len(g.Nodes))
	for i := range g.Nodes {
		var err error
		if m.Nodes[i], err = in.node(&g.Nodes[i], local, depth); err != nil {
			return nil, err
		}
	}
	m.Outputs, m.ValueInfo = values(g.Outputs, in.rename), values(g.ValueInfo, in.rename)
	return &m, nil
}

// own is declare for a value of a graph that may have been declared: the default of an input.
func (in *inlining) own(name string, local *scope) string {
	if to, ok := local.names[name]; ok {
		return to
	}
	return in.declare(name, local)
}

// allNames returns the names in the graph and in graphs in its nodes.
func (c *compiler) allNames() map[string]bool {
	if c.taken != nil {
		return c.taken
	}
	c.taken = map[string]bool{}
	add := func(list ...string) {
		for _, name := range list {
			c.taken[name] = true
		}
	}
	var walk func(g *model.Graph, depth int)
	walk = func(g *model.Graph, depth int) {
		if depth > maxNested {
			return // the compiler refuses it
		}
		add(slices.Concat(namesOf(g.Inputs), namesOf(g.Outputs))...)
		for i := range g.Initializers {
			add(g.Initializers[i].Name)
		}
		for i := range g.SparseInitializers {
			add(g.SparseInitializers[i].Values.Name)
		}
		for i := range g.Nodes {
			add(slices.Concat(g.Nodes[i].Inputs, g.Nodes[i].Outputs)...)
			for _, b := range bodiesOf(&g.Nodes[i]) {
				walk(b.graph, depth+1)
			}
		}
	}
	walk(c.graph, 0)
	return c.taken
}
