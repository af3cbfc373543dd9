package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
)

// writeAll writes the files of this part, then what the folder says of all files.
func (r *repack) writeAll(ctx context.Context) (err error) {
	defer func() {
		if final(err) {
			err = errors.Join(err, r.undo())
		}
	}()
	if r.folder() {
		switch err := os.Mkdir(r.output, 0o777); {
		case err == nil:
			r.begun = append(r.begun, r.output)
		case !errors.Is(err, os.ErrExist):
			return quote.Error(err)
		}
	}
	for _, f := range r.mine() {
		r.all += f.bytes
	}
	defer r.progress.clear()
	for _, f := range r.mine() {
		if err := r.write(ctx, f); err != nil {
			return err
		}
	}
	return r.describeOutput()
}

// count adds bytes to what is written.
func (r *repack) count(n int64) {
	r.done += n
	r.progress.report(r.done, r.all)
}

// write writes a file, unless an earlier run has.
func (r *repack) write(ctx context.Context, f *outFile) error {
	source, err := r.identity()
	if err != nil {
		return err
	}
	if whole, err := r.isWhole(f, source); whole || err != nil {
		r.count(f.bytes)
		return err
	}
	w, err := checkpoint.Create(f.path, f.header, source)
	if err != nil {
		return err
	}
	r.begun = append(r.begun, f.path+checkpoint.Partial)
	defer w.Close()
	if r.sync {
		if err := w.Sync(); err != nil {
			return err
		}
	}
	o := &output{repack: r, file: w, index: make(map[string]int, len(w.Tensors))}
	for i, t := range w.Tensors {
		o.index[t.Name] = i
	}
	c := conversion{output: o}
	for _, w := range f.weights {
		if o.isDone(w) {
			continue
		}
		for to, from := range w.views {
			if err := cmp.Or(context.Cause(ctx), o.copy(to, from)); err != nil {
				return fmt.Errorf("%s: %w", quote.Plain(to), err)
			}
		}
		if w.pieces != nil {
			c.todo = append(c.todo, w)
		}
	}
	if err := c.run(ctx); err != nil {
		return err
	}
	for _, t := range f.rest {
		if err := cmp.Or(context.Cause(ctx), o.copy(t.Name, t.Name)); err != nil {
			return fmt.Errorf("%s: %w", quote.Plain(t.Name), err)
		}
	}
	err = w.Commit()
	if err == nil {
		r.begun = append(r.begun, f.path)
	}
	return err
}

// isWhole reports whether an earlier run has written a file of a folder.
func (r *repack) isWhole(f *outFile, source string) (bool, error) {
	if !r.folder() {
		return false, nil
	}
	have, err := checkpoint.OpenFile(f.path)
	if err != nil {
		return false, nil
	}
	v, _ := have.Value(sourceKey)
	text, _ := v.Text()
	return text == source, have.Close()
}

// output is a file that is being written.
type output struct {
	*repack
	file  *checkpoint.Writer
	index map[string]int // of its tensors
}

// isDone reports whether an earlier run has written a weight.
func (o *output) isDone(w *weight) bool {
	n := int64(0)
	for _, t := range w.To.Tensors {
		i := o.index[t.Name]
		if !o.file.Done(i) {
			return false
		}
		n += o.file.Tensors[i].Size()
	}
	o.count(n)
	return true
}

// pieceBytes is how much is copied at once.
const pieceBytes = 4 << 20

// copy copies a tensor as it is in the source.
func (o *output) copy(to, from string) error {
	i, t := o.index[to], o.source.Lookup(from)
	if o.file.Done(i) {
		o.count(t.Size())
		return nil
	}
	b := make([]byte, min(pieceBytes, t.Size()))
	for at := int64(0); at < t.Size(); at += pieceBytes {
		n, err := t.ReadAt(b, at)
		if err != nil && err != io.EOF {
			return err
		}
		if err := o.file.WriteAt(i, b[:n], at); err != nil {
			return err
		}
		o.count(int64(n))
	}
	return o.file.Finish(i)
}
