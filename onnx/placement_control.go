package onnx

import (
	"errors"
	"fmt"
	"slices"

	"github.com/restride/restride/onnx/model"
)

// fewHanded is the largest number of elements of a constant that graphs in nodes get copies
// of: with them, shapes and indices are known in these graphs.
const fewHanded = 1 << 10

// maxProbed is the maximum number of compilations that find places of values. After these the
// values that graphs make count as not on the host.
const maxProbed = 1 << 12

// bornInside is bornOnHost for an output of a node with graphs.
func (c *compiler) bornInside(u *unit, name string) bool {
	k := slices.Index(u.outs, name)
	for _, b := range u.control.graphs {
		if j := slices.Index(b.to, k); j < 0 || !c.bornIn(u, b, b.graph.Outputs[j].Name) {
			return false
		}
	}
	return true
}

// bornIn is bornOnHost for a value in a graph of a node.
func (c *compiler) bornIn(u *unit, b *subgraph, name string) bool {
	for range b.graph.Nodes {
		made := slices.IndexFunc(b.graph.Nodes, func(n model.Node) bool { return slices.Contains(n.Outputs, name) })
		if made < 0 {
			break
		}
		n := &b.graph.Nodes[made]
		d, err := lookup(n.OpType, Opset(u.model.Opsets[""]))
		switch {
		case err != nil || n.Domain != "":
			return false
		case d.constant != nil, d.arithmetic, d.shapeOnly, d.generates:
			return true
		case len(n.Inputs) == 0:
			return false
		}
		name = n.Inputs[0]
	}
	if _, inside := b.graph.Initializer(name); inside {
		return true
	}
	return c.bornAround(u, b, name)
}

// bornAround is bornOnHost for an input of a graph of a node, its own or captured.
func (c *compiler) bornAround(u *unit, b *subgraph, name string) bool {
	for i, k := range b.from {
		if b.graph.Inputs[i].Name == name {
			return k < 0 || c.bornOnHost(u.in[k])
		}
	}
	return slices.Contains(u.captured, name) && c.bornOnHost(name)
}

// wantControl finds the values that the graphs of a node read on the host, given which of its
// outputs are read there.
func (c *compiler) wantControl(u *unit) error {
	for _, b := range u.control.graphs {
		for j, k := range b.to {
			b.wanted[j] = k < 0 || k < len(u.outs) && c.readOnHost(u.outs[k])
		}
		for more := true; more; {
			inner, m, err := c.inner(u, b, false)
			if err != nil {
				return fmt.Errorf("%s: %w", b.attr, err)
			}
			found, err := c.probe(b, inner, m)
			if err != nil {
				return fmt.Errorf("%s: %w", b.attr, err)
			}
			more = b.want(u, found.reads)
		}
	}
	return nil
}

// want records which inputs of the graph are read on the host. It reports whether that holds
// for more of its outputs, which become these inputs in the next iteration.
func (b *subgraph) want(u *unit, reads []bool) (more bool) {
	for i, read := range reads {
		switch {
		case !read:
		case i >= len(b.from):
			u.single |= 1 << b.takes[i-len(b.from)]
		case b.from[i] >= 0:
			u.single |= 1 << b.from[i]
		}
	}
	for j, i := range b.back {
		if i >= 0 && reads[i] && !b.wanted[j] {
			b.wanted[j], more = true, true
		}
	}
	return more
}

// placeControl compiles the graphs of a node for the places of the values that they get.
func (c *compiler) placeControl(u *unit) error {
	u.control.onHost = make([]bool, len(u.outs))
	for i := range u.control.onHost {
		u.control.onHost[i] = true
	}
	for _, b := range u.control.graphs {
		inner, m, err := c.inner(u, b, true)
		if err == nil {
			err = c.settle(u, b, inner, m)
		}
		if err == nil && !c.probes {
			err = c.compileGraph(b, inner, m)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", b.attr, err)
		}
	}
	return nil
}

// compileGraph compiles a graph of a node, or keeps what an explanation needs to do so.
func (c *compiler) compileGraph(b *subgraph, inner *compiler, m *model.Model) error {
	if c.explains {
		b.inner, b.model = inner, m
		return nil
	}
	b.program = &program{stream: c.p.stream}
	c.p.bodies = append(c.p.bodies, b.program) // closed with c.p, even after errors
	err := inner.compile(b.program, m)
	var lack *MissingError
	if !errors.As(err, &lack) {
		return err
	}
	for i, op := range lack.Ops {
		c.lacking = append(c.lacking, slices.Repeat([]string{op}, lack.Nodes[i])...)
	}
	return nil
}

// inner returns a compiler and a model for a graph of a node. placed: it is known which values
// around it are on the host.
func (c *compiler) inner(u *unit, b *subgraph, placed bool) (*compiler, *model.Model, error) {
	captured, err := free(b.graph, c.depth+1)
	if err != nil {
		return nil, nil, err
	}
	inner := &compiler{explains: c.explains, provider: c.provider, depth: c.depth + 1, path: joined(c.path, b.path), shared: c.shared, hosted: map[string]bool{}, wanted: map[string]bool{}}
	inner.around = func(name string) bool { return c.bornAround(u, b, name) }
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
		inner.hosted[name] = placed && c.onHost(name)
		b.takes = append(b.takes, k)
		rest = append(rest, name)
	}
	for i, k := range b.from {
		inner.hosted[b.graph.Inputs[i].Name] = k < 0 || k < 64 && placed && c.onHost(u.in[k])
	}
	for j, wanted := range b.wanted {
		inner.wanted[b.graph.Outputs[j].Name] = wanted
	}
	m := within(u.model, b.graph, rest)
	m.Graph.Initializers = slices.Concat(m.Graph.Initializers, copies.Initializers)
	m.Graph.SparseInitializers = slices.Concat(m.Graph.SparseInitializers, copies.SparseInitializers)
	return inner, m, nil
}

// settle finds out which outputs of a graph are made on the host. A value that goes from
// iteration to iteration is on the host if it is at first, and after each iteration.
func (c *compiler) settle(u *unit, b *subgraph, inner *compiler, m *model.Model) error {
	var made []bool
	for more := true; more; {
		found, err := c.probe(b, inner, m)
		if err != nil {
			return err
		}
		made, more = found.made, false
		for j, i := range b.back {
			if i < 0 || made[j] {
				continue
			}
			name := b.graph.Inputs[i].Name
			more = more || inner.hosted[name]
			inner.hosted[name] = false
		}
	}
	for j, k := range b.to {
		if k >= 0 && k < len(u.outs) && !made[j] {
			u.control.onHost[k] = false
		}
	}
	for i, k := range b.from {
		if k >= 0 && inner.hosted[b.graph.Inputs[i].Name] && c.handable(u.in[k]) {
			u.single |= 1 << k
		}
	}
	return nil
}

// findings are where the values of a graph are, given the places of its inputs and where its
// outputs are read.
type findings struct {
	made  []bool // per output: made on the host
	reads []bool // per input: read on the host
}

// probe compiles a graph as far as it needs to find the places of values. It keeps the findings:
// each graph would otherwise be compiled again for every graph around it.
func (c *compiler) probe(b *subgraph, inner *compiler, m *model.Model) (*findings, error) {
	key := probed{b.graph, placesOf(m.Graph.Inputs, inner.hosted), placesOf(m.Graph.Outputs, inner.wanted)}
	if found := c.shared.probed[key]; found != nil {
		return found, nil
	}
	found := &findings{make([]bool, len(m.Graph.Outputs)), make([]bool, len(m.Graph.Inputs))}
	if len(c.shared.probed) >= maxProbed {
		return found, nil
	}
	probe := &compiler{probes: true, explains: c.explains, depth: inner.depth, shared: c.shared, hosted: inner.hosted, wanted: inner.wanted, around: inner.around}
	if err := probe.compile(&program{stream: c.p.stream}, m); err != nil {
		return nil, err
	}
	for j := range found.made {
		found.made[j] = probe.onHost(m.Graph.Outputs[j].Name)
	}
	for i := range found.reads {
		found.reads[i] = probe.readOnHost(m.Graph.Inputs[i].Name)
	}
	c.shared.probed[key] = found
	return found, nil
}

// probed identifies findings: a graph, and its inputs and outputs that are on the host.
type probed struct {
	graph           *model.Graph
	inputs, outputs string
}

// placesOf lists values that are on the host.
func placesOf(values []model.ValueInfo, onHost map[string]bool) string {
	places := make([]byte, len(values))
	for i := range values {
		places[i] = '-'
		if onHost[values[i].Name] {
			places[i] = 'h'
		}
	}
	return string(places)
}
