package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

// recordKey is the metadata of a file that describes each of its weights, where one
// quantization_config cannot: codes of different widths can have the same shapes.
const recordKey = "restride.weights"

// record is a file's description of its weights.
type record struct {
	// Format is the format of the checkpoint's weights; "": some have another one, which config.json
	// names.
	Format  string       `json:"format,omitempty"`
	Weights []sameWeight `json:"weights"`
}

// sameWeight are weights that differ only in shape.
type sameWeight struct {
	kind
	Codes []string `json:"codes"` // the tensors with their codes
}

// kind is the information about a weight apart from shapes.
type kind struct {
	Format   string `json:"format"`
	Bits     int64  `json:"bits"`
	Group    int64  `json:"group_size"`
	Zeros    bool   `json:"zero_point,omitempty"`
	ZeroLess bool   `json:"zero_less,omitempty"`
	Sorted   bool   `json:"desc_act,omitempty"`
	Table    string `json:"table,omitempty"`
}

func kindOf(w *quant.Weight) kind {
	p := w.Params
	return kind{w.Format.Name, p.Bits, max(0, p.Group), p.Zeros, p.ZeroLess, p.Sorted, p.Table}
}

func (k kind) params() quant.Params {
	return quant.Params{Bits: k.Bits, Group: k.Group, Zeros: k.Zeros, ZeroLess: k.ZeroLess, Sorted: k.Sorted, Table: k.Table}
}

// tableBits are the widths of codes that select a table's numbers.
var tableBits = map[string]int64{"e2m1": 4, "nf4": 4, "fp4": 4, "nf4 or fp4": 4, "iq4nl": 4, "ternary": 2, "bytes": 8}

// check rejects values that no weight has.
func (k kind) check() error {
	if _, err := quant.Lookup(k.Format); err != nil {
		return err
	}
	bits, known := tableBits[k.Table]
	if k.Bits < 1 || k.Bits > 128 || k.Group < 0 || k.Group > 1<<40 || k.Table != "" && (!known || k.Bits != bits) {
		return layout.Errorf(layout.ErrInvalid, "repack", "weights of %d bits, groups of %d and the table %s", k.Bits, k.Group, quote.Name(k.Table))
	}
	return nil
}

// records are the records of a checkpoint's files.
type records struct {
	format string // of all weights
	of     map[string]kind
}

// readRecords reads them.
func readRecords(c *checkpoint.Checkpoint) (all records, err error) {
	all.of = map[string]kind{}
	for _, f := range c.Files {
		v, ok := f.Value(recordKey)
		if !ok || f.Format != checkpoint.Safetensors {
			continue
		}
		if err := all.read(c, v); err != nil {
			return all, layout.Errorf(layout.ErrInvalid, "repack", "%s: its metadata %s: %s", quote.Path(f.Path), recordKey, quote.Text(err.Error()))
		}
	}
	return all, nil
}

func (all *records) read(c *checkpoint.Checkpoint, v checkpoint.Value) error {
	text, _ := v.Text()
	if err := chargeJSON(c, recordKey, text); err != nil {
		return err
	}
	var r record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	if r.Format != "" {
		if all.format != "" && all.format != r.Format {
			return layout.Errorf(layout.ErrInvalid, "repack", "weights are of format %s, and in another file of %s", quote.Name(r.Format), quote.Name(all.format))
		}
		all.format = r.Format
	}
	for _, w := range r.Weights {
		if err := w.check(); err != nil {
			return err
		}
		for _, name := range w.Codes {
			if other, ok := all.of[name]; ok && other != w.kind {
				return layout.Errorf(layout.ErrInvalid, "repack", "tensor %s is described twice, as other codes", quote.Name(name))
			}
			all.of[name] = w.kind
		}
	}
	return nil
}

// described is the known description of a source's weights.
type described struct {
	said   said
	format *quant.Format
	params quant.Params // for weights that no record names
	// config is what a configuration says of these; nil: nothing, or a flag contradicts it.
	config  *quant.Description
	by      string // the source of this information
	records records
}

// formats are the formats of the source's weights.
func (d *described) formats() []*quant.Format {
	if d.config != nil {
		return d.config.Formats()
	}
	return []*quant.Format{d.format}
}

// name names these formats.
func (d *described) name() string {
	var names []string
	for _, f := range d.formats() {
		names = append(names, f.Name)
	}
	return strings.Join(names, " and ")
}

// modules are the modules that are not quantised, as the source lists them.
func (d *described) modules() quant.Modules {
	if d.config == nil {
		return nil
	}
	return d.config.Modules
}

// unquantised names the modules that have matrices of numbers, which are not quantised.
func unquantised(rest []quant.Tensor) (names []string) {
	for _, t := range rest {
		name, isWeight := strings.CutSuffix(t.Name, ".weight")
		if isWeight && len(t.Dims) == 2 && (t.Type == "F16" || t.Type == "BF16" || t.Type == "F32") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// of is the description of a weight that no record names.
func (d *described) of(name string) (*quant.Format, quant.Params) {
	f, p := d.format, d.params
	if d.config != nil {
		f, p = d.config.Of(name)
	}
	if p.Bits == 0 {
		p.Bits = d.said.bits
	}
	if p.Group < 0 && p.GroupHint == 0 {
		p.GroupHint = d.said.group
	}
	return f, p
}

// recorded reports whether records name all weights of the format: they say so, or some records
// exist and only --from names the format.
func (d *described) recorded() bool {
	if d.records.format == d.format.Name {
		return true
	}
	for _, k := range d.records.of {
		if d.by == byFlag && k.Format == d.format.Name {
			return true
		}
	}
	return false
}

// found are a source's weights.
type found struct {
	weights []*quant.Weight
	refused []quant.Refused // those that cannot be opened
	rest    []quant.Tensor  // that are in no weight, or in a refused one
}

// find is quant.FindEach for all formats of the source, with records taking precedence.
func (d *described) find(all []quant.Tensor, match func(name string) bool) (out found, err error) {
	recorded, memory := d.recorded(), finding{}
	match = memory.match(match)
	out.rest = all
	for _, f := range d.formats() {
		weights, refused, rest := quant.FindEach(f, func(codes, name string) (quant.Params, bool) {
			k, ok := d.records.of[codes]
			if ok && k.Format != f.Name || !ok && recorded {
				return quant.Params{}, false
			}
			format, p := f, k.params()
			if !ok {
				format, p = d.of(name)
			}
			if format != f || !match(name) {
				return quant.Params{}, false
			}
			return p, true
		}, out.rest)
		out.weights, out.refused, out.rest = append(out.weights, weights...), append(out.refused, refused...), rest
	}
	memory.end(out.weights)
	switch flags := d.said.bits != 0 || d.said.group != 0; {
	case memory.err != nil:
		return out, memory.err
	case flags && len(out.weights) == 0 && len(out.refused) > 0: // flags may be the reason
		return out, out.refused[0].Err
	}
	return out, d.said.agree(out.weights)
}

// all is find for all weights, of which none may be refused.
func (d *described) all(tensors []quant.Tensor) (out found, err error) {
	out, err = d.find(tensors, func(string) bool { return true })
	if err == nil && len(out.refused) > 0 {
		err = out.refused[0].Err
	}
	return out, err
}

// record returns a file's description of its weights: of the converted ones, unless
// quantization_config describes them, and of copied ones that are in the source's record.
func (r *repack) record(f *outFile) *record {
	out, at := &record{}, map[kind]int{}
	add := func(k kind, codes string) {
		i, ok := at[k]
		if !ok {
			i = len(out.Weights)
			at[k], out.Weights = i, append(out.Weights, sameWeight{kind: k})
		}
		out.Weights[i].Codes = append(out.Weights[i].Codes, codes)
	}
	if r.config == nil && r.weights[0].plan.To.Config() != nil {
		if r.left == 0 {
			out.Format = r.target.Name
		}
		for _, w := range f.weights {
			to := w.To()
			add(kindOf(to), to.Tensors[0].Name)
		}
	}
	for _, t := range f.rest {
		if k, ok := r.known.records.of[t.Name]; ok {
			add(k, t.to)
		}
	}
	if out.Format == "" && len(out.Weights) == 0 {
		return nil
	}
	return out
}
