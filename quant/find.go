package quant

import (
	"slices"
	"strings"
	"sync"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Refused is a weight of a file that cannot be opened.
type Refused struct {
	Name string // of the weight
	Err  error
}

// Find opens a file's weights of a format, in the order of its tensors. rest are the
// tensors that do not belong to them. If p and the tensors do not determine a weight, the
// error is ErrUnsaid.
func Find(f *Format, p Params, tensors []Tensor) (weights []*Weight, rest []Tensor, err error) {
	return FindBy(f, func(_, _ string) (Params, bool) { return p, true }, tensors)
}

// FindBy is Find for weights with different parameters: params returns the parameters for a
// weight with the given name and tensor of codes, or false if it is not a weight.
func FindBy(f *Format, params func(codes, name string) (Params, bool), tensors []Tensor) (weights []*Weight, rest []Tensor, err error) {
	weights, refused, rest := FindEach(f, params, tensors)
	if len(refused) > 0 {
		return nil, nil, refused[0].Err
	}
	return weights, rest, nil
}

// FindEach is FindBy, except that weights that cannot be opened do not stop it. Their tensors
// are among the rest.
func FindEach(f *Format, params func(codes, name string) (Params, bool), tensors []Tensor) (weights []*Weight, refused []Refused, rest []Tensor) {
	t := newTensorNames(tensors)
	used, shared := map[string]bool{}, map[string]*Weight{}
	for _, codes := range tensors {
		names, ok := f.naming(codes.Name, t.lookup)
		if !ok {
			continue
		}
		prefix, _ := suffixed(codes.Name, names[0])
		p, ok := params(codes.Name, prefix)
		if !ok || !f.has(p, codes) {
			continue
		}
		w, err := openNamed(f, p, codes.Name, t.lookup)
		if err != nil {
			if !strings.Contains(err.Error(), quote.Plain(prefix)) {
				err = layout.Named(quote.Plain(prefix), err)
			}
			refused = append(refused, Refused{prefix, err})
			continue
		}
		w.share(shared)
		weights = append(weights, w)
		for _, t := range slices.Concat(w.Tensors, w.Sidecars) {
			used[t.Name] = true
		}
	}
	modules := sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for name := range used {
			all[moduleOf(name)] = true
		}
		return all
	})
	for _, w := range weights {
		w.Beside = t.beside(w, used, modules)
	}
	for _, t := range tensors {
		if !used[t.Name] {
			rest = append(rest, t)
		}
	}
	return weights, refused, rest
}

// share lets a weight have the extents and arrays of another of its kind: nobody changes them.
func (w *Weight) share(kinds map[string]*Weight) {
	kind := w.Kind()
	if other := kinds[kind]; other != nil {
		w.ext, w.arrays = other.ext, other.arrays
	} else if len(kinds) < mostRemembered {
		kinds[kind] = w
	}
}

// tensorNames finds tensors by their names, and by the beginning of these.
type tensorNames struct {
	all    []Tensor
	byName map[string]int32
	sorted []int32 // positions in all, in the order of names
}

func newTensorNames(all []Tensor) *tensorNames {
	t := &tensorNames{all: all, byName: make(map[string]int32, len(all)), sorted: make([]int32, len(all))}
	for i, x := range all {
		t.byName[x.Name], t.sorted[i] = int32(i), int32(i)
	}
	slices.SortFunc(t.sorted, func(a, b int32) int { return strings.Compare(all[a].Name, all[b].Name) })
	return t
}

func (t *tensorNames) lookup(name string) (Tensor, bool) {
	i, ok := t.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return t.all[i], true
}

// withoutEffect are the endings of the names of tensors beside a weight that do not change its
// numbers: they are for its inputs, its outputs and the cache.
var withoutEffect = []string{
	"bias", "input_scale", "input_global_scale", "input_zero_point", "activation_scale", "output_scale", "k_scale", "v_scale", "q_scale", "prob_scale", "kv_scale",
	"orig_shape",
}

// moduleOf returns a name without its last part.
func moduleOf(name string) string { return name[:max(0, strings.LastIndexByte(name, '.'))] }

// beside returns the tensors under a weight's name that are not its own, nor in modules with other
// weights, nor known to have no effect. modules returns those with weights.
func (t *tensorNames) beside(w *Weight, used map[string]bool, modules func() map[string]bool) (found []Tensor) {
	if w.Name == "" || w.Format.codesOnly || w.Format.numbers {
		return nil
	}
	separator := "."
	if strings.HasPrefix(w.Format.suffix, "_") {
		separator = "_"
	}
	prefix := w.Name + separator
	at, _ := slices.BinarySearchFunc(t.sorted, prefix, func(i int32, prefix string) int { return strings.Compare(t.all[i].Name, prefix) })
	for ; at < len(t.sorted) && strings.HasPrefix(t.all[t.sorted[at]].Name, prefix); at++ {
		x := t.all[t.sorted[at]]
		rest := strings.TrimPrefix(x.Name, prefix)
		inner := strings.TrimPrefix(rest, "weight.")
		if used[x.Name] || slices.Contains(withoutEffect, rest) {
			continue
		}
		other := false
		for m := moduleOf(inner); m != ""; m = moduleOf(m) {
			other = other || modules()[prefix+m]
		}
		if !other {
			found = append(found, x)
		}
	}
	return found
}
