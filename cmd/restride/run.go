package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func newRun() *cobra.Command {
	var output string
	flags := &graphFlags{}
	cmd := newGraphCommand("run", "Run a model and show its outputs", false, flags, func(out io.Writer, r *ran) error {
		if output != "" {
			if err := os.MkdirAll(output, 0o777); err != nil {
				return quote.Error(err)
			}
		}
		for i, info := range r.session.Outputs() {
			v := r.outputs[info.Name]
			text, err := onnx.Format(v)
			if err != nil {
				return fmt.Errorf("output %s: %w", quote.Name(info.Name), err)
			}
			fmt.Fprintf(out, "%s = %s\n", quote.Plain(info.Name), text)
			if output == "" {
				continue
			}
			if err := onnx.SaveValue(filepath.Join(output, fmt.Sprintf("output_%d.pb", i)), info.Name, v); err != nil {
				return err
			}
		}
		if output != "" && len(r.outputs) > 0 {
			fmt.Fprintf(out, "outputs written to %s\n", quote.Path(output))
		}
		return nil
	})
	cmd.Flags().StringVar(&output, "output", "", "`FOLDER` to write output_0.pb, output_1.pb, ... to")
	cmd.Flags().StringVar(&flags.profile, "profile", "", "`FILE` to write a profile of the run to, in Chrome's trace format, which ui.perfetto.dev shows: times of phases and nodes on the host and the device")
	return cmd
}

// work summarises what the nodes of a run did.
type work struct {
	nodes, views, copies, host, constants int
	copied, moved                         int64
}

func (w *work) add(n onnx.NodeReport) {
	w.nodes++
	w.moved += n.Read + n.Sent
	switch {
	case n.Kind == tensor.Transfer:
		w.constants++
	case n.Host:
		w.host++
	case n.Kind == tensor.View:
		w.views++
	default:
		w.copies++
		w.copied += n.Bytes
	}
}

func (w work) String() string {
	return fmt.Sprintf("%d nodes: %d views, %d copies of %s, %d on the host, %d constants; %s transferred during the run",
		w.nodes, w.views, w.copies, byteSize(w.copied), w.host, w.constants, byteSize(w.moved))
}
