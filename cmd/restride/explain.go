package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func newExplain() *cobra.Command {
	var dot string
	var asJSON, static, copies bool
	draw := func(out io.Writer, d *drawing) error {
		if dot == "" {
			return nil
		}
		if err := file.Write(dot, d.picture()); err != nil {
			return err
		}
		if !asJSON {
			fmt.Fprintf(out, "picture written to %s; dot -Tsvg draws it\n", quote.Path(dot))
		}
		return nil
	}
	flags := &graphFlags{}
	flags.otherwise = func(out io.Writer, m *model.Model) error {
		e, err := flags.explainModel(m)
		if err != nil {
			return err
		}
		if asJSON {
			err = printJSON(out, e)
		} else {
			err = writeExplanation(out, e, copies)
		}
		if err != nil {
			return err
		}
		return draw(out, drawingOfExplanation(m, e))
	}
	cmd := newGraphCommand("explain", "Show what each node of a model does: view, copy, host or transfer, and why", true, flags, func(out io.Writer, r *ran) error {
		if err := explain(out, r, copies); err != nil {
			return err
		}
		return draw(out, drawingOfRun(r))
	})
	operation := &caseFlags{}
	operation.register(cmd)
	cmd.Args = operation.check
	cmd.Long = `Runs a model and says what each node did. A model with operators that restride does
not have is explained without being run: such operators are opaque, and their outputs
are contiguous, of types that follow from the inputs, or that the model declares or
--shape and --dim say.

With --case, lists the kernels that a device considered for an operation, in the order in
which they are tried: the one chosen, estimated costs, and why others were refused. The
operation is written as for restride verify; it is not run, and needs no memory:

  restride explain --case copy/uint8/4096x8191/dst=8191,1@0/src=8192,1@3 --device cpu
  restride explain --case copy/float/4096x4096/dst=4096,1@0/src=1,4096@0 --target 132`
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if operation.asked(cmd) {
			return operation.explainCase(cmd, flags.device, asJSON)
		}
		flags.static = static || asJSON
		return run(cmd, args)
	}
	cmd.Flags().StringVar(&dot, "dot", "", "`FILE` to write a picture of the graph to, in Graphviz's language, coloured by verdict")
	cmd.Flags().BoolVar(&static, "static", false, "do not run the model")
	cmd.Flags().BoolVar(&copies, "copies", false, "list only the nodes that copy, may copy or are wrong")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, and do not run the model")
	return cmd
}

func explain(out io.Writer, r *ran, copies bool) error {
	if err := explainPlan(out, r); err != nil {
		return err
	}
	var copied int64
	for _, n := range r.nodes {
		if n.Kind == tensor.Copy {
			copied += n.Bytes
		}
	}
	t := nodeTable("SHARE")
	for _, n := range r.nodes {
		if copies && !costs(n.Outcome()) {
			continue
		}
		t.add(nodeName(n), quote.Plain(n.Op), quote.Plain(n.Output), n.TypeString(), verdict(n), fmt.Sprint(n.Bytes), share(n, copied), quote.Text(n.Why))
		for _, more := range n.More {
			t.add("", "", quote.Plain(more.Output), more.TypeString(), "", "", "", "")
		}
	}
	return t.write(out)
}

// costs reports whether a node of an outcome is listed by --copies.
func costs(o onnx.Outcome) bool {
	return o == onnx.IsCopy || o == onnx.IsTransfer || o == onnx.ViewUnless || o == onnx.IsWrong
}

// nodeTable is a table of nodes, with one additional column.
func nodeTable(more string) *table {
	const node, op, output, typ, why = 0, 1, 2, 3, 7
	return &table{
		head:     []string{"NODE", "OP", "OUTPUT", "TYPE", "VERDICT", "BYTES", more, "WHY"},
		flexible: []int{node, op, output, typ},
		below:    [][]int{{why}, {output, typ, why}},
	}
}

// explainPlan prints how much memory the run was planned to need.
func explainPlan(out io.Writer, r *ran) error {
	shapes, known := map[string]layout.Shape{}, onnx.Values{}
	defer func() { _ = known.Release() }()
	for name, v := range r.inputs {
		x, ok := v.(*tensor.Tensor)
		if !ok {
			return nil // only graphs of tensors are planned
		}
		shapes[name] = x.Shape()
		if t := x.DType(); (t == layout.Int64 || t == layout.Int32) && x.Count() <= 64 { // perhaps a shape
			host, err := x.To(tensor.Host())
			if err != nil {
				return err
			}
			known[name] = host
		}
	}
	p, err := r.session.Plan(shapes, known)
	if err != nil {
		fmt.Fprintf(out, "no plan: %v\n", quote.Error(err))
		return nil
	}
	fmt.Fprintf(out, "plan: inputs %s, constants %s, and at most %s at once beside them\n", byteSize(p.Inputs), byteSize(p.Constants), byteSize(p.Peak))
	return nil
}

func nodeName(n onnx.NodeReport) string {
	if n.Graph != "" {
		within := quote.Text(n.Graph) + ": "
		n.Graph = ""
		return within + nodeName(n)
	}
	if n.Name == "" {
		return fmt.Sprint(n.Index)
	}
	return fmt.Sprintf("%d %s", n.Index, quote.Plain(n.Name))
}

// verdict is a node's verdict in a word or two.
func verdict(n onnx.NodeReport) string {
	if kind := n.Outcome(); kind != onnx.IsCopy || n.Class == "" {
		return string(kind)
	}
	return "copy (" + n.How() + ")"
}

// share is a node's share of all copied bytes.
func share(n onnx.NodeReport, copied int64) string {
	if n.Kind != tensor.Copy || copied == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 100*float64(n.Bytes)/float64(copied))
}
