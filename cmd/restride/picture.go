package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

// colours are those of the verdicts, in the order of the legend.
var colours = []struct{ verdict, colour string }{
	{"view", "#c8e6c9"}, {"elided", "#e8f5e9"}, {"copy", "#ffcc80"}, {"transfer", "#ef9a9a"},
	{"host", "#bbdefb"}, {"constant", "#eeeeee"},
}

// picture draws the graph in Graphviz's language: a box per node, coloured by
// what it did, and an arrow per value, from its maker to each user.
func picture(r *ran) []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("digraph restride {")
	line("\trankdir=TB; node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=10]; edge [fontname=\"Helvetica\", fontsize=9];")
	reports := map[int]onnx.NodeReport{}
	from := map[string]string{} // where a value comes from
	for _, n := range r.nodes {
		reports[n.Index] = n
	}
	plain := func(kind, name, what string) string {
		id := quoted(kind + " " + name)
		line("\t%s [label=%s, shape=ellipse, fillcolor=white];", id, quoted(quote.Plain(name)+"\n"+what))
		return id
	}
	for _, in := range r.model.Graph.Inputs {
		from[in.Name] = plain("input", in.Name, in.Type.String())
	}
	constant := func(name string, t layout.DType, dims layout.Shape) {
		if from[name] == "" { // else it is the default of an input
			from[name] = plain("constant", name, t.String()+dims.String())
		}
	}
	for i := range r.model.Graph.Initializers {
		t := &r.model.Graph.Initializers[i]
		constant(t.Name, t.Type, t.Dims)
	}
	for i := range r.model.Graph.SparseInitializers {
		s := &r.model.Graph.SparseInitializers[i]
		constant(s.Values.Name, s.Values.Type, s.Dims)
	}
	types := map[string]string{} // of values
	for i := range r.model.Graph.Nodes {
		node := &r.model.Graph.Nodes[i]
		id := fmt.Sprintf("n%d", i)
		n, ok := reports[i]
		label := quote.Plain(node.OpType)
		if ok {
			label = n.Op + "\n" + verdict(n)
			if n.Kind == tensor.Copy {
				label += "\n" + byteSize(n.Bytes)
			}
			for _, m := range append([]onnx.Made{n.Made}, n.More...) {
				types[m.Output] = m.TypeString()
			}
		}
		line("\t%s [label=%s, tooltip=%s, fillcolor=%q];", id, quoted(label), quoted(n.Why), colourOf(verdictKind(n)))
		for _, out := range node.Outputs {
			if out != "" {
				from[out] = id
			}
		}
	}
	for i := range r.model.Graph.Nodes {
		for _, in := range r.model.Graph.Nodes[i].Inputs {
			if maker := from[in]; maker != "" {
				line("\t%s -> n%d [label=%s];", maker, i, quoted(types[in]))
			}
		}
	}
	for _, out := range r.model.Graph.Outputs {
		line("\t%s -> %s;", from[out.Name], plain("output", out.Name, types[out.Name]))
	}
	line("\tsubgraph cluster_legend { label=\"what nodes did\"; fontname=\"Helvetica\"; fontsize=10;")
	for _, c := range colours {
		line("\t\t%s [fillcolor=%q];", quoted(c.verdict), c.colour)
	}
	line("\t}\n}")
	return b.Bytes()
}

func colourOf(verdict string) string {
	i := slices.IndexFunc(colours, func(c struct{ verdict, colour string }) bool { return c.verdict == verdict })
	return colours[max(i, 0)].colour
}

// quoted writes a string of the language. Names from a file may hold anything.
func quoted(s string) string { return strconv.Quote(s) }
