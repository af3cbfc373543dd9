package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
	"github.com/restride/restride/tensor"
)

func newRepack() *cobra.Command {
	var r repack
	var limits limits
	cmd := &cobra.Command{
		Use:   "repack SOURCE --to FORMAT --output OUTPUT",
		Short: "Convert quantised weights between formats, file to file",
		Long: `Convert quantised weights between formats, file to file.

SOURCE is a .safetensors or .gguf file, an index of such files, or a folder that has
one of these. What the weights are is read from config.json beside it, or from the
file itself (gguf); --from says it where neither does. Tensors that are no quantised
weights are copied.

OUTPUT is a .safetensors or .gguf file, or a folder for a file of each that the source
has, with index and config.json. A file comes out whole or not at all; after an
interruption the same command goes on where it was. Formats: restride formats.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			restore, err := limits.bound()
			if err != nil {
				return err
			}
			defer restore()
			ctx, end := limits.begin(cmd.Context(), "repack")
			defer end()
			return r.run(ctx, cmd.OutOrStdout(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.from, "from", "", "format of the source (default: what config.json or the file says)")
	f.StringVar(&r.to, "to", "", "format to convert to")
	f.StringVar(&r.output, "output", "", "file or folder to write")
	f.StringVar(&r.device, "device", "cpu", "device to convert on")
	f.StringVar(&r.only, "only", "", "regular expression: convert only weights whose name it matches, copy the others")
	f.Int64Var(&r.bits, "bits", 0, "bits of a code, where nothing else says it (default: what shapes say, or 4)")
	limits.register(cmd, "all of it")
	for _, flag := range []string{"to", "output"} {
		_ = cmd.MarkFlagRequired(flag)
	}
	return cmd
}

func newFormats() *cobra.Command {
	return &cobra.Command{
		Use:   "formats",
		Short: "List the formats of quantised weights that repack knows",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, f := range quant.Formats() {
				fmt.Fprintf(cmd.OutOrStdout(), "%-20s %s\n", f.Name, f.About)
			}
			return nil
		},
	}
}

// repack is a conversion as the flags say it.
type repack struct {
	from, to, output, device, only string
	bits                           int64

	target *quant.Format
	source *checkpoint.Checkpoint
	files  []*outFile
	stream *tensor.Stream
}

func (r *repack) run(ctx context.Context, out io.Writer, source string) (err error) {
	start := time.Now()
	if r.target, err = quant.Lookup(r.to); err != nil {
		return err
	}
	if r.from != "" {
		if _, err := quant.Lookup(r.from); err != nil {
			return err
		}
	}
	if r.source, err = checkpoint.Open(source); err != nil {
		return err
	}
	defer r.source.Close()
	if err := r.plan(); err != nil {
		return err
	}
	if r.stream, err = tensor.Open(r.device); err != nil {
		return err
	}
	defer r.stream.Close()
	if err := r.makeFolder(); err != nil {
		return err
	}
	var total outFile
	for _, f := range r.files {
		if err := r.write(ctx, f); err != nil {
			return err
		}
		total.bytes += f.bytes
		total.weights, total.rest = append(total.weights, f.weights...), append(total.rest, f.rest...)
	}
	if err := r.describeOutput(total); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d weights from %s to %s, %d tensors as they were, %s in %v\n", quote.Path(r.output), len(total.weights), r.from, r.to, len(total.rest),
		byteSize(total.bytes), time.Since(start).Round(time.Millisecond))
	return nil
}

// plan says what becomes of every tensor.
func (r *repack) plan() error {
	format, params, err := r.describe()
	if err != nil {
		return err
	}
	match := func(string) bool { return true }
	if r.only != "" {
		e, err := regexp.Compile(r.only)
		if err != nil {
			return fmt.Errorf("--only: %w", err)
		}
		match = e.MatchString
	}
	var all []quant.Tensor
	for _, t := range r.source.Tensors {
		all = append(all, quant.Tensor{Name: t.Name, Type: t.Type.Name, Dims: t.Dims})
	}
	weights, rest, err := quant.Find(format, params, all, match)
	if err != nil {
		return err
	}
	if len(weights) == 0 {
		return layout.Errorf(layout.ErrInvalid, "repack", "%s has no weights of format %s", quote.Path(r.source.Path), format.Name)
	}
	r.lay()
	for _, w := range weights {
		p, err := w.Plan(r.target)
		if err != nil {
			return fmt.Errorf("%s: %w", quote.Plain(w.Name), err)
		}
		f := r.fileOf(w.Tensors[0])
		f.weights = append(f.weights, p)
	}
	for _, t := range rest {
		f := r.fileOf(t)
		f.rest = append(f.rest, t)
	}
	return nil
}

// describe returns what the source's weights are.
func (r *repack) describe() (*quant.Format, quant.Params, error) {
	said, params, err := quant.Describe(r.source.Config)
	switch {
	case r.from == "" && r.source.Files[0].Format == checkpoint.GGUF:
		r.from = "gguf"
	case r.from == "" && err != nil:
		return nil, params, err
	case r.from == "" && said == nil:
		return nil, params, layout.Errorf(layout.ErrInvalid, "repack", "nothing says what format the weights of %s are in: name it by --from (restride formats lists them)", quote.Path(r.source.Path))
	case r.from == "":
		r.from = said.Name
	}
	format, e := quant.Lookup(r.from)
	if e != nil {
		return nil, params, e
	}
	if said != format {
		return format, quant.Params{Bits: r.bits, Group: -1}, nil
	}
	return format, params, err
}
