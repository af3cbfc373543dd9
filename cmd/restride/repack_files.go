package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
	"github.com/restride/restride/tensor"
)

// outFile is a file to be written.
type outFile struct {
	path    string
	format  checkpoint.Format
	weights []*quant.Plan
	rest    []quant.Tensor // as they are in the source
	names   []string       // of its tensors, once they are written
	bytes   int64          // of these
}

// lay names the output's files: the one that --output is, or one of each that the source
// has, in the folder that it is.
func (r *repack) lay() {
	if format := fileFormat(r.output); format != 0 {
		r.files = []*outFile{{path: r.output, format: format}}
		return
	}
	format := checkpoint.Safetensors
	if r.to == "gguf" {
		format = checkpoint.GGUF
	}
	for _, f := range r.source.Files {
		name := filepath.Base(f.Path)
		name = strings.TrimSuffix(name, filepath.Ext(name)) + "." + format.String()
		r.files = append(r.files, &outFile{path: filepath.Join(r.output, name), format: format})
	}
}

// makeFolder makes the output's folder, if it is one.
func (r *repack) makeFolder() error {
	if r.files[0].path == r.output {
		return nil
	}
	if err := os.Mkdir(r.output, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return quote.Error(err)
	}
	return nil
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

// fileOf returns the file for what a tensor of the source becomes.
func (r *repack) fileOf(t quant.Tensor) *outFile {
	if len(r.files) > 1 {
		from := r.source.Lookup(t.Name).File()
		for i, f := range r.source.Files {
			if f == from {
				return r.files[i]
			}
		}
	}
	return r.files[0]
}

// sourceKey is the metadata that says what a file of a folder was made from.
const sourceKey = "restride.source"

// header returns what the file is to hold.
func (r *repack) header(f *outFile, source string) (checkpoint.Header, error) {
	h := checkpoint.Header{Format: f.format}
	add := func(t quant.Tensor) error {
		kind, err := h.Format.Type(t.Type)
		if err != nil {
			return fmt.Errorf("%s: %w", quote.Plain(t.Name), err)
		}
		h.Tensors = append(h.Tensors, &checkpoint.Tensor{Name: t.Name, Type: kind, Dims: t.Dims})
		f.names = append(f.names, t.Name)
		return nil
	}
	for _, p := range f.weights {
		for _, t := range p.To.Tensors {
			if err := add(t); err != nil {
				return h, err
			}
		}
	}
	for _, t := range f.rest {
		if err := add(t); err != nil {
			return h, err
		}
	}
	for _, e := range r.source.Files[0].Metadata {
		if _, text := e.Value.Text(); e.Key != sourceKey && (text || r.source.Files[0].Format == h.Format) {
			h.Metadata = append(h.Metadata, e)
		}
	}
	if f.path != r.output {
		h.Metadata = append(h.Metadata, checkpoint.Entry{Key: sourceKey, Value: checkpoint.TextValue(source)})
	}
	return h, nil
}

// identity names what a file depends on.
func (r *repack) identity() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, r.from, r.to, r.only, r.bits, string(r.source.Config))
	for _, f := range r.source.Files {
		info, err := os.Stat(f.Path)
		if err != nil {
			return "", quote.Error(err)
		}
		fmt.Fprintln(sum, f.Path, info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// write writes a file, unless an earlier run has.
func (r *repack) write(ctx context.Context, f *outFile) error {
	source, err := r.identity()
	if err != nil {
		return err
	}
	h, err := r.header(f, source)
	if err != nil {
		return err
	}
	if f.path != r.output {
		if have, err := checkpoint.OpenFile(f.path); err == nil {
			v, _ := have.Value(sourceKey)
			text, _ := v.Text()
			if text == source {
				f.bytes = have.Size()
			}
			if err := have.Close(); err != nil || text == source {
				return err
			}
		}
	}
	w, err := checkpoint.Create(f.path, h, source)
	if err != nil {
		return err
	}
	defer w.Close()
	o := &output{Writer: w, index: make(map[string]int, len(w.Tensors)), source: r.source}
	for i, t := range w.Tensors {
		o.index[t.Name] = i
	}
	for _, p := range f.weights {
		if err := cmp.Or(context.Cause(ctx), o.convert(r.stream, p)); err != nil {
			return fmt.Errorf("%s: %w", quote.Plain(p.From.Name), err)
		}
	}
	for _, t := range f.rest {
		if err := cmp.Or(context.Cause(ctx), o.copy(t)); err != nil {
			return fmt.Errorf("%s: %w", quote.Plain(t.Name), err)
		}
	}
	f.bytes = w.Size()
	return w.Commit()
}

// output is a file that is being written.
type output struct {
	*checkpoint.Writer
	index  map[string]int // of its tensors
	source *checkpoint.Checkpoint
}

// convert converts a weight, unless an earlier run has.
func (o *output) convert(s *tensor.Stream, p *quant.Plan) (err error) {
	done := true
	for _, t := range p.To.Tensors {
		done = done && o.Done(o.index[t.Name])
	}
	if done {
		return nil
	}
	src := quant.Memory{}
	defer func() { err = cmp.Or(err, src.Release()) }()
	for _, t := range p.From.Tensors {
		from := o.source.Lookup(t.Name)
		b, err := budget.Make[byte](budget.Process(), "the bytes of "+quote.Plain(t.Name), from.Size())
		if err != nil {
			return err
		}
		if _, err := from.ReadAt(b, 0); err != nil && err != io.EOF {
			return err
		}
		if src[t.Name], err = tensor.FromBytes(s, layout.Uint8, b, from.Size()); err != nil {
			return err
		}
	}
	dst, err := p.Run(s, src)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, dst.Release()) }()
	for name, t := range dst {
		b, err := t.Bytes()
		if err != nil {
			return err
		}
		if err := o.WriteAt(o.index[name], b, 0); err != nil {
			return err
		}
		if err := o.Finish(o.index[name]); err != nil {
			return err
		}
	}
	return nil
}

// pieceBytes is how much is copied at once.
const pieceBytes = 4 << 20

// copy copies a tensor as it is.
func (o *output) copy(t quant.Tensor) error {
	i := o.index[t.Name]
	if o.Done(i) {
		return nil
	}
	from := o.source.Lookup(t.Name)
	b := make([]byte, min(pieceBytes, from.Size()))
	for at := int64(0); at < from.Size(); at += pieceBytes {
		n, err := from.ReadAt(b, at)
		if err != nil && err != io.EOF {
			return err
		}
		if err := o.WriteAt(i, b[:n], at); err != nil {
			return err
		}
	}
	return o.Finish(i)
}

// describeOutput writes a folder's index and config.json.
func (r *repack) describeOutput(total outFile) error {
	if r.files[0].path == r.output {
		return nil
	}
	if len(r.files) > 1 && r.files[0].format == checkpoint.Safetensors {
		files := map[string]string{}
		for _, f := range r.files {
			for _, name := range f.names {
				files[name] = filepath.Base(f.path)
			}
		}
		name := "model.safetensors.index.json"
		if r.source.Index != nil {
			name = r.source.Index.Name
		}
		if err := writeJSON(filepath.Join(r.output, name), map[string]any{"metadata": map[string]int64{"total_size": total.bytes}, "weight_map": files}); err != nil {
			return err
		}
	}
	if r.source.Config == nil {
		return nil
	}
	config := map[string]json.RawMessage{}
	if err := json.Unmarshal(r.source.Config, &config); err != nil {
		return err
	}
	said, err := json.Marshal(total.weights[0].To.Config())
	if err != nil {
		return err
	}
	config["quantization_config"] = said
	return writeJSON(filepath.Join(r.output, "config.json"), config)
}

// writeJSON writes a file that is there whole or not at all.
func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	f, err := file.Beside(path)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err != nil {
		return errors.Join(quote.Error(err), f.Close(), os.Remove(f.Name()))
	}
	return file.Rename(f, path)
}
