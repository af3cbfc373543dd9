package gorgonia

import (
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// RepackFile writes the file dst, safetensors or GGUF as src is, whose tensors are those of
// src, but for those that rule returns a repack for, which may be told by name and shape,
// outermost extent first. A tensor keeps type and shape. dst comes out whole or not at all.
//
//	err := gorgonia.RepackFile("out.safetensors", "model.safetensors", func(name string, shape []int) (*gorgonia.Repack, error) {
//		if !strings.HasSuffix(name, "q_proj.weight") {
//			return nil, nil
//		}
//		r, err := gorgonia.Rotary(32, shape...)
//		return &r, err
//	})
func RepackFile(dst, src string, rule func(name string, shape []int) (*Repack, error)) (err error) {
	f, err := checkpoint.OpenFile(src)
	if err != nil {
		return err
	}
	defer f.Close()
	header, repacks := f.Header, make(map[string]*Repack, len(f.Tensors))
	header.Tensors = make([]*checkpoint.Tensor, len(f.Tensors))
	for i, t := range f.Tensors {
		if repacks[t.Name], err = ruled(t, rule); err != nil {
			return err
		}
		header.Tensors[i] = &checkpoint.Tensor{Name: t.Name, Type: t.Type, Dims: t.Dims}
	}
	// No later run goes on with what this one leaves: its rule may be another.
	w, err := checkpoint.Create(dst, header, strconv.FormatInt(time.Now().UnixNano(), 36))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
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
			return layout.Named("RepackFile", err)
		}
	}
	return w.Commit()
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
