package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/order"
	"github.com/restride/restride/tensor"
)

var weightFile = operand{"FILE", "a .safetensors or .gguf file"}

func newReorder() *cobra.Command {
	var r reorder
	var limits limits
	cmd := &cobra.Command{
		Use:   "reorder FILE",
		Short: "Change the order of the elements of tensors in a file",
		Long: `Write FILE again with some tensors in another order of their elements.

An order lists digits of the indices, outermost first. Axes are letters, commas separate
the axes of the tensor in the file. With rows n and columns k,

  n, k                  is row-major
  k/8, n k%8            has a row for each 8 k: for all n, these 8 k
  n/16, k/4, n%16 k%4   has tiles of 16 rows and 4 columns

docs/orders.md explains them. The other tensors and the metadata stay as they are.`,
		Example: `  restride reorder w.safetensors --tensor 'q_proj' --from 'n, k' --to 'k/8, n k%8' --output tiles.safetensors`,
		Args:    takes(weightFile, false, "tensor", "from", "to", "output"),

		ValidArgsFunction: once(files("safetensors", "gguf")),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			restore, err := limits.bound()
			if err != nil {
				return err
			}
			defer restore()
			ctx, end := limits.begin(cmd.Context(), "reorder")
			defer end()
			return r.run(ctx, args[0], cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.Var(patternFlag(&r.names), "tensor", "regular expression for the names of the tensors to change")
	f.Var(orderFlag(&r.fromText), "from", "order of these tensors in FILE")
	f.Var(orderFlag(&r.toText), "to", "order to write them in")
	f.StringArrayVar(&r.extents, "extent", nil, "extent of an axis, as `n=100`, where it does not follow from the tensor's shape")
	f.StringVar(&r.output, "output", "", "`FILE` to write")
	f.StringVar(&r.device, "device", "cpu", "`DEVICE` to change the order on")
	limits.register(cmd, "the whole command")
	return cmd
}

// orderFlag is an order of elements.
func orderFlag(text *string) *checked {
	return &checked{text, "ORDER", func(word string) error {
		_, err := order.Parse(word)
		return err
	}}
}

// reorder is a run of the command.
type reorder struct {
	names, fromText, toText, output, device string
	extents                                 []string

	from, to order.Order
	ext      order.Extents // nil: of the shape
	file     *checkpoint.File
	changed  map[string]order.Extents // tensors to change, by their names
}

func (r *reorder) run(ctx context.Context, path string, out io.Writer) (err error) {
	if r.from, err = order.Parse(r.fromText); err == nil {
		r.to, err = order.Parse(r.toText)
	}
	if err == nil {
		err = r.parseExtents()
	}
	if err != nil {
		return wrong(err)
	}
	if r.file, err = checkpoint.OpenFile(path); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.file.Close()) }()
	if have, err := os.Stat(path); err == nil {
		if at, err := os.Stat(r.output); err == nil && os.SameFile(have, at) {
			return wrongf("--output %s is the file that is read", quote.Path(r.output))
		}
	}
	header, err := r.header()
	if err != nil {
		return err
	}
	s, err := tensor.Open(r.device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	// No later run continues the file: its source is this run.
	w, err := checkpoint.Create(r.output, header, strconv.FormatInt(time.Now().UnixNano(), 10))
	if err != nil {
		return err
	}
	for i, t := range w.Tensors {
		if err = context.Cause(ctx); err == nil {
			err = r.write(s, w, i)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("tensor %s: %w", quote.Name(t.Name), err), w.Close(), os.Remove(r.output+checkpoint.Partial))
		}
	}
	if err := errors.Join(w.Commit(), w.Close()); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d of %d tensors from %s to %s\n", quote.Path(r.output), len(r.changed), len(w.Tensors), r.from, r.to)
	return nil
}

// parseExtents reads the flags of extents.
func (r *reorder) parseExtents() error {
	for _, text := range r.extents {
		axis, number, _ := strings.Cut(text, "=")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || len(axis) != 1 {
			return fmt.Errorf("--extent %s: it must be like n=100", quote.Text(text))
		}
		if r.ext == nil {
			r.ext = order.Extents{}
		}
		r.ext[axis[0]] = n
	}
	return nil
}

// header returns the header of the output, and selects the tensors to change.
func (r *reorder) header() (checkpoint.Header, error) {
	match := regexp.MustCompile(r.names) // the flag has checked it
	h := checkpoint.Header{Format: r.file.Format, Metadata: r.file.Metadata}
	r.changed = map[string]order.Extents{}
	for _, t := range r.file.Tensors {
		as := *t
		if match.MatchString(t.Name) {
			if err := r.change(&as); err != nil {
				return h, fmt.Errorf("tensor %s: %w", quote.Name(t.Name), err)
			}
		}
		h.Tensors = append(h.Tensors, &as)
	}
	if len(r.changed) == 0 {
		return h, wrongf("--tensor %s: no tensor has such a name; restride inspect lists them", quote.Text(r.names))
	}
	return h, h.Check()
}

// change gives a tensor the shape that it has in the other order.
func (r *reorder) change(t *checkpoint.Tensor) (err error) {
	if strings.HasPrefix(t.Type.Name, unknownPrefix) {
		return layout.Errorf(device.ErrUnsupported, "reorder", "its %v is not known", t.Type)
	}
	if t.Type.DType == layout.Invalid {
		return layout.Errorf(device.ErrUnsupported, "reorder", "its %v is in blocks: restride repack converts weights", t.Type)
	}
	ext := r.ext
	if ext == nil {
		if ext, err = r.from.Extents(t.Dims); err != nil {
			return err
		}
	}
	r.changed[t.Name] = ext
	have, err := r.from.Shape(ext)
	if err != nil {
		return err
	}
	if !have.Equal(t.Dims) {
		return layout.Errorf(device.ErrInvalid, "reorder", "in the order %s its shape would be %v, and it is %v", r.from, have, layout.Shape(t.Dims))
	}
	t.Dims, err = r.to.Shape(ext)
	return err
}

// write writes tensor i of the output.
func (r *reorder) write(s *tensor.Stream, w *checkpoint.Writer, i int) error {
	src := r.file.Lookup(w.Tensors[i].Name)
	at := &writerAt{w, i, 0}
	ext, changed := r.changed[src.Name]
	if !changed {
		_, err := io.Copy(at, io.NewSectionReader(src, 0, src.Size()))
		return errors.Join(err, w.Finish(i))
	}
	x, err := tensor.FromReaderAt(s, src.Type.DType, src, 0, src.Dims...)
	if err != nil {
		return err
	}
	y, err := order.Convert(x, r.from, r.to, ext)
	if err == nil {
		_, err = y.WriteTo(at)
	}
	if err = errors.Join(err, y.Release(), x.Release()); err != nil {
		return err
	}
	return w.Finish(i)
}

// writerAt writes the bytes of tensor i one after the other.
type writerAt struct {
	*checkpoint.Writer
	i   int
	off int64
}

func (w *writerAt) Write(p []byte) (int, error) {
	if err := w.WriteAt(w.i, p, w.off); err != nil {
		return 0, err
	}
	w.off += int64(len(p))
	return len(p), nil
}
