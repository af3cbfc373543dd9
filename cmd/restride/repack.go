package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
	"github.com/restride/restride/tensor"
)

func newRepack() *cobra.Command {
	var r repack
	var limits limits
	cmd := &cobra.Command{
		Use:   "repack SOURCE --to FORMAT --output FILE",
		Short: "Convert quantised weights between formats, file to file",
		Long: `Convert quantised weights between formats, file to file.

SOURCE is a .safetensors or .gguf file, an index of such files, or a folder that has
one of these. What the weights are is read from config.json beside it, or from the
file itself (gguf); --from says it where neither does. Tensors that are no quantised
weights are copied. FILE comes out whole or not at all; after an interruption the
same command goes on with FILE.partial. Formats: restride formats.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			restore, err := limits.bound()
			if err != nil {
				return err
			}
			defer restore()
			return r.run(cmd.OutOrStdout(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.from, "from", "", "format of the source (default: what config.json or the file says)")
	f.StringVar(&r.to, "to", "", "format to convert to")
	f.StringVar(&r.output, "output", "", "file to write, .safetensors or .gguf")
	f.StringVar(&r.device, "device", "cpu", "device to convert on")
	f.StringVar(&r.only, "only", "", "regular expression: convert only weights whose name it matches, copy the others")
	f.Int64Var(&r.bits, "bits", 0, "bits of a code, where nothing else says it (default 4)")
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

	target  *quant.Format
	format  checkpoint.Format
	source  *checkpoint.Checkpoint
	weights []*quant.Plan
	rest    []quant.Tensor
	writer  *checkpoint.Writer
	index   map[string]int // of the writer's tensors
	stream  *tensor.Stream
}

func (r *repack) run(out io.Writer, source string) (err error) {
	start := time.Now()
	if r.target, err = quant.Lookup(r.to); err != nil {
		return err
	}
	if r.from != "" {
		if _, err := quant.Lookup(r.from); err != nil {
			return err
		}
	}
	if r.format = fileFormat(r.output); r.format == 0 {
		return layout.Errorf(layout.ErrInvalid, "repack", "--output %s: a name that ends in .safetensors or .gguf is wanted", quote.Path(r.output))
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
	if err := r.create(); err != nil {
		return err
	}
	defer r.writer.Close()
	for _, p := range r.weights {
		if err := r.convert(p); err != nil {
			return fmt.Errorf("%s: %w", quote.Plain(p.From.Name), err)
		}
	}
	for _, t := range r.rest {
		if err := r.copy(t); err != nil {
			return fmt.Errorf("%s: %w", quote.Plain(t.Name), err)
		}
	}
	if err := r.writer.Commit(); err != nil {
		return err
	}
	var bytes int64
	for _, t := range r.writer.Tensors {
		bytes += t.Size()
	}
	fmt.Fprintf(out, "%s: %d weights from %s to %s, %d tensors as they were, %s in %v\n", quote.Path(r.output), len(r.weights), r.from, r.to, len(r.rest),
		byteSize(bytes), time.Since(start).Round(time.Millisecond))
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
	for _, w := range weights {
		p, err := w.Plan(r.target)
		if err != nil {
			return fmt.Errorf("%s: %w", quote.Plain(w.Name), err)
		}
		r.weights = append(r.weights, p)
	}
	r.rest = rest
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
		params = quant.Params{Bits: 4, Group: -1}
		if r.bits != 0 {
			params.Bits = r.bits
		}
		return format, params, nil
	}
	return format, params, err
}

// fileFormat returns the format that a file's name says, or 0.
func fileFormat(name string) checkpoint.Format {
	for _, f := range []checkpoint.Format{checkpoint.Safetensors, checkpoint.GGUF} {
		if strings.HasSuffix(name, "."+f.String()) {
			return f
		}
	}
	return 0
}

// create begins the file.
func (r *repack) create() error {
	h := checkpoint.Header{Format: r.format}
	add := func(t quant.Tensor) error {
		kind, err := h.Format.Type(t.Type)
		if err != nil {
			return fmt.Errorf("%s: %w", quote.Plain(t.Name), err)
		}
		h.Tensors = append(h.Tensors, &checkpoint.Tensor{Name: t.Name, Type: kind, Dims: t.Dims})
		return nil
	}
	for _, p := range r.weights {
		for _, t := range p.To.Tensors {
			if err := add(t); err != nil {
				return err
			}
		}
	}
	for _, t := range r.rest {
		if err := add(t); err != nil {
			return err
		}
	}
	for _, f := range r.source.Files[:1] {
		for _, e := range f.Metadata {
			if _, text := e.Value.Text(); text || f.Format == h.Format {
				h.Metadata = append(h.Metadata, e)
			}
		}
	}
	source, err := r.identity()
	if err != nil {
		return err
	}
	r.writer, err = checkpoint.Create(r.output, h, source)
	if err != nil {
		return err
	}
	r.index = make(map[string]int, len(r.writer.Tensors))
	for i, t := range r.writer.Tensors {
		r.index[t.Name] = i
	}
	return nil
}

// identity names what the output depends on.
func (r *repack) identity() (string, error) {
	id := fmt.Sprintln(r.from, r.to, r.only, r.bits)
	for _, f := range r.source.Files {
		info, err := os.Stat(f.Path)
		if err != nil {
			return "", quote.Error(err)
		}
		id += fmt.Sprintln(f.Path, info.Size(), info.ModTime().UnixNano())
	}
	return id, nil
}

// convert converts a weight, unless an earlier run has.
func (r *repack) convert(p *quant.Plan) (err error) {
	done := true
	for _, t := range p.To.Tensors {
		done = done && r.writer.Done(r.index[t.Name])
	}
	if done {
		return nil
	}
	src := quant.Memory{}
	defer func() { err = firstError(err, src.Release()) }()
	for _, t := range p.From.Tensors {
		from := r.source.Lookup(t.Name)
		b, err := budget.Make[byte](budget.Process(), "the bytes of "+quote.Plain(t.Name), from.Size())
		if err != nil {
			return err
		}
		if _, err := from.ReadAt(b, 0); err != nil && err != io.EOF {
			return err
		}
		if src[t.Name], err = tensor.FromBytes(r.stream, layout.Uint8, b, from.Size()); err != nil {
			return err
		}
	}
	dst, err := p.Run(r.stream, src)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, dst.Release()) }()
	for name, t := range dst {
		b, err := t.Bytes()
		if err != nil {
			return err
		}
		if err := r.writer.WriteAt(r.index[name], b, 0); err != nil {
			return err
		}
		if err := r.writer.Finish(r.index[name]); err != nil {
			return err
		}
	}
	return nil
}

// pieceBytes is how much is copied at once.
const pieceBytes = 4 << 20

// copy copies a tensor as it is.
func (r *repack) copy(t quant.Tensor) error {
	i := r.index[t.Name]
	if r.writer.Done(i) {
		return nil
	}
	from := r.source.Lookup(t.Name)
	b := make([]byte, min(pieceBytes, from.Size()))
	for at := int64(0); at < from.Size(); at += pieceBytes {
		n, err := from.ReadAt(b, at)
		if err != nil && err != io.EOF {
			return err
		}
		if err := r.writer.WriteAt(i, b[:n], at); err != nil {
			return err
		}
	}
	return r.writer.Finish(i)
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
