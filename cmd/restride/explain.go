package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func newExplain() *cobra.Command {
	var flags graphFlags
	cmd := &cobra.Command{
		Use:   "explain MODEL.onnx",
		Short: "Run a model and say what each node did: view, copy or transfer, and why",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			out := cmd.OutOrStdout()
			r, err := flags.runGraph(cmd.Context(), out, args[0])
			if err != nil {
				return err
			}
			defer func() {
				if closeErr := r.close(); err == nil {
					err = closeErr
				}
			}()
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NODE\tOP\tOUTPUT\tTYPE\tVERDICT\tBYTES\tWHY")
			for _, n := range r.nodes {
				fmt.Fprintf(w, "%s\t%s\t%s\t%v%v\t%s\t%d\t%s\n", nodeName(n), n.Op, n.Output, n.Type, n.Shape, verdict(n), n.Bytes, n.Why)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			for _, e := range r.events {
				if e.Kind == tensor.Transfer {
					fmt.Fprintf(out, "transfer during the run: %s of %v%v, %d bytes\n", e.Op, e.Type, e.In.Shape(), e.Bytes)
				}
			}
			fmt.Fprintf(out, "%s: %s\n", r.stream.Device().Info().ID(), summary(r))
			return nil
		},
	}
	flags.register(cmd)
	return cmd
}

func nodeName(n onnx.NodeReport) string {
	if n.Name == "" {
		return fmt.Sprint(n.Index)
	}
	return fmt.Sprintf("%d %s", n.Index, n.Name)
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
