package kernels

import (
	"encoding/binary"
	"slices"

	"github.com/restride/restride/layout"
)

// Takes: copies whose positions in src depend on indices in memory.

// Take takes an element, or a word of narrow ones, per item.
const Take Form = "take"

// takeSpecs lists the kernels of takes.
func takeSpecs() []Spec {
	var all []Spec
	for _, serial := range []bool{false, true} {
		for _, bits := range []uint8{2, 4, 8, 16, 32, 64, 128} {
			for _, at := range []uint8{32, 64} {
				all = append(all, Spec{Form: Take, DstBits: bits, SrcBits: bits, AtBits: at, Serial: serial})
			}
		}
	}
	return all
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
	l, err := p.plan("take", func(k *parameters) (Spec, error) {
		indices, err := p.cutTake(k, steps)
		if err != nil {
			return Spec{}, err
		}
		k.na, k.sa = uint32(len(by)), indices.s
		k.more = indices.encode(0)[headerBytes:]
		for _, x := range by {
			for _, v := range []int64{x.Offset, x.Extent, x.Stride / per, 0} {
				k.more = binary.LittleEndian.AppendUint64(k.more, uint64(v))
			}
		}
		spec := p.spec(Take)
		spec.AtBits = uint8(atBits)
		return spec, nil
	})
	l.a = a.Offset() - at.Offset()
	return l, err
}

// cutTake cuts a take into blocks, and the same work with at instead of src, whose
// steps it is given.
func (p *problem) cutTake(k *parameters, steps []int64) (indices parameters, err error) {
	q := problem{target: p.target, dBits: p.dBits, dBase: p.dBase, axes: slices.Clone(p.axes)}
	for i := range q.axes {
		q.axes[len(q.axes)-1-i].s = steps[i]
	}
	switch {
	case p.dBits < 8:
		if err := p.planWords(k, len(p.axes), 1); err != nil {
			return indices, err
		}
		return indices, q.planWords(&indices, len(p.axes), 1)
	case p.target.Serial:
		if err := k.cutItems(p.innermostFirst(), itemsPerBlock); err != nil {
			return indices, err
		}
		return indices, indices.cutItems(q.innermostFirst(), itemsPerBlock)
	}
	if err := k.cutElements(p.spec(Take), p.innermostFirst()); err != nil {
		return indices, err
	}
	err = indices.cutElements(p.spec(Take), q.innermostFirst())
	k.numberRows(&indices)
	return indices, err
}

// numberRows numbers a block's rows: the combinations of indices along the axes that at
// has steps along.
func (k *parameters) numberRows(indices *parameters) {
	k.nb = 1
	for i := range indices.inner {
		a := &indices.inner[i]
		if a.d = 0; a.s != 0 {
			k.run = append(k.run, *a)
			a.d = int64(k.nb)
			k.nb *= uint32(a.n)
		}
	}
	if indices.run = k.run; indices.s != 0 {
		k.ta = k.nb
	}
}

// AtBase returns a take's argument lo, the base of its indices, for indices with this
// offset. The launch fits any.
func (l *Launch) AtBase(at int64) int64 { return at + l.a }
