package gorgonia

import (
	"errors"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// RepackFile writes the file dst, safetensors or GGUF like src, with the tensors of src. It
// repacks those for which rule, given name and shape, outermost extent first, returns a repack.
// A tensor keeps type and shape. dst is written completely or not at all, with the permissions
// of the file that it replaces, otherwise of src; it must not be the same file as src.
//
//	err := gorgonia.RepackFile("out.safetensors", "model.safetensors", func(name string, shape []int) (*gorgonia.Repack, error) {
//		if !strings.HasSuffix(name, "q_proj.weight") {
//			return nil, nil
//		}
//		r, err := gorgonia.Rotary(32, shape...)
//		return &r, err
//	})
func RepackFile(dst, src string, rule func(name string, shape []int) (*Repack, error)) (err error) {
	const op = "RepackFile"
	if rule == nil {
		return layout.Errorf(device.ErrInvalid, op, "the rule is nil")
	}
	f, err := checkpoint.OpenFile(src)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := distinct(op, dst, src); err != nil {
		return err
	}
	header, repacks := f.Header, make(map[string]*Repack, len(f.Tensors))
	header.Tensors = make([]*checkpoint.Tensor, len(f.Tensors))
	for i, t := range f.Tensors {
		if repacks[t.Name], err = ruled(t, rule); err != nil {
			return err
		}
		header.Tensors[i] = &checkpoint.Tensor{Name: t.Name, Type: t.Type, Dims: t.Dims}
	}
	// No later run continues this one's partial file: its rule may differ.
	w, err := checkpoint.Create(dst, header, strconv.FormatInt(time.Now().UnixNano(), 36))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := permit(dst, src); err != nil {
		return err
	}
	for i, to := range w.Tensors {
		from := f.Lookup(to.Name)
		in, out := io.NewSectionReader(from, 0, from.Size()), &tensorWriter{w: w, i: i}
		if r := repacks[to.Name]; r != nil {
			_, err = r.Copy(out, in, to.Type.DType)
		} else {
			_, err = io.Copy(out, in)
		}
		if err == nil {
			err = w.Finish(i)
		}
		if err != nil {
			return layout.Named(op, err)
		}
	}
	return w.Commit()
}

// distinct refuses to write to the source, under any name.
func distinct(op, dst, src string) error {
	source, err := os.Stat(src)
	if err != nil {
		return err
	}
	for _, path := range []string{dst, dst + checkpoint.Partial} {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, source) {
			return layout.Errorf(device.ErrInvalid, op, "the file to write, %q, is the source, %q", path, src)
		}
	}
	return nil
}

// permit gives the partial file the permissions of the file that it will replace, or the
// source's, within those of new files.
func permit(dst, src string) error {
	partial := dst + checkpoint.Partial
	old, err := os.Stat(dst)
	if err == nil {
		return os.Chmod(partial, old.Mode().Perm())
	}
	source, err := os.Stat(src)
	if err != nil {
		return err
	}
	made, err := os.Stat(partial)
	if err != nil {
		return err
	}
	return os.Chmod(partial, source.Mode().Perm()&made.Mode().Perm())
}

// ruled returns the repack of a tensor, which is checked; nil: there is none.
func ruled(t *checkpoint.Tensor, rule func(string, []int) (*Repack, error)) (*Repack, error) {
	const op = "RepackFile"
	r, err := rule(t.Name, layout.Ints(t.Dims...))
	if err != nil || r == nil {
		return nil, err
	}
	n, err := r.size(op, t.Type.DType)
	if err != nil {
		return nil, err
	}
	if n != t.Size() {
		return nil, layout.Errorf(device.ErrInvalid, op, "%q has shape %v, and its repack %v", t.Name, t.Dims, r.Shape)
	}
	return r, nil
}

// tensorWriter writes the bytes of a tensor, one after the other.
type tensorWriter struct {
	w  *checkpoint.Writer
	i  int
	at int64
}

func (t *tensorWriter) Write(p []byte) (int, error) {
	if err := t.w.WriteAt(t.i, p, t.at); err != nil {
		return 0, err
	}
	t.at += int64(len(p))
	return len(p), nil
}
