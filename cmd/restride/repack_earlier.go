package main

import (
	"bytes"
	"io"
	"reflect"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

// earlier is what an earlier run has written of a file: all of it, or some tensors of a partial
// file. Its bytes are unverified unless they are compared with newly made ones.
type earlier struct {
	path    string
	tensors map[string]bool
	read    func(name string, p []byte, at int64) error
	buffer  []byte
}

// has reports whether an earlier run has written a tensor.
func (e *earlier) has(name string) bool { return e.tensors[name] }

// compareBytes is the number of bytes compared at a time.
const compareBytes = 256 << 10

// compare compares bytes of an existing tensor with newly made ones.
func (e *earlier) compare(name string, want []byte, at int64) error {
	if e.buffer == nil {
		e.buffer = make([]byte, compareBytes)
	}
	for len(want) > 0 {
		have := e.buffer[:min(len(want), compareBytes)]
		if err := e.read(name, have, at); err != nil {
			return err
		}
		if !bytes.Equal(have, want[:len(have)]) {
			for i := range have {
				if have[i] != want[i] {
					at += int64(i)
					break
				}
			}
			return layout.Errorf(quant.ErrDiffers, "repack", "%s: byte %d of tensor %s is not what the source gives: the file was damaged or changed, remove it", quote.Path(e.path), at, quote.Name(name))
		}
		want, at = want[len(have):], at+int64(len(have))
	}
	return nil
}

// ofPartial is what an earlier run has written of an incomplete file.
func ofPartial(path string, w *checkpoint.Writer, index map[string]int) *earlier {
	e := &earlier{path: path + checkpoint.Partial, tensors: map[string]bool{}}
	for name, i := range index {
		if w.Done(i) {
			e.tensors[name] = true
		}
	}
	e.read = func(name string, p []byte, at int64) error { return w.ReadAt(index[name], p, at) }
	return e
}

// ofWhole is a complete file of a folder from an earlier run.
func ofWhole(f *checkpoint.File) *earlier {
	e, tensors := &earlier{path: f.Path, tensors: map[string]bool{}}, map[string]*checkpoint.Tensor{}
	for _, t := range f.Tensors {
		tensors[t.Name], e.tensors[t.Name] = t, true
	}
	e.read = func(name string, p []byte, at int64) error {
		n, err := tensors[name].ReadAt(p, at)
		if n == len(p) || err == io.EOF {
			return nil
		}
		return err
	}
	return e
}

// finished opens a file of a folder if an earlier run has written exactly this file, judging by
// its header.
func (r *repack) finished(f *outFile, source string) *checkpoint.File {
	if !r.folder() {
		return nil
	}
	have, err := checkpoint.OpenFile(f.path)
	if err != nil {
		return nil
	}
	v, _ := have.Value(sourceKey)
	if text, _ := v.Text(); text != source || !sameHeader(&have.Header, &f.header) {
		_ = have.Close()
		return nil
	}
	return have
}

// sameHeader reports whether two headers have the same tensors and metadata.
func sameHeader(a, b *checkpoint.Header) bool {
	if a.Format != b.Format || len(a.Tensors) != len(b.Tensors) {
		return false
	}
	byName := make(map[string]*checkpoint.Tensor, len(a.Tensors))
	for _, t := range a.Tensors {
		byName[t.Name] = t
	}
	for _, t := range b.Tensors {
		have := byName[t.Name]
		if have == nil || have.Type.Name != t.Type.Name || !reflect.DeepEqual(layout.Shape(have.Dims), layout.Shape(t.Dims)) {
			return false
		}
	}
	for _, e := range b.Metadata {
		if v, ok := a.Value(e.Key); !ok || v != e.Value {
			return false
		}
	}
	return true
}
