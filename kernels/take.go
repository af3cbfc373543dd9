package kernels

import (
	"encoding/binary"
	"slices"

	"github.com/restride/restride/layout"
)

// Takes: copies whose positions in src depend on indices in memory.

// The forms of takes.
const (
	Take Form = "take" // of rows, whose elements have their indices in common
	Pick Form = "pick" // of elements by an index each
)

// takes reports whether a kernel has indices.
func (s Spec) takes() bool { return s.Form == Take || s.Form == Pick || s.Form == Join }

// takeSpecs lists the kernels of takes.
func takeSpecs() []Spec {
	var all []Spec
	for _, serial := range []bool{false, true} {
		for _, bits := range []uint8{2, 4, 8, 16, 32, 64, 128} {
			for _, at := range []uint8{32, 64} {
				if bits >= 8 || serial {
					all = append(all, Spec{Form: Take, DstBits: bits, SrcBits: bits, AtBits: at, Serial: serial})
				}
				if bits >= 8 && !serial {
					all = append(all, Spec{Form: Pick, DstBits: bits, SrcBits: bits, AtBits: at})
				}
			}
		}
	}
	return append(all, joinSpecs()...)
}

// PlanTake plans a take between layouts of one shape: of elements of 2 to 128
// bits, by indices of 32 or 64.
func PlanTake(dst, src, at layout.Layout, by []layout.Index, bits, atBits int, t Target) (Launch, error) {
	p := problem{op: "Take", target: t}
	d, s, a := dst, src, at
	layout.Simplify(&d, &s, &a)
	wide := layout.Widen(bits, layout.WidthLimit(by, bits, 128), &d, &s, &a)
	per := int64(wide / bits)
	p.sBits = wide
	p.walk(d, s, dst.Offset(), src.Offset(), wide, per)

	steps := make([]int64, 0, d.Rank()) // of at, innermost first
	for i := d.Rank(); i > 0; i-- {
		steps = append(steps, a.Stride(i-1))
	}
	join := p.joins(steps, len(by))
	if join {
		steps = p.split(steps)
	}
	l, err := p.plan("take", func(k *parameters) (Spec, error) {
		var indices parameters
		form, err := p.cutTake(k, &indices, steps, join)
		if err != nil {
			return Spec{}, err
		}
		k.na, k.sa = uint32(len(by)), indices.s
		k.more = indices.encode(0)[headerBytes:]
		for _, x := range by {
			for _, v := range []int64{x.Offset, x.Extent, x.Stride / per * p.s.parts, 0} {
				k.more = binary.LittleEndian.AppendUint64(k.more, uint64(v))
			}
		}
		spec := p.spec(form)
		spec.AtBits = uint8(atBits)
		return spec, nil
	})
	l.a = a.Offset() - at.Offset()
	return l, err
}

// cutTake cuts a take into blocks for a kernel of a form, and the same work with at, whose
// steps it is given, in place of src.
func (p *problem) cutTake(k, indices *parameters, steps []int64, join bool) (Form, error) {
	q := problem{target: p.target, dBits: p.dBits, dBase: p.dBase, bytes: p.bytes, axes: slices.Clone(p.axes)}
	for i := range q.axes {
		q.axes[len(q.axes)-1-i].s = steps[i]
	}
	cut := func(f Form) error {
		*k, *indices = parameters{}, parameters{}
		for _, c := range []struct {
			*problem
			to *parameters
		}{{p, k}, {&q, indices}} {
			if err := c.cutFor(f, c.to); err != nil {
				return err
			}
		}
		return nil
	}
	if join {
		return Join, cut(Join)
	}
	if err := cut(Take); err != nil || p.target.Serial {
		return Take, err
	}
	if rows := k.numberRows(indices); rows*takeRepeats <= int64(k.flat)*int64(k.cut) {
		return Take, nil
	}
	return Pick, cut(Pick)
}

// cutFor cuts one side of a take into blocks.
func (p *problem) cutFor(f Form, k *parameters) error {
	switch {
	case f == Join:
		return p.planJoin(k)
	case p.dBits < 8:
		return p.planWords(k, len(p.axes), 1)
	}
	return k.cutElements(p.spec(f), p.innermostFirst())
}

// takeRepeats is how many elements there are at least for each of a block's rows.
const takeRepeats = 2

// numberRows numbers a block's rows: the combinations of indices along the axes that at
// has steps along. It returns how many these are.
func (k *parameters) numberRows(indices *parameters) int64 {
	k.nb = 1
	for i := range indices.inner {
		a := &indices.inner[i]
		if a.d = 0; a.s != 0 {
			k.run = append(k.run, *a)
			a.d = int64(k.nb)
			k.nb *= uint32(a.n)
		}
	}
	indices.run = k.run
	if indices.s == 0 {
		return int64(k.nb)
	}
	k.ta = k.nb
	return int64(k.nb) * int64(k.cut)
}

// AtBase returns a take's argument lo, the base of its indices, or a where's, that of
// cond, for this offset. The launch fits any.
func (l *Launch) AtBase(at int64) int64 { return at + l.a }
