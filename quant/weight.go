package quant

import (
	"strings"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Tensor is a tensor as a file describes it.
type Tensor struct {
	Name string
	Type string // as package checkpoint names it: "I32", "Q4_0"
	Dims []int64
}

// Weight is a matrix, or a batch of them, in a format: the tensors that have it.
type Weight struct {
	Name    string // what the names of its tensors have in common
	Format  *Format
	Params  Params
	Tensors []Tensor

	ext    extents
	arrays []array // of Tensors
}

// suffixed returns what comes before a suffix in a tensor's name. A name may be the suffix
// alone, without its point.
func suffixed(name, suffix string) (prefix string, ok bool) {
	if "."+name == suffix {
		return "", true
	}
	return strings.CutSuffix(name, suffix)
}

// joined is the opposite of suffixed.
func joined(prefix, suffix string) string {
	if prefix == "" {
		return strings.TrimPrefix(suffix, ".")
	}
	return prefix + suffix
}

// Open finds the weight of a format whose codes are in the named tensor. lookup returns
// the file's tensor of a name.
func Open(f *Format, p Params, name string, lookup func(string) (Tensor, bool)) (*Weight, error) {
	first, ok := lookup(name)
	if !ok {
		return nil, layout.Errorf(layout.ErrInvalid, f.Name, "there is no tensor %s", quote.Name(name))
	}
	w := &Weight{Format: f, ext: extents{}}
	if f.params != nil {
		var err error
		if p, err = f.params(p, first, w.ext); err != nil {
			return nil, err
		}
	}
	if p.Bits < 1 || p.Bits > 8 {
		return nil, layout.Errorf(layout.ErrInvalid, f.Name, "codes of %d bits; 1 to 8 are wanted", p.Bits)
	}
	w.Params = p
	w.Name, ok = suffixed(name, f.suffix)
	if !ok {
		return nil, layout.Errorf(layout.ErrInvalid, f.Name, "tensor %s; a name that ends in %s is wanted", quote.Name(name), f.suffix)
	}
	for i, a := range f.arrays(p) {
		t, ok := lookup(joined(w.Name, a.suffix))
		switch {
		case !ok && i == 0:
			return nil, layout.Errorf(layout.ErrInvalid, f.Name, "there is no tensor %s", quote.Name(name))
		case !ok:
			continue
		}
		if a.typ == "" {
			a.typ = t.Type
			w.Params.Scale = t.Type
		}
		if a.typ != t.Type {
			return nil, layout.Errorf(layout.ErrInvalid, f.Name, "tensor %s is of type %s; %s is wanted", quote.Name(t.Name), t.Type, a.typ)
		}
		if err := a.extent(t.Dims, w.ext); err != nil {
			return nil, err
		}
		if i == 0 {
			w.ext.group(p)
		}
		w.arrays = append(w.arrays, a)
		w.Tensors = append(w.Tensors, t)
	}
	if p.Group < 0 {
		w.Params.Group = 0
		if g := w.ext[axisG]; g > 1 {
			if w.Params.Group = w.ext[axisK] / g; w.ext[axisK]%g != 0 {
				return nil, layout.Errorf(layout.ErrInvalid, f.Name, "%s has scales for %d groups of %d columns", quote.Name(name), g, w.ext[axisK])
			}
		}
		w.ext.group(w.Params)
	}
	return w, nil
}

// group adds the axes of groups and of blocks of them.
func (e extents) group(p Params) {
	k, ok := e[axisK]
	switch {
	case !ok || p.Group < 0:
	case p.Group == 0:
		e[axisG] = 1
	default:
		e[axisG] = (k + p.Group - 1) / p.Group
	}
	e[axisS] = (k + superBlock - 1) / superBlock
}

// Find opens the weights of a format that a file has, in the order of its tensors, those
// whose names match says to. rest are the tensors that are no part of them.
func Find(f *Format, p Params, tensors []Tensor, match func(name string) bool) (weights []*Weight, rest []Tensor, err error) {
	byName := make(map[string]Tensor, len(tensors))
	for _, t := range tensors {
		byName[t.Name] = t
	}
	lookup := func(name string) (Tensor, bool) {
		t, ok := byName[name]
		return t, ok
	}
	used := map[string]bool{}
	for _, t := range tensors {
		if prefix, ok := suffixed(t.Name, f.suffix); !ok || !match(prefix) || !f.has(p, t) {
			continue
		}
		w, err := Open(f, p, t.Name, lookup)
		if err != nil {
			return nil, nil, err
		}
		weights = append(weights, w)
		for _, t := range w.Tensors {
			used[t.Name] = true
		}
		if f.drops != "" {
			used[joined(w.Name, f.drops)] = true
		}
	}
	for _, t := range tensors {
		if !used[t.Name] {
			rest = append(rest, t)
		}
	}
	return weights, rest, nil
}

// has reports whether a tensor with the name of codes can be codes: one of another type, or
// rank, is something else that is named so, such as a bias.
func (f *Format) has(p Params, t Tensor) bool {
	if f.params != nil {
		var err error
		if p, err = f.params(p, t, extents{}); err != nil {
			return false
		}
	}
	if p.Bits < 1 || p.Bits > 8 {
		return true // which Open refuses
	}
	a := f.arrays(p)[0]
	return a.typ == t.Type && len(t.Dims) == len(strings.Split(a.order, "|"))
}
