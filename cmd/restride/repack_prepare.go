package main

import (
	"fmt"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

// prepare plans the output of converting r.weights: the files, their headers, and config.json.
// Anything that cannot be written, or could not be read again, is an error here, before any file
// exists. Inspect uses it to find what is possible, and repack to plan its work.
func (r *repack) prepare(rest []quant.Tensor) error {
	if err := r.lay(); err != nil {
		return err
	}
	kept, err := r.keep(rest)
	if err != nil {
		return err
	}
	r.share(kept)
	source, err := r.identity()
	if err != nil {
		return err
	}
	if r.folder() {
		if r.companions, err = companions(r.source); err != nil {
			return err
		}
	}
	if r.config = r.commonConfig(); r.config != nil {
		r.nameUnquantised(rest)
	}
	unlike, err := r.describeFiles(source)
	// If shapes and one configuration are not enough, use records.
	if err == nil && unlike != nil && r.config != nil {
		r.config = nil
		unlike, err = r.describeFiles(source)
	}
	if err == nil {
		err = unlike
	}
	return err
}

// describeFiles creates the headers of all files and config.json, and reads them as a later
// command would: unlike describes differences from the plan.
func (r *repack) describeFiles(source string) (unlike, err error) {
	r.leftOut = nil
	in := map[string]*outFile{} // files by tensor name
	for i, f := range r.files {
		if err := r.describeFile(f, i, source); err != nil {
			return nil, err
		}
		if err := f.header.Check(); err != nil {
			return nil, err
		}
		for _, t := range f.header.Tensors {
			if other := in[t.Name]; other != nil {
				return nil, layout.Errorf(layout.ErrInvalid, "repack", "two tensors are named %s, in %s and in %s", quote.Name(t.Name), quote.Path(other.path), quote.Path(f.path))
			}
			in[t.Name] = f
		}
	}
	if r.configText, err = r.outConfig(); err != nil {
		return nil, err
	}
	return r.readBack(), nil
}

// readBack finds weights in the headers to be written: one of each kind, weights with additional
// tensors, and tensors that look like a weight but are not. Numbers and formats that cannot be
// read contain no weights.
func (r *repack) readBack() error {
	format := r.weights[0].plan.To.Format
	if format.Readable() != nil || r.weights[0].plan.To.Config() == nil {
		return nil
	}
	c := &checkpoint.Checkpoint{Path: r.output}
	if r.folder() {
		c.Config = r.configText
	}
	var all []quant.Tensor
	for _, f := range r.files {
		c.Files = append(c.Files, &checkpoint.File{Path: f.path, Header: f.header})
		for _, t := range f.rest {
			t.Content = r.source.Lookup(t.Name)
			t.Tensor.Name = t.to
			all = append(all, t.Tensor)
		}
	}
	some := r.sample(all)
	for _, w := range some {
		all = append(all, w.To().Tensors...)
	}
	said := said{}
	if r.left > 0 && r.files[0].header.Format == checkpoint.Safetensors { // GGUF's types say it
		said.from = format.Name
	}
	known, err := said.describe(c)
	if err != nil {
		return unlike("", err.Error())
	}
	found, err := known.all(all)
	if err != nil {
		return unlike("", err.Error())
	}
	return r.compare(some, found.weights)
}

// sample returns a weight of each kind, and the weights with additional tensors.
func (r *repack) sample(rest []quant.Tensor) (some []*weight) {
	beside := map[string]bool{}
	for _, t := range rest {
		for i, c := range t.Name {
			if c == '.' || c == '_' {
				beside[t.Name[:i]] = true
			}
		}
	}
	kinds := map[*planned]bool{}
	for _, w := range r.weights {
		to := w.To()
		if !kinds[w.planned] || to.Name == "" || beside[to.Name] {
			kinds[w.planned] = true
			some = append(some, w)
		}
	}
	return some
}

// compare reports differences between weights that were found and weights that are written.
func (r *repack) compare(written []*weight, found []*quant.Weight) error {
	byCodes := make(map[string]*quant.Weight, len(found))
	for _, w := range found {
		byCodes[w.Tensors[0].Name] = w
	}
	if len(found) > len(written) && r.left == 0 {
		return unlike("", "tensors beside weights would be taken for weights")
	}
	for _, w := range written {
		to := w.To()
		have := byCodes[to.Tensors[0].Name]
		if have == nil {
			return unlike(to.Name, "it was not found")
		}
		if a, b := readAs(to), readAs(have); a != b {
			return unlike(to.Name, a+" and "+b)
		}
	}
	return nil
}

// readAs describes everything about a weight that must be read as it was written.
func readAs(w *quant.Weight) string {
	k := kindOf(w)
	shape := w.Shape()
	if k.Sorted = false; k.Group >= shape[len(shape)-1] {
		k.Group = 0 // a row
	}
	s := fmt.Sprint(k, shape, w.Params.Signed)
	for _, t := range w.Tensors {
		s += fmt.Sprintf(" %s %s%v", t.Name, t.Type, layout.Shape(t.Dims))
	}
	return s
}

// unlike is the error for an output that would not be read as it was made.
func unlike(weight, how string) error {
	if weight != "" {
		weight = quote.Plain(weight) + ": "
	}
	return layout.Errorf(layout.ErrUnsupported, "repack", "the output could not be read as it was made: %s%s", weight, quote.Text(how))
}

// nameUnquantised lists the modules that are not quantised in the output's configuration.
func (r *repack) nameUnquantised(rest []quant.Tensor) {
	var quantised []string
	for _, w := range r.weights {
		quantised = append(quantised, w.From.Name)
	}
	if unclear := r.known.modules().Unquantised(r.config, unquantised(rest), quantised); len(unclear) > 0 {
		r.notes = append(r.notes, "not quantised, and part of the names of quantised modules, which loaders may not tell apart: "+some(unclear))
	}
}
