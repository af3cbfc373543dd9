package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
)

// writeAll writes the files of this part, then the folder's description of all files.
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

// count adds to the number of bytes written.
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
	if have := r.finished(f, source); have != nil {
		defer have.Close()
		return r.revisit(ctx, f, have)
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
	o.earlier = ofPartial(f.path, w, o.index)
	if err := o.fill(ctx, f); err != nil {
		return err
	}
	err = w.Commit()
	if err == nil {
		r.begun = append(r.begun, f.path)
	}
	return err
}

// revisit compares a file from an earlier run with newly made data, if requested.
func (r *repack) revisit(ctx context.Context, f *outFile, have *checkpoint.File) error {
	if r.verify {
		o := &output{repack: r, earlier: ofWhole(have)}
		return o.fill(ctx, f)
	}
	for _, w := range f.weights {
		w.earlier = true
	}
	r.did.earlier.add(len(f.weights), len(f.rest), f.bytes)
	r.count(f.bytes)
	return nil
}

// output is a file that is being written or, for tensors that an earlier run has written,
// compared.
type output struct {
	*repack
	file    *checkpoint.Writer // nil: an earlier run has written all
	index   map[string]int     // of its tensors
	earlier *earlier
}

// fill writes missing data, and compares existing data if requested.
func (o *output) fill(ctx context.Context, f *outFile) error {
	c := conversion{output: o}
	for _, w := range f.weights {
		if w.earlier = o.isDone(w); w.earlier {
			o.did.earlier.add(1, 0, 0)
		} else {
			o.did.made.add(1, 0, 0)
		}
		if w.earlier && !o.verify {
			o.skip(w)
			continue
		}
		for i, t := range w.To().Tensors {
			if w.views[i] < 0 {
				continue
			}
			made, err := o.copy(ctx, t.Name, w.From.Tensors[w.views[i]].Name)
			if err != nil {
				return err
			}
			if made {
				o.did.views++
			}
		}
		if w.pieces != nil {
			c.todo = append(c.todo, w)
		}
	}
	for _, w := range f.carried {
		if w.earlier = o.isDone(w); w.earlier && !o.verify {
			o.skip(w)
			continue
		}
		c.todo = append(c.todo, w)
	}
	if err := c.run(ctx); err != nil {
		return err
	}
	if err := o.compareNumbers(f); err != nil {
		return err
	}
	for _, t := range f.rest {
		made, err := o.copy(ctx, t.to, t.Name)
		if err != nil {
			return err
		}
		if made {
			o.did.made.add(0, 1, 0)
		} else {
			o.did.earlier.add(0, 1, 0)
		}
	}
	return nil
}

// isDone reports whether an earlier run has written a weight.
func (o *output) isDone(w *weight) bool {
	for _, t := range w.To().Tensors {
		if !o.earlier.has(t.Name) {
			return false
		}
	}
	return true
}

// skip leaves a weight as it is.
func (o *output) skip(w *weight) {
	for _, t := range w.To().Tensors {
		n := o.file.Tensors[o.index[t.Name]].Size()
		o.did.earlier.add(0, 0, n)
		o.count(n)
	}
}

// compares reports whether a tensor is compared, not written.
func (o *output) compares(name string) bool { return o.verify && o.earlier.has(name) }

// put writes bytes of a tensor, or compares them with the existing ones.
func (o *output) put(name string, b []byte, at int64) error {
	defer o.count(int64(len(b)))
	if o.compares(name) {
		o.did.earlier.add(0, 0, int64(len(b)))
		return o.earlier.compare(name, b, at)
	}
	o.did.made.add(0, 0, int64(len(b)))
	return o.file.WriteAt(o.index[name], b, at)
}

// finish marks a tensor as completely written or compared.
func (o *output) finish(name string) error {
	if o.compares(name) {
		return nil
	}
	return o.file.Finish(o.index[name])
}

// pieceBytes is the number of bytes copied at a time.
const pieceBytes = 1 << 20

// copy copies a tensor unchanged from the source; made is false if an earlier run has written it.
func (o *output) copy(ctx context.Context, to, from string) (made bool, err error) {
	t, there := o.source.Lookup(from), o.earlier.has(to)
	if there && !o.verify {
		o.did.earlier.add(0, 0, t.Size())
		o.count(t.Size())
		return false, nil
	}
	b := make([]byte, min(pieceBytes, t.Size()))
	err = context.Cause(ctx)
	for at := int64(0); at < t.Size() && err == nil; at += pieceBytes {
		var n int
		if n, err = t.ReadAt(b, at); err == nil || err == io.EOF {
			err = o.put(to, b[:n], at)
		}
	}
	if err == nil {
		err = o.finish(to)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", quote.Plain(to), err)
	}
	return !there, nil
}
