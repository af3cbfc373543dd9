package quant

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/restride/restride/internal/digits"
	"github.com/restride/restride/layout"
)

// Plan is a conversion: its result and its steps, known before anything runs.
type Plan struct {
	From, To *Weight

	moves []move
	fills []fill
	less  []shift
	views map[string]string // from names of To's tensors to From's
	// sorted: the rows of codes are first sorted by group, or put back.
	sorted bool
	// groupRatio is the number of the target's groups per group of the source.
	groupRatio int64
	// plain is the plan that moves operands to plain order, or results from there; nil:
	// nothing is computed.
	plain *Plan
	// of is the plan that this one is a piece of; nil: none.
	of *Plan
	// adapt is what changes between plain and the target; nil: nothing.
	adapt *adaption
	// carry is the view that is converted; nil: the plan is of a weight.
	carry *carrying
	back  back
}

// fill is an array whose numbers the source does not have.
type fill struct {
	array int // of To's
	role  role
}

// shift says that an array's stored numbers are smaller than in the source by an amount
// that moves cannot subtract.
type shift struct {
	array int
	by    int64
}

// Plan returns the plan to convert the weight to another format. If the format cannot
// represent the weight, the error is ErrUnsupported and names the rule.
func (w *Weight) Plan(to *Format) (*Plan, error) {
	if to.accept == nil {
		return nil, to.refuse("it can be read, not written")
	}
	if w.Format.numbers && !to.numbers && to.blocks == "" {
		return nil, to.refuse("the weight has numbers, no codes; numbers become %s, %s and %s", q40.Name, q80.Name, mxfp4.Name)
	}
	if (w.Format.onlyNumbers || w.Params.Table == gridTable || w.Params.Sidecar.Outputs > 0 || w.Params.Rank == 1 && to != gguf) && !to.numbers {
		return nil, to.refuse("only %s has these codes and scales; they become numbers (%s)", w.Format.Name, floats.Name)
	}
	if w.Params.Sidecar.Nested && !to.numbers {
		return nil, to.refuse("the weight's scales are codes, which have scales themselves; %s has its numbers", floats.Name)
	}
	if p := w.Params; !to.anyCodes && p.Table != to.table {
		return nil, to.refuse("codes that stand for the numbers of %q; its own stand for those of %q", p.Table, to.table)
	}
	if err := w.ordered(); err != nil {
		return nil, err
	}
	have := w.Params
	have.ZeroLess = false // only gptq-v1 keeps it
	if to.written() == gguf {
		have.Head = w.Heads
	}
	params, err := to.accept(to, have, w.ext)
	if err != nil {
		return w.planAdapted(to, err)
	}
	params.Signed, params.Sidecar = params.Signed && to.signs, sidecar{}
	out := &Weight{Name: w.Name, Format: to.written(), Params: params}
	return w.plan(out, out.Format.arrays(params))
}

// written returns the format of weights once they are written: numbers become GGUF's
// blocks.
func (f *Format) written() *Format {
	if f.blocks != "" {
		return gguf
	}
	return f
}

// plan returns the plan of a conversion to a weight with a format and parameters, for those
// of the format's arrays whose numbers the source has.
func (w *Weight) plan(out *Weight, arrays []array) (*Plan, error) {
	to := out.Format
	switch {
	case to.numbers:
		return w.planNumbers(out)
	case w.Format.numbers:
		return w.planBlocks(out)
	}
	out.ext = maps.Clone(w.ext)
	out.ext.group(out.Params)
	if to.name != nil {
		out.Name = to.name(w.Name)
	}
	p := &Plan{From: w, To: out, groupRatio: 1}
	if err := p.sameAxes(arrays[0]); err != nil {
		return nil, err
	}
	if err := p.refine(); err != nil {
		return nil, err
	}
	p.sorted = slices.ContainsFunc(arrays, func(a array) bool { return a.has(sorting) }) && out.Params.Sorted
	p.sorted = p.sorted != w.has(sorting)
	for _, a := range arrays {
		if (a.has(scales) || a.has(tensorScale)) && !a.has(codes) && !w.has(a.slots[0].role) {
			continue // codes only
		}
		if err := p.add(a); err != nil {
			return nil, err
		}
	}
	p.findViews()
	return p, p.complete()
}

// sameAxes refuses a target whose codes have axes other than the source's, such as experts.
func (p *Plan) sameAxes(to array) error {
	have, want := codeAxes(p.From.arrays[0], p.From.ext), codeAxes(to, p.To.ext)
	if have != want {
		return p.To.Format.refuse("axes %s; its own are %s", have, want)
	}
	return nil
}

// codeAxes lists the axes of an array's codes, except axes of extent 1.
func codeAxes(a array, ext extents) string {
	var out []byte
	for _, s := range a.slots {
		if s.role != codes {
			continue
		}
		for axis := range fieldExtents(s, ext) {
			if n, ok := ext[axis]; (!ok || n != 1) && !slices.Contains(out, axis) {
				out = append(out, axis)
			}
		}
	}
	slices.Sort(out)
	return string(out)
}

// refine lets several groups of the target share the scale of one source group.
func (p *Plan) refine() error {
	w, out := p.From, p.To
	have, want := cmp.Or(w.Params.Group, w.ext[axisK]), cmp.Or(out.Params.Group, out.ext[axisK])
	switch {
	case have == want:
		return nil
	case w.ext[axisG] <= 1:
		p.groupRatio = max(1, out.ext[axisG])
		return nil
	}
	if want == 0 || have%want != 0 {
		return out.Format.refuse("groups of %d; there are groups of %d", want, have)
	}
	p.groupRatio = have / want
	return nil
}

// source returns a slot's place in the source, with the target's groups.
func (p *Plan) source(i int, s slot) place {
	at := s.place(p.From.Tensors[i].Name, p.From.ext)
	for i := range at.digits {
		if d := &at.digits[i]; d.Axis == axisG {
			d.Div *= p.groupRatio
		}
	}
	return at
}

// add plans an array of the target.
func (p *Plan) add(a array) error {
	w, out, index := p.From, p.To, len(p.To.arrays)
	for _, s := range a.slots {
		if have, want := w.bits(s.role), (&Weight{arrays: []array{a}}).bits(s.role); s.role != codes && have > 0 && have != want {
			return out.Format.refuse("%v of %d bits; it has them of %d", s.role, have, want)
		}
	}
	dims, err := a.dims(out.ext)
	if err != nil {
		return err
	}
	r := a.slots[0].role
	if w.Format == gguf && out.Format == gguf {
		a.suffix = w.arrays[index].suffix
	}
	if have := w.suffix(r); have != "" && out.Format.keepsName(r, have) {
		a.suffix = have
	}
	t := Tensor{Name: joined(out.Name, a.suffix), Type: a.typ, Dims: dims}
	out.arrays, out.Tensors = append(out.arrays, a), append(out.Tensors, t)
	for _, s := range a.slots {
		dst := s.place(t.Name, out.ext)
		var src []place
		for i, from := range w.arrays {
			for _, have := range from.slots {
				if have.role == s.role && (s.role != zeros || w.Params.Zeros) {
					src = append(src, p.source(i, have))
				}
			}
		}
		switch {
		case s.role == shape, (s.role == sorting || s.role == groups) && p.sorted, len(src) == 0:
			if s.role != zeros && s.role != groups && s.role != sorting && s.role != shape {
				return out.Format.refuse("the weight has no %v", s.role)
			}
			p.fills = append(p.fills, fill{index, s.role})
			continue
		case s.role == codes && p.sorted:
			src = []place{slot{order: "k n", pitch: w.Params.Bits, bits: w.Params.Bits}.place(sortedName, w.ext)}
		}
		some, err := moves([]place{dst}, src, fieldExtents(s, out.ext))
		if errors.Is(err, errParts) && len(a.slots) == 1 {
			p.less = append(p.less, shift{index, s.less - src[0].less})
			for i := range src {
				src[i].less = dst.less
			}
			some, err = moves([]place{dst}, src, fieldExtents(s, out.ext))
		}
		if err != nil {
			return layout.Named(out.Format.Name, err)
		}
		p.moves = append(p.moves, some...)
	}
	return nil
}

// sortedName stands for codes sorted by group.
const sortedName = "\x00sorted"

// suffix returns the suffix of the tensor that has only a role's numbers.
func (w *Weight) suffix(r role) string {
	for _, a := range w.arrays {
		if !slices.ContainsFunc(a.slots, func(s slot) bool { return s.role != r }) {
			return a.suffix
		}
	}
	return ""
}

// fieldExtents are the extents of a slot's axes.
func fieldExtents(s slot, ext extents) extents {
	out := extents{}
	for _, d := range append(digitsOf(s.rows), digitsOf(s.order)...) {
		if d.Axis != digits.NoAxis {
			out[d.Axis] = ext[d.Axis]
		}
	}
	return out
}

// has reports whether an array has numbers with a role.
func (a array) has(r role) bool {
	return slices.ContainsFunc(a.slots, func(s slot) bool { return s.role == r })
}

// has reports whether the weight has numbers with a role.
func (w *Weight) has(r role) bool {
	return slices.ContainsFunc(w.arrays, func(a array) bool { return a.has(r) })
}

// bits returns the number of bits of a role's numbers.
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

// complete refuses a plan that would lose numbers of the source. Zero points that are all
// half of the range, and groups in order, need not be stored.
func (p *Plan) complete() error {
	if p.From.unordered && !p.From.Params.Sorted && !p.To.has(groups) {
		return p.To.Format.refuse("the weight's groups are not in order (g_idx), for which it has no place")
	}
	for r := range role(roleCount) {
		if r == zeros && !p.From.Params.Zeros || r == groups && !p.From.Params.Sorted || r == sorting || r == shape {
			continue
		}
		if p.From.has(r) && !p.To.has(r) {
			return p.To.Format.refuse("the weight has %v, for which it has no place", r)
		}
	}
	return nil
}
