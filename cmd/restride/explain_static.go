package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

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

// writeExplanation writes a table for each graph, and the totals.
func writeExplanation(out io.Writer, e *onnx.Explanation) error {
	fmt.Fprintln(out, "not run: what a run would do, as far as the model's types tell")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	const head = "NODE\tOP\tOUTPUT\tTYPE\tVERDICT\tBYTES\tONNX RUNTIME\tWHY"
	graph := ""
	for i, n := range e.Nodes {
		if i == 0 || n.Graph != graph {
			if i > 0 {
				fmt.Fprintln(w)
			}
			if graph = n.Graph; graph != "" {
				fmt.Fprintf(w, "in %s:\n", quote.Text(graph))
			}
			fmt.Fprintln(w, head)
		}
		name := fmt.Sprint(n.Index)
		if n.Name != "" {
			name += " " + quote.Plain(n.Name)
		}
		first := onnx.Typed{}
		if len(n.Outputs) > 0 {
			first = n.Outputs[0]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, quote.Plain(n.Op), quote.Plain(first.Name), first.Type, n.Outcome, bytesText(n.Bytes), bytesText(n.Runtime), quote.Text(n.Why))
		for k, more := range n.Outputs {
			if k > 0 {
				fmt.Fprintf(w, "\t\t%s\t%s\t\t\t\t\n", quote.Plain(more.Name), more.Type)
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	t := e.Totals
	fmt.Fprintf(out, "%d nodes: %d of an engine, %d views, %d \"view unless\", %d copies, %d on the host, %d constants, %d wrong\n",
		t.Nodes, t.Foreign, t.Views, t.Unless, t.Copies, t.Host, t.Constants, t.Wrong)
	fmt.Fprintf(out, "copies: %s%s; ONNX Runtime's for the same nodes: %s%s\n",
		byteSize(t.Bytes), andUncounted(t.Uncounted), byteSize(t.Runtime), andUncounted(t.RuntimeUncounted))
	return nil
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
