package kernels

// Field is for fields of a few bits at some pitch on either side: see source/field.h.
const Field Form = "field"

// fieldSpecs lists the kernels of this form.
func fieldSpecs() []Spec { return []Spec{{Form: Field, DstBits: 1, SrcBits: 1}} }

const (
	// widestField and widestPitch are the most bits of a field, and of those from one to
	// the next in dst: every word has a part of one.
	widestField, widestPitch = 16, 32
	// fewFields is the number in a run from which this is cheaper than element by element.
	fewFields = 8
)

// planFields plans a copy of fields along an axis: of single bits, or of several elements
// below a byte that are no wider element. False: it is something else.
func (p *problem) planFields(k *parameters) (Spec, bool) {
	if p.target.Serial || p.long || p.dBits > 2 || len(p.axes) == 0 {
		return Spec{}, false
	}
	unit, n, rest := int64(p.dBits), int64(1), p.innermostFirst()
	if in := rest[0]; in.d == 1 && in.s == 1 {
		n, rest = in.n, rest[1:]
	}
	if len(rest) == 0 || n > widestField/unit || unit == 2 && n != 3 {
		return Spec{}, false
	}
	x := rest[0]
	pitch, width := x.d*unit, n*unit
	if x.n < fewFields || pitch == 1 || pitch > widestPitch || (x.n-1)*pitch+width >= limit {
		return Spec{}, false
	}
	rest = p.single(rest, unit)
	k.length = (x.n-1)*pitch + width
	k.na, k.nb = uint32(x.n), uint32(width)
	k.run = []axis{{pitch, pitch, x.s * unit}}
	if k.cutSpans((p.phase(32, rest[1:])+k.length+31)/32, 1, itemsPerBlock, rest[1:]) != nil {
		*k = parameters{}
		return Spec{}, false
	}
	return p.spec(Field), true
}

// single makes p's elements single bits, which were unit bits each, and returns such axes.
func (p *problem) single(axes []axis, unit int64) []axis {
	out := make([]axis, len(axes))
	for i, a := range axes {
		out[i] = axis{a.n, a.d * unit, a.s * unit}
	}
	p.dBase *= unit
	p.sBase *= unit
	p.d.parts, p.s.parts = unit, unit
	p.dBits, p.sBits = 1, 1
	return out
}
