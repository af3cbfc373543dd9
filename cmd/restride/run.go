package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func newRun() *cobra.Command {
	var flags graphFlags
	var output string
	cmd := &cobra.Command{
		Use:   "run MODEL.onnx",
		Short: "Run a model and show its outputs",
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
			for i, info := range r.session.Outputs() {
				v := r.outputs[info.Name]
				fmt.Fprintf(out, "%s = %v\n", info.Name, v)
				if output == "" {
					continue
				}
				if err := save(filepath.Join(output, fmt.Sprintf("output_%d.pb", i)), info.Name, v); err != nil {
					return err
				}
			}
			if output != "" {
				fmt.Fprintf(out, "outputs written to %s\n", output)
			}
			fmt.Fprintf(out, "%s: %s\n", r.stream.Device().Info().ID(), summary(r))
			return nil
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&output, "output", "", "folder to write output_0.pb, output_1.pb, ... to")
	return cmd
}

func save(path, name string, v onnx.Value) error {
	stored, err := onnx.StoreValue(name, v)
	if err != nil {
		return err
	}
	b, err := stored.Marshal()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o666)
}

// summary says in one line what a run did.
func summary(r *ran) string {
	var views, copies, host, constants int
	var copied, moved int64
	for _, n := range r.nodes {
		switch {
		case n.Kind == tensor.Transfer:
			constants++
		case n.Host:
			host++
		case n.Kind == tensor.View:
			views++
		default:
			copies++
			copied += n.Bytes
		}
	}
	for _, e := range r.events {
		if e.Kind == tensor.Transfer {
			moved += e.Bytes
		}
	}
	return fmt.Sprintf("%d nodes: %d views, %d copies of %s, %d on the host, %d constants; %s transferred during the run",
		len(r.nodes), views, copies, byteSize(copied), host, constants, byteSize(moved))
}
