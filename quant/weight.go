package quant

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Tensor is a tensor as a file describes it.
type Tensor struct {
	Name string
	Type string // as package checkpoint names it: "I32", "Q4_0"
	Dims []int64
	// Content has the tensor's bytes, for formats that store shapes and types in small
	// tensors; nil: these are not read.
	Content io.ReaderAt
}

// Weight is a matrix, or a batch of matrices, in a format, with its tensors.
type Weight struct {
	Name     string // common prefix of its tensors' names
	Format   *Format
	Params   Params
	Tensors  []Tensor
	Sidecars []Tensor // small tensors with properties of the weight, read with it

	// Beside are tensors under the weight's name that are not its own, and whose effect on its
	// numbers is not known.
	Beside []Tensor

	// ZerosIgnored: the weight is described as symmetric, and its tensor of zero points has others
	// than the middle of the range, which are not used.
	ZerosIgnored bool

	// Heads, if not 0, is the number of rows of an attention head that GGUF stores in another
	// order (see Head).
	Heads int64
	// Partial: the weight is a part of its tensors, or several other weights (see Parts, Stack).
	Partial bool

	whole   string // this weight has every second row of that one, from first on
	first   int64
	experts []string // the weights that this one consists of

	offset float32 // of scales that are codes
	// unordered: the groups of k are in no order. It is unknown for a weight whose tensors
	// have no content.
	unordered bool
	ext       extents
	arrays    []array // of Tensors
}

// suffixed returns the part of a tensor's name before a suffix. A name may be just the
// suffix without its dot.
func suffixed(name, suffix string) (prefix string, ok bool) {
	if "."+name == suffix {
		return "", true
	}
	return strings.CutSuffix(name, suffix)
}

// joined is the inverse of suffixed.
func joined(prefix, suffix string) string {
	if prefix == "" {
		return strings.TrimPrefix(suffix, ".")
	}
	return prefix + suffix
}

// openNamed opens the weight of a format whose codes are in the named tensor. lookup
// returns a tensor of the file by name. If p and the tensors do not determine the weight,
// the error is ErrUnsaid.
func openNamed(f *Format, p Params, name string, lookup func(string) (Tensor, bool)) (*Weight, error) {
	first, ok := lookup(name)
	if !ok {
		return nil, layout.Errorf(layout.ErrInvalid, f.Name, "there is no tensor %s", quote.Name(name))
	}
	if err := f.Readable(); err != nil {
		return nil, err
	}
	if p.Bits == 0 {
		return f.openUnsaid(p, first, lookup)
	}
	w, err := f.open(p, first, lookup)
	if err == nil && w.Params.Bits != p.Bits {
		return nil, layout.Errorf(layout.ErrInvalid, f.Name, "tensor %s has codes of %d bits, and %d are said", quote.Name(name), w.Params.Bits, p.Bits)
	}
	return w, err
}

// open is openNamed for codes of known bits, unless their tensor says otherwise.
func (f *Format) open(p Params, first Tensor, lookup func(string) (Tensor, bool)) (*Weight, error) {
	w := &Weight{Format: f, ext: extents{}}
	unsaid := p.Group < 0
	p, err := f.complete(p, first, w.ext)
	if err != nil {
		return nil, err
	}
	names, ok := f.naming(first.Name, lookup)
	if !ok {
		return nil, layout.Errorf(layout.ErrInvalid, f.Name, "tensor %s; a name that ends in %s is wanted", quote.Name(first.Name), f.suffix)
	}
	w.Name, _ = suffixed(first.Name, names[codes])
	if f.said != nil {
		if p, err = f.said(&sayings{weight: w, lookup: lookup}, p); err != nil {
			return nil, err
		}
	}
	w.Params = p
	if unsaid {
		if err := w.discover(names, lookup); err != nil {
			return nil, err
		}
	}
	if err := w.collect(names, lookup); err != nil {
		return nil, err
	}
	w.Params.GroupHint = 0
	if err := w.rules(lookup); err != nil {
		return nil, err
	}
	err = w.readOrder()
	if i := slices.IndexFunc(w.arrays, func(a array) bool { return a.has(groups) }); f == compressedTensors && (i < 0 || w.Tensors[i].Content != nil) {
		w.Params.Sorted = w.unordered
	}
	return w, err
}

// discover completes the parameters from the tensors that are present: whether there are
// zero points and an order of rows, and the group size.
func (w *Weight) discover(names map[role]string, lookup func(string) (Tensor, bool)) error {
	w.Params.Zeros, w.Params.Sorted = true, true // if such tensors are present
	if err := w.collect(names, lookup); err != nil {
		return err
	}
	w.Params.Zeros, w.Params.Sorted = w.has(zeros), w.has(sorting) || w.Format == compressedTensors && w.has(groups)
	if w.Params.Group >= 0 {
		return nil
	}
	group, err := groupOf(w.Params, w.ext)
	if err != nil {
		return layout.Named(w.Format.Name, fmt.Errorf("%s: %w", quote.Name(w.Tensors[0].Name), err))
	}
	w.Params.Group = group
	return nil
}

// complete completes the parameters of a weight from the tensor of its codes.
func (f *Format) complete(p Params, t Tensor, ext extents) (Params, error) {
	if f.params != nil {
		var err error
		if p, err = f.params(p, t, ext); err != nil {
			return p, err
		}
	}
	if p.Bits < 1 || p.Bits > 8 && p.Type == "" {
		return p, layout.Errorf(layout.ErrInvalid, f.Name, "codes of %d bits; 1 to 8 are wanted", p.Bits)
	}
	return p, nil
}

// naming returns the suffixes of a weight's tensors, by role, if name matches the format's
// codes: the set of suffixes with which the most tensors are found.
func (f *Format) naming(name string, lookup func(string) (Tensor, bool)) (best map[role]string, ok bool) {
	most := 0
	for _, names := range f.names() {
		prefix, fits := suffixed(name, names[codes])
		if !fits {
			continue
		}
		found := 0
		for _, suffix := range names {
			if _, has := lookup(joined(prefix, suffix)); has {
				found++
			}
		}
		if found > most {
			best, most = names, found
		}
	}
	return best, best != nil
}

// names returns the possible suffixes of the format's tensors: its own and, if it uses the
// source's names, those of other formats.
func (f *Format) names() []map[role]string {
	all := append([]map[role]string{{codes: f.suffix}}, f.also...)
	if f.takesNames && f.suffix != "" {
		all = append(all, takenNames()...)
	}
	return all
}

// takenNames are the suffixes of formats whose names others use.
var takenNames = sync.OnceValue(func() (all []map[role]string) {
	for _, other := range []*Format{compressedTensors, matMulNBits, packed, hqq, trtLLM} {
		names := map[role]string{}
		for _, a := range other.arrays(Params{Bits: 4, Zeros: true}) {
			names[a.slots[0].role] = a.suffix
		}
		all = append(all, names)
	}
	return all
})

// keepsName reports whether the tensor of a role keeps its suffix from another format.
func (f *Format) keepsName(r role, suffix string) bool {
	return f.takesNames || slices.ContainsFunc(f.also, func(names map[role]string) bool { return names[r] == suffix })
}

// collect finds the weight's tensors, and determines the extents of axes from their shapes.
func (w *Weight) collect(names map[role]string, lookup func(string) (Tensor, bool)) error {
	w.arrays, w.Tensors = nil, nil
	arrays := w.Format.arrays(w.Params)
	for i := range arrays {
		a := arrays[i]
		suffix, ok := names[a.slots[0].role]
		switch {
		case i == 0:
			suffix = names[codes] // also of blocks, which begin with something else
		case !ok:
			suffix = a.suffix
		}
		a.suffix = suffix
		t, ok := lookup(joined(w.Name, suffix))
		switch {
		case !ok && (i == 0 || w.Params.Sidecar != sidecar{}):
			return layout.Errorf(layout.ErrInvalid, w.Format.Name, "there is no tensor %s", quote.Name(joined(w.Name, a.suffix)))
		case !ok:
			continue
		}
		if a.typ == "" {
			if err := w.Params.scaleRule(w.Format, t); err != nil {
				return err
			}
			w.Params.Scale = t.Type
			arrays = w.Format.arrays(w.Params)
			a = arrays[i]
			a.suffix = suffix
		}
		if a.typ != t.Type {
			return layout.Errorf(layout.ErrInvalid, w.Format.Name, "tensor %s is of type %s; %s is wanted", quote.Name(t.Name), t.Type, a.typ)
		}
		if err := a.extent(t.Name, t.Dims, w.ext); err != nil {
			return err
		}
		if i == 0 {
			if k := w.ext[axisK]; w.Format.oneIsRow && w.Params.Group >= k {
				w.Params.Group = 0
				arrays = w.Format.arrays(w.Params)
			}
			w.ext.group(w.Params)
		}
		w.arrays = append(w.arrays, a)
		w.Tensors = append(w.Tensors, t)
	}
	return nil
}

// group adds the axes of groups and of blocks of groups.
func (e extents) group(p Params) {
	k, ok := e[axisK]
	switch {
	case !ok || p.Group < 0:
	case p.Group == 0:
		e[axisG] = 1
	default:
		e[axisG] = (k + p.Group - 1) / p.Group
	}
	if p.Rows > 0 {
		e[axisR] = (e[axisN] + p.Rows - 1) / p.Rows
	}
	if g, ok := gridTypes[p.Blocks]; ok {
		e[axisJ], e[axisQ] = k/g.size, k/8
	}
	e[axisS] = (k + superBlock - 1) / superBlock
	if p.Sidecar.Nested {
		e[axisB] = (e[axisN]*e[axisG] + nestedBlock - 1) / nestedBlock
	}
}

// has reports whether a tensor with the name of codes can hold codes: one of another type
// or rank is something else with that name, such as a bias. A tensor without elements has
// no codes.
func (f *Format) has(p Params, t Tensor) bool {
	if slices.Contains(t.Dims, 0) {
		return false
	}
	if p.Bits == 0 {
		return slices.ContainsFunc(f.possible(t), func(bits int64) bool {
			p := p
			p.Bits = bits
			return f.has(p, t)
		})
	}
	p, err := f.complete(p, t, extents{})
	if err != nil {
		return f.params == nil // openNamed refuses that
	}
	a := f.arrays(p)[0]
	return a.typ == t.Type && len(t.Dims) == len(strings.Split(a.order, "|"))
}
