package main

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// colours are the colours of the verdicts, in the order of the legend.
var colours = []struct {
	outcome onnx.Outcome
	colour  string
}{
	{onnx.IsView, "#c8e6c9"}, {onnx.IsElided, "#e8f5e9"}, {onnx.ViewUnless, "#fff59d"}, {onnx.IsCopy, "#ffcc80"}, {onnx.IsTransfer, "#ef9a9a"},
	{onnx.IsHost, "#bbdefb"}, {onnx.IsConstant, "#eeeeee"}, {onnx.IsForeign, "#ffffff"}, {onnx.IsWrong, "#f48fb1"},
}

// box is a node in a picture.
type box struct {
	op, verdict, why string
	outcome          onnx.Outcome
}

// drawing is a model's graph with the results of its nodes.
type drawing struct {
	model *model.Model
	boxes map[int]box       // by node index
	types map[string]string // of values
}

func drawingOfRun(r *ran) *drawing {
	d := &drawing{r.model, map[int]box{}, map[string]string{}}
	for _, n := range r.nodes {
		if n.Graph != "" {
			continue // in a graph within a node
		}
		b := box{n.Op, verdict(n), n.Why, n.Outcome()}
		if n.Kind == tensor.Copy {
			b.verdict += "\n" + byteSize(n.Bytes)
		}
		d.boxes[n.Index] = b
		for _, m := range append([]onnx.OutputInfo{n.OutputInfo}, n.More...) {
			d.types[m.Output] = m.TypeString()
		}
	}
	return d
}

func drawingOfExplanation(m *model.Model, e *onnx.Explanation) *drawing {
	d := &drawing{m, map[int]box{}, map[string]string{}}
	for _, n := range e.Nodes {
		if n.Graph != "" {
			continue // in a graph within a node
		}
		b := box{n.Op, string(n.Outcome), n.Why, n.Outcome}
		if n.Bytes > 0 {
			b.verdict += "\n" + byteSize(n.Bytes)
		}
		d.boxes[n.Index] = b
		for _, out := range n.Outputs {
			d.types[out.Name] = out.Type
		}
	}
	return d
}

// picture draws the graph in Graphviz's language: a box per node, coloured by what it did, and an
// arrow per value, from its producer to each user.
func (d *drawing) picture() []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("digraph restride {")
	line("\trankdir=TB; node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=10]; edge [fontname=\"Helvetica\", fontsize=9];")
	from, types := map[string]string{}, d.types // the producer of each value
	plain := func(kind, name, what string) string {
		id := quoted(kind + " " + name)
		line("\t%s [label=%s, shape=ellipse, fillcolor=white];", id, quoted(quote.Plain(name)+"\n"+what))
		return id
	}
	for _, in := range d.model.Graph.Inputs {
		from[in.Name] = plain("input", in.Name, in.Type.String())
	}
	constant := func(name string, t layout.DType, dims layout.Shape) {
		if from[name] == "" { // otherwise it is the default of an input
			from[name] = plain("constant", name, t.String()+dims.String())
		}
	}
	for i := range d.model.Graph.Initializers {
		t := &d.model.Graph.Initializers[i]
		constant(t.Name, t.Type, t.Dims)
	}
	for i := range d.model.Graph.SparseInitializers {
		s := &d.model.Graph.SparseInitializers[i]
		constant(s.Values.Name, s.Values.Type, s.Dims)
	}
	for i := range d.model.Graph.Nodes {
		node := &d.model.Graph.Nodes[i]
		id := fmt.Sprintf("n%d", i)
		n, ok := d.boxes[i]
		label := quote.Plain(node.OpType)
		if ok {
			label = quote.Plain(n.op) + "\n" + n.verdict
		}
		line("\t%s [label=%s, tooltip=%s, fillcolor=%q];", id, quoted(label), quoted(n.why), colourOf(n.outcome))
		for _, out := range node.Outputs {
			if out != "" {
				from[out] = id
			}
		}
	}
	for i := range d.model.Graph.Nodes {
		for _, in := range d.model.Graph.Nodes[i].Inputs {
			if maker := from[in]; maker != "" {
				line("\t%s -> n%d [label=%s];", maker, i, quoted(types[in]))
			}
		}
	}
	for _, out := range d.model.Graph.Outputs {
		line("\t%s -> %s;", from[out.Name], plain("output", out.Name, types[out.Name]))
	}
	line("\tsubgraph cluster_legend { label=\"what nodes did\"; fontname=\"Helvetica\"; fontsize=10;")
	for _, c := range colours {
		line("\t\t%s [fillcolor=%q];", quoted(string(c.outcome)), c.colour)
	}
	line("\t}\n}")
	return b.Bytes()
}

func colourOf(outcome onnx.Outcome) string {
	for _, c := range colours {
		if c.outcome == outcome {
			return c.colour
		}
	}
	return colours[0].colour
}

// quoted formats a string in that language. Names from a file may contain anything.
func quoted(s string) string { return strconv.Quote(s) }
