package quant

import (
	"maps"
	"slices"

	"github.com/restride/restride/layout"
)

// Plan is a conversion: what it makes, and how, known before anything runs.
type Plan struct {
	From, To *Weight

	moves []move
	fills []fill
	less  []shift
	views map[string]string // of tensors: To's by name, From's
	// sorted: the rows of codes are first put in the order of their groups.
	sorted bool
	back   back
}

// fill is an array that the source does not have, and its numbers.
type fill struct {
	array int // of To's
	role  role
}

// shift says that an array's numbers are stored as less than they are in the source.
type shift struct {
	array int
	by    int64
}

// Plan returns what it takes to have the weight in another format. What a format cannot
// keep is an error, ErrUnsupported, that says the rule.
func (w *Weight) Plan(to *Format) (*Plan, error) {
	if to.accept == nil {
		return nil, to.refuse("it can be read, not written")
	}
	switch p := w.Params; {
	case to.anyCodes:
	case p.Signed:
		return nil, to.refuse("codes with a sign; its own have none")
	case p.Table != to.table:
		return nil, to.refuse("codes that stand for the numbers of %q; its own stand for those of %q", p.Table, to.table)
	}
	params, err := to.accept(to, w.Params, w.ext)
	if err != nil {
		return nil, err
	}
	return w.plan(&Weight{Name: w.Name, Format: to, Params: params}, to.arrays(params))
}

// plan returns the plan of a conversion to a weight that has a format and parameters: of
// those of the format's arrays that the source has numbers for.
func (w *Weight) plan(out *Weight, arrays []array) (*Plan, error) {
	to := out.Format
	out.ext = maps.Clone(w.ext)
	out.ext.group(out.Params)
	if w.ext[axisG] != out.ext[axisG] {
		return nil, to.refuse("groups of %d; there are groups of %d", out.Params.Group, w.Params.Group)
	}
	if to.name != nil {
		out.Name = to.name(w.Name)
	}
	p := &Plan{From: w, To: out}
	p.sorted = out.Params.Sorted && slices.ContainsFunc(arrays, func(a array) bool { return a.has(sorting) })
	for _, a := range arrays {
		if a.has(scales) && !a.has(codes) && !w.has(scales) {
			continue // codes alone
		}
		if err := p.add(a); err != nil {
			return nil, err
		}
	}
	p.findViews()
	return p, p.whole()
}

// add plans an array of the target's.
func (p *Plan) add(a array) error {
	w, out, index := p.From, p.To, len(p.To.arrays)
	for _, s := range a.slots {
		if have, want := w.bits(s.role), s.lo+s.bits; s.role != codes && have > 0 && have != want {
			return out.Format.refuse("%v of %d bits; it has them of %d", s.role, have, want)
		}
	}
	dims, err := a.dims(out.ext)
	if err != nil {
		return err
	}
	r := a.slots[0].role
	if have := w.suffix(r); have != "" && (out.Format.takesNames || w.Format.givesNames) {
		a.suffix = have
	}
	t := Tensor{joined(out.Name, a.suffix), a.typ, dims}
	out.arrays, out.Tensors = append(out.arrays, a), append(out.Tensors, t)
	for _, s := range a.slots {
		dst := s.place(t.Name, out.ext)
		var src []place
		for i, from := range w.arrays {
			for _, have := range from.slots {
				if have.role == s.role && (s.role != zeros || w.Params.Zeros) {
					src = append(src, have.place(w.Tensors[i].Name, w.ext))
					if have.less != s.less {
						p.less = append(p.less, shift{index, s.less - have.less})
					}
				}
			}
		}
		switch {
		case s.role == sorting, s.role == groups && w.Params.Sorted, len(src) == 0:
			p.fills = append(p.fills, fill{index, s.role})
			continue
		case s.role == codes && p.sorted:
			src = []place{slot{order: "k n", pitch: s.bits, bits: s.bits}.place(sortedName, w.ext)}
		}
		some, err := moves([]place{dst}, src, fieldExtents(s, out.ext))
		if err != nil {
			return layout.Named(out.Format.Name, err)
		}
		p.moves = append(p.moves, some...)
	}
	return nil
}

// sortedName stands for codes in the order of their groups.
const sortedName = "\x00sorted"

// suffix returns that of the tensor that has a role's numbers.
func (w *Weight) suffix(r role) string {
	for _, a := range w.arrays {
		if a.slots[0].role == r {
			return a.suffix
		}
	}
	return ""
}

// fieldExtents are those of the axes that a slot has.
func fieldExtents(s slot, ext extents) extents {
	out := extents{}
	for _, d := range append(digits(s.rows), digits(s.order)...) {
		out[d.axis] = ext[d.axis]
	}
	return out
}

// has reports whether an array has numbers of a role.
func (a array) has(r role) bool {
	return slices.ContainsFunc(a.slots, func(s slot) bool { return s.role == r })
}

// has reports whether the weight has numbers of a role.
func (w *Weight) has(r role) bool {
	return slices.ContainsFunc(w.arrays, func(a array) bool { return a.has(r) })
}

// bits returns how many a role's numbers have.
func (w *Weight) bits(r role) (n int64) {
	for _, a := range w.arrays {
		for _, s := range a.slots {
			if s.role == r {
				n = max(n, s.lo+s.bits)
			}
		}
	}
	return n
}

// whole refuses a plan that would lose numbers of the source. Zero points that all are half
// of the range, and groups in order, need no place.
func (p *Plan) whole() error {
	for r := range role(roleCount) {
		if r == zeros && !p.From.Params.Zeros || r == groups && !p.From.Params.Sorted || r == sorting {
			continue
		}
		if p.From.has(r) && !p.To.has(r) {
			return p.To.Format.refuse("the weight has %v, for which it has no place", r)
		}
	}
	return nil
}
