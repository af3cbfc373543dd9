package planner

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/plankey"
	"github.com/restride/restride/layout"
)

// Scalings: elements that are multiplied and added to, or divided, by terms with their own
// layouts.

// scaling describes a dequantization or a quantization, except for layouts.
type scaling struct {
	Quantize         bool
	To, From         layout.DType
	Scale, Zero, Add layout.DType // Invalid: absent
	Subtract         bool
	Precision        layout.DType
	Unsaturated      bool
	FindScale        bool
}

// termLayouts are the layouts of scale, zero and add; nil: absent.
type termLayouts [3]*layout.Layout

// Scales reports whether a kernel has terms, and therefore different arguments.
func (s Spec) Scales() bool { return s.form().does == scales }

// Computes reports whether a kernel does floating-point arithmetic, which drivers may leave to the
// device: see source/arithmetic.h.
func (s Spec) Computes() bool { return s.Scales() || s.Form == Fold }

// scalingSpecs lists the kernels that scale.
func scalingSpecs() []Spec {
	var all []Spec
	for _, cpu := range []bool{false, true} {
		for _, bits := range []uint8{16, 32, 64} {
			all = append(all, Spec{Form: Dequantize, DstBits: bits, SrcBits: 32, CPUTarget: cpu})
		}
		for _, bits := range []uint8{2, 4, 8} {
			if !cpu {
				all = append(all, Spec{Form: DequantizeCodes, DstBits: 16, SrcBits: bits}, Spec{Form: DequantizeCodes, DstBits: 32, SrcBits: bits})
			}
		}
		for _, bits := range []uint8{2, 4, 8, 16} {
			all = append(all, Spec{Form: Quantize, DstBits: bits, SrcBits: 32, CPUTarget: cpu})
		}
		for _, bits := range []uint8{4, 8} {
			all = append(all, Spec{Form: Blocks, DstBits: bits, SrcBits: 32, CPUTarget: cpu})
			if !cpu {
				all = append(all, Spec{Form: Codes, DstBits: bits, SrcBits: 32})
			}
		}
	}
	return all
}

// scalingDefines are the macros of these forms.
func scalingDefines(s Spec) []string {
	quantize := "0"
	if s.Form == Quantize {
		quantize = "1"
	}
	each := int(s.scaledItem())
	if s.form().manyScaled {
		each /= 2 // two at a time
	}
	return []string{
		"QUANTIZE " + quantize, fmt.Sprintf("SINGLE %#x", number(layout.Float32, device.Rounding{})),
		"EACH " + strconv.Itoa(each), "ITEM_S " + strconv.Itoa(each*int(s.SrcBits)),
	}
}

// scaledItem is the number of elements per item where elements are dense: 32 bytes of dst, or as
// many floats as become 16 bytes. Finding the terms takes as long as several elements.
func (s Spec) scaledItem() int64 {
	if s.Form == Codes {
		return 16
	}
	return 256 / int64(s.DstBits)
}

// itemSpec is the kernel with several elements per item; false: there is none.
func (p *scaled) itemSpec() (Spec, bool) {
	by := p.by
	s := Spec{Form: DequantizeCodes, DstBits: uint8(by.To.Bits()), SrcBits: uint8(by.From.Bits())}
	some := s.DstBits <= 32 && s.SrcBits >= 2 && s.SrcBits <= 8
	if by.Quantize {
		s.Form, s.SrcBits = Codes, 32
		some = (s.DstBits == 4 || s.DstBits == 8) && numeric.KindOf(by.From) == numeric.FloatKind && by.From.Bits() >= 16 && by.Precision != layout.Float16 && by.Precision != layout.BFloat16
	}
	return s, some && !p.target.CPU && !p.manyAxes && (by.Zero == layout.Invalid || by.Zero.Bits() <= 16) && len(p.axes) > 0 && len(p.axes) <= 8
}

// gather combines a scaling's elements into items, if rows of both sides consist of whole items
// that share their terms. It returns the kernel for these.
func (p *scaled) gather() (Spec, refusal) {
	s, some := p.itemSpec()
	if !some {
		return s, otherWidth
	}
	each, last := s.scaledItem(), len(p.axes)-1
	in := &p.axes[last]
	whole := in.D == 1 && in.S == 1 && in.N%each == 0 && p.dBase%each == 0 && p.sBase%each == 0
	for i := range p.terms {
		whole = whole && p.terms[i].Stride(last) == 0
	}
	for _, a := range p.axes[:last] {
		whole = whole && a.D%each == 0 && a.S%each == 0
	}
	if !whole {
		return s, sharedTerms
	}
	in.N /= each
	for i := range p.axes[:last] {
		p.axes[i].D /= each
		p.axes[i].S /= each
	}
	shift := uint8(bits.TrailingZeros64(uint64(each)))
	p.d, p.s = base{p.d.add, shift, 1}, base{p.s.add, shift, 1}
	p.dBase, p.sBase = p.dBase/each, p.sBase/each
	return s, ""
}

// scaled is a problem with scaled elements.
type scaled struct {
	*problem
	by    scaling
	terms []layout.Layout // of the problem's shape
}

// scalePlanners are the planners of scalings.
var scalePlanners = []planner[*scaled]{
	{"items", false, func(p *scaled, _ *offer) (offer, refusal) { return p.offerItems() }},
	{"elements", false, func(p *scaled, _ *offer) (offer, refusal) { return p.offerElements() }},
}

// offerItems offers the kernel with several elements per item.
func (p *scaled) offerItems() (offer, refusal) {
	items := &scaled{p.clone(), p.by, p.terms}
	spec, why := items.gather()
	if why != "" {
		return offer{}, why
	}
	var k parameters
	if items.cut(&k, spec) != nil {
		return offer{}, longAxes
	}
	*p.problem = *items.problem
	k.ta = p.apart(spec.scaledItem())
	return laid(spec, &k, nil)
}

// offerElements offers the kernel for elements anywhere.
func (p *scaled) offerElements() (offer, refusal) {
	spec, k := p.spec(Dequantize), parameters{}
	if p.by.Quantize {
		spec = p.spec(Quantize)
	}
	return laid(spec, &k, p.cut(&k, spec))
}

// planScaling plans a scaling between layouts of one shape.
func (p *problem) planScaling(dst, src layout.Layout, terms termLayouts, by scaling) (Launch, error) {
	p.sBits = 32
	if by.FindScale {
		return p.planBlocks(dst, src, *terms[0], by)
	}
	var sides [5]layout.Layout
	all := make([]*layout.Layout, len(sides))
	sides[0], sides[1] = dst, src
	for i := range sides {
		if all[i] = &sides[i]; i < 2 {
			continue
		}
		if l := terms[i-2]; l != nil {
			sides[i] = *l
		} else {
			sides[i], _ = layout.Strided(dst.Shape(), make([]int64, dst.Rank()), 0) // of a valid shape
		}
	}
	layout.Simplify(all...)
	p.walk(sides[0], sides[1], dst.Offset(), src.Offset(), by.To.Bits(), 1)
	l, err := p.plan("scale", func(p *problem, k *parameters) (Spec, error) {
		return choose(scalePlanners, &scaled{p, by, sides[2:]}, p, k)
	})
	for i, term := range terms {
		if term != nil {
			l.bases[int(Scale)+i] = moved(sides[2+i], *term)
		}
	}
	return l, err
}

// cut divides a scaling into blocks, which are the same for src and for each term.
func (p *scaled) cut(k *parameters, spec Spec) error {
	var of [4]parameters
	for i := range of {
		q := problem{target: p.target, dBits: p.dBits, dBase: p.dBase, bytes: p.bytes, axes: slices.Clone(p.axes)}
		for a := range q.axes {
			if i > 0 {
				q.axes[a].S = p.terms[i-1].Stride(a)
			}
		}
		var err error
		if p.dBits < 8 && spec.Form != Codes {
			err = chunking{&q}.planWords(&of[i], len(q.axes), 1)
		} else {
			err = of[i].cutRounds(spec, q.innermostFirst(), p.rounds(spec))
		}
		if err != nil {
			return err
		}
		if d, s := of[i].reach(); spec.form().manyScaled && max(d, s) >= limit {
			return errTooLarge
		}
	}
	k.join(&of)
	k.mean(p.by)
	return nil
}

// apart is the distance of an item's two units, in units: the largest power of two that divides
// the starts and ends of rows, in items. It is at most the 32 that a warp stores at once, and at
// most plankey.Period, because operands share a plan if their offsets are the same modulo that.
func (p *scaled) apart(item int64) uint32 {
	all := min(32, plankey.Period/item) | p.dBase | p.inner(0).N
	for _, a := range p.axes[:len(p.axes)-1] {
		all |= a.D
	}
	return uint32(all & -all)
}

// rounds is the number of rounds of items per block: several where there are many items, because
// locating a block takes as long as some items.
func (p *scaled) rounds(spec Spec) int64 {
	rounds := int64(1)
	if !spec.form().manyScaled {
		return rounds
	}
	items := p.bytes * 8 / (int64(p.dBits) * spec.scaledItem())
	for rounds < 4 && items >= 2*rounds*p.target.fewBlocks()*spec.items()*GroupSize {
		rounds *= 2
	}
	return rounds
}

// join merges the parameters of src, scale, zero and add into one.
func (k *parameters) join(of *[4]parameters) {
	src, scale, zero, add := &of[0], &of[1], &of[2], &of[3]
	*k = *src
	k.da, k.sa, k.db = scale.s, zero.s, add.s
	k.more = slices.Concat(scale.paired(zero), add.paired(add))
}

// mean adds the meanings of the elements.
func (k *parameters) mean(by scaling) {
	word := func(t layout.DType, how device.Rounding) uint64 {
		if t == layout.Invalid {
			return 0
		}
		return number(t, how)
	}
	precision, sign := uint64(0), uint64(0)
	if by.Precision == layout.Float16 || by.Precision == layout.BFloat16 {
		precision = number(by.Precision, device.Rounding{})
	}
	if by.Subtract {
		sign = 1 << 31
	}
	usual := device.Rounding{}
	for _, v := range []uint64{
		word(by.From, usual), word(by.To, device.Rounding{Unsaturated: by.Unsaturated}),
		word(by.Scale, usual), word(by.Zero, usual), word(by.Add, usual), precision, sign, 0,
	} {
		k.more = binary.LittleEndian.AppendUint64(k.more, v)
	}
}

// paired encodes axes whose steps are src's steps in both sets of parameters.
func (k *parameters) paired(other *parameters) []byte {
	var both parameters
	pair := func(a, b []axis) []axis {
		out := slices.Clone(a)
		for i := range out {
			out[i].D, out[i].S = a[i].S, b[i].S
		}
		return out
	}
	both.outer, both.inner, both.run = pair(k.outer, other.outer), pair(k.inner, other.inner), pair(k.run, other.run)
	return both.encode(0)[headerBytes:]
}
