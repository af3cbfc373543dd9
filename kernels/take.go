package kernels

import (
	"encoding/binary"

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

	// The same work, with at instead of src: it is cut in the same way.
	q := problem{target: t, dBits: wide, dBase: p.dBase}
	for i := range d.Rank() {
		q.axes = append(q.axes, axis{d.Dim(i), d.Stride(i), a.Stride(i)})
	}
	l, err := p.plan("take", func(k *parameters) (Spec, error) {
		var indices parameters
		if err := q.cutTake(&indices); err != nil {
			return Spec{}, err
		}
		err := p.cutTake(k)
		k.na, k.sa = uint32(len(by)), indices.s
		k.more = indices.encode(0)[headerBytes:]
		for _, x := range by {
			for _, v := range []int64{x.Offset, x.Extent, x.Stride / per, 0} {
				k.more = binary.LittleEndian.AppendUint64(k.more, uint64(v))
			}
		}
		spec := p.spec(Take)
		spec.AtBits = uint8(atBits)
		return spec, err
	})
	l.a = a.Offset() - at.Offset()
	return l, err
}

func (p *problem) cutTake(k *parameters) error {
	if p.dBits < 8 {
		return p.planWords(k, len(p.axes), 1)
	}
	return k.cutItems(p.innermostFirst(), itemsPerBlock)
}

// AtBase returns a take's argument lo, the base of its indices, for indices with this
// offset. The launch fits any.
func (l *Launch) AtBase(at int64) int64 { return at + l.a }
