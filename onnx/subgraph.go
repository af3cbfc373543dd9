package onnx

import (
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// maxNested is the maximum nesting depth of graphs in attributes of nodes.
const maxNested = 32

func errTooDeep() error {
	return layout.Errorf(device.ErrUnsupported, "graph", "graphs lie in nodes of each other more than %d deep", maxNested)
}

// body is a graph in an attribute of a node.
type body struct {
	attr  string
	graph *model.Graph
}

// bodiesOf returns the graphs among a node's attributes.
func bodiesOf(n *model.Node) []body {
	var all []body
	for _, a := range n.Attrs {
		switch v := a.Value.(type) {
		case *model.Graph:
			if v != nil {
				all = append(all, body{a.Name, v})
			}
		case []*model.Graph:
			for _, g := range v {
				if g != nil {
					all = append(all, body{a.Name, g})
				}
			}
		}
	}
	return all
}

// capturedBy returns the values of the enclosing graph that a node's bodies use, without
// repeats, in order of first use.
func capturedBy(n *model.Node) ([]string, error) {
	var all []string
	seen := map[string]bool{}
	for _, b := range bodiesOf(n) {
		names, err := free(b.graph, 1)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				all = append(all, name)
			}
		}
	}
	return all, nil
}

// free returns the values that a graph uses but does not make, without repeats.
func free(g *model.Graph, depth int) ([]string, error) {
	if depth > maxNested {
		return nil, errTooDeep()
	}
	made := map[string]bool{"": true} // or already recorded
	for i := range g.Inputs {
		made[g.Inputs[i].Name] = true
	}
	for i := range g.Initializers {
		made[g.Initializers[i].Name] = true
	}
	for i := range g.SparseInitializers {
		made[g.SparseInitializers[i].Values.Name] = true
	}
	for i := range g.Nodes {
		for _, out := range g.Nodes[i].Outputs {
			made[out] = true
		}
	}
	var all []string
	use := func(name string) {
		if !made[name] {
			made[name] = true
			all = append(all, name)
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for _, name := range n.Inputs {
			use(name)
		}
		for _, b := range bodiesOf(n) {
			inner, err := free(b.graph, depth+1)
			if err != nil {
				return nil, err
			}
			for _, name := range inner {
				use(name)
			}
		}
	}
	for i := range g.Outputs {
		use(g.Outputs[i].Name)
	}
	return all, nil
}

// within returns a model of a body: its inputs are the body's own inputs, followed by the
// values captured from the enclosing graph.
func within(m *model.Model, g *model.Graph, captured []string) *model.Model {
	inner, graph := *m, *g
	graph.Inputs = slices.Clone(g.Inputs)
	for _, name := range captured {
		graph.Inputs = append(graph.Inputs, model.ValueInfo{Name: name})
	}
	inner.Graph = &graph
	return &inner
}

// recordReads records the values that nodes of a graph and its nested graphs read on the
// host: shapes and axes.
func recordReads(g *model.Graph, v Opset, read map[string]bool) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if d, err := lookup(n.OpType, v); err == nil && n.Domain == "" {
			for k, name := range n.Inputs {
				if d.host>>k&1 == 1 {
					read[name] = true
				}
			}
		}
		for _, b := range bodiesOf(n) {
			recordReads(b.graph, v, read)
		}
	}
}
