package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func newExplain() *cobra.Command {
	return newGraphCommand("explain", "Run a model and say what each node did: view, copy or transfer, and why", explain)
}

func explain(out io.Writer, r *ran) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tOP\tOUTPUT\tTYPE\tVERDICT\tBYTES\tWHY")
	for _, n := range r.nodes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", nodeName(n), n.Op, model.Printable(n.Output), n.TypeString(), verdict(n), n.Bytes, n.Why)
	}
	return w.Flush()
}

func nodeName(n onnx.NodeReport) string {
	if n.Name == "" {
		return fmt.Sprint(n.Index)
	}
	return fmt.Sprintf("%d %s", n.Index, model.Printable(n.Name))
}

// verdict is a node's verdict in a word or two.
func verdict(n onnx.NodeReport) string {
	switch {
	case n.Kind == tensor.Transfer:
		return "constant"
	case n.Host:
		return "host"
	case n.Kernel != "":
		return n.Kind.String() + " (" + n.Kernel + ")"
	}
	return n.Kind.String()
}
