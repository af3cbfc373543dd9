package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// explainModel explains a model without running it.
func (f *graphFlags) explainModel(m *model.Model) (e *onnx.Explanation, err error) {
	if len(f.inputs) > 0 {
		return nil, wrongf("--input: the model is not run: give shapes with --shape")
	}
	given := onnx.Assumptions{}
	if given.Shapes, err = parseShapes(f.shapes); err != nil {
		return nil, err
	}
	if given.Dims, err = parseDims(f.dims, append(m.Graph.Inputs[:len(m.Graph.Inputs):len(m.Graph.Inputs)], m.Graph.ValueInfo...)); err != nil {
		return nil, err
	}
	s, err := tensor.Open(f.device)
	if err != nil {
		return nil, err
	}
	e, err = onnx.Explain(s, m, given)
	return e, errors.Join(err, s.Close())
}

// writeExplanation writes a table for each graph, of all nodes or of those that copy, and the
// totals.
func writeExplanation(out io.Writer, e *onnx.Explanation, copies bool) error {
	fmt.Fprintln(out, "not run: what a run would do, as far as the model's types tell")
	nodes := e.Nodes
	if copies {
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n onnx.Explained) bool { return !costs(n.Outcome) })
	}
	for len(nodes) > 0 {
		n := slices.IndexFunc(nodes, func(n onnx.Explained) bool { return n.Graph != nodes[0].Graph })
		if n < 0 {
			n = len(nodes)
		}
		if err := writeGraph(out, nodes[:n]); err != nil {
			return err
		}
		if nodes = nodes[n:]; len(nodes) > 0 {
			fmt.Fprintln(out)
		}
	}
	t := e.Totals
	fmt.Fprintf(out, "%d nodes: %d of an engine, %d views, %d \"view unless\", %d copies, %d on the host, %d constants, %d wrong\n",
		t.Nodes, t.Foreign, t.Views, t.Unless, t.Copies, t.Host, t.Constants, t.Wrong)
	fmt.Fprintf(out, "copies: %s%s; ONNX Runtime's for the same nodes: %s%s\n",
		byteSize(t.Bytes), andUncounted(t.Uncounted), byteSize(t.Runtime), andUncounted(t.RuntimeUncounted))
	return nil
}

// writeGraph writes the table of one graph's nodes.
func writeGraph(out io.Writer, nodes []onnx.Explained) error {
	if graph := nodes[0].Graph; graph != "" {
		fmt.Fprintf(out, "in %s:\n", quote.Text(graph))
	}
	t := nodeTable("ONNX RUNTIME")
	for _, n := range nodes {
		name := fmt.Sprint(n.Index)
		if n.Name != "" {
			name += " " + quote.Plain(n.Name)
		}
		first, more := onnx.Typed{}, n.Outputs
		if len(more) > 0 {
			first, more = more[0], more[1:]
		}
		t.add(name, quote.Plain(n.Op), quote.Plain(first.Name), first.Type, string(n.Outcome), bytesText(n.Bytes), bytesText(n.Runtime), quote.Text(n.Why))
		for _, out := range more {
			t.add("", "", quote.Plain(out.Name), out.Type, "", "", "", "")
		}
	}
	return t.write(out)
}

func bytesText(n int64) string {
	if n == onnx.Unknown {
		return "?"
	}
	return fmt.Sprint(n)
}

func andUncounted(nodes int) string {
	if nodes == 0 {
		return ""
	}
	return fmt.Sprintf(" and those of %d nodes of unknown size", nodes)
}
