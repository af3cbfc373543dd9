package quant

import (
	"fmt"
	"slices"
)

// Target returns the plan's result for a weight that differs from the plan's own only in
// its name.
func (p *Plan) Target(w *Weight) *Weight {
	out := *p.To
	if out.Name = w.Name; out.Format.name != nil {
		out.Name = out.Format.name(w.Name)
	}
	out.Tensors = slices.Clone(out.Tensors)
	for i, a := range out.arrays {
		out.Tensors[i].Name = joined(out.Name, a.suffix)
	}
	return &out
}

// Kind identifies everything that plans of the weight depend on except its name: two
// weights of one kind have the same plans, apart from names.
func (w *Weight) Kind() string {
	key := fmt.Sprint(w.Format.Name, w.Params, w.ext, w.unordered, w.Heads, w.offset, len(w.Sidecars))
	if w.Partial {
		key += w.Name // which tensors it has parts of is in its arrays
	}
	for i, t := range w.Tensors {
		key += fmt.Sprint(" ", w.arrays[i].suffix, t.Type, t.Dims)
	}
	return key
}
