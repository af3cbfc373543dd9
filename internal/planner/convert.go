package planner

import (
	"slices"
	"strconv"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/rounding"
	"github.com/restride/restride/layout"
)

// pairs lists the conversions, as {to, from}, that have their own kernel, with the default
// rounding: conversions of weights and activations. The list is short because OpenCL's compilers
// (PoCL's, rusticl's) need a second for each; CUDA's needs 35 to 122 ms.
var pairs = func() (all [][2]layout.DType) {
	add := func(to layout.DType, from ...layout.DType) {
		for _, t := range from {
			all = append(all, [2]layout.DType{to, t})
		}
	}
	add(layout.Float32, layout.Float16, layout.BFloat16, layout.Int8, layout.Uint8)
	for _, half := range []layout.DType{layout.Float16, layout.BFloat16} {
		add(half, layout.Float32, layout.Float8E4M3FN, layout.Float4E2M1, layout.Int4)
		add(layout.Float8E4M3FN, half)
		add(layout.Float4E2M1, half)
	}
	return all
}()

// castSpecs lists the kernels that convert by value.
func castSpecs() []Spec {
	var all []Spec
	for _, cpu := range []bool{false, true} {
		for _, dst := range []uint8{2, 4, 8, 16, 32, 64} {
			for _, src := range []uint8{32, 64} {
				all = append(all, castSpec(dst, src, cpu))
			}
		}
		for _, p := range pairs {
			all = append(all, pairSpec(p[0], p[1], cpu))
		}
	}
	for _, dst := range []uint8{2, 4, 8, 16, 32} {
		for _, src := range []uint8{2, 4, 8, 16, 32} {
			add := func(form Form) { all = append(all, Spec{Form: form, DstBits: dst, SrcBits: src}) }
			if dst > 2 || src > 2 { // between integers of one width, nothing is converted
				add(DenseCast)
			}
			if hasTransposedCast(dst, src) {
				add(TransposedCast)
			}
			if hasColumnCast(dst, src) {
				add(ColumnCast)
				add(BatchedCast)
			}
		}
	}
	return append(all, mapSpecs()...)
}

// castSpec is the kernel for elements anywhere, each loaded into the given number of bits.
func castSpec(dst, src uint8, cpu bool) Spec {
	form := Cast
	if dst < 8 || dst < 32 && !cpu {
		form = CastWords
	}
	return Spec{Form: form, DstBits: dst, SrcBits: src, CPUTarget: cpu}
}

// pairSpec is the kernel for a pair of types.
func pairSpec(to, from layout.DType, cpu bool) Spec {
	s := castSpec(uint8(to.Bits()), uint8(max(from.Bits(), 32)), cpu)
	s.To, s.From = to, from
	return s
}

// casts reports whether a kernel converts elements anywhere, including dense elements that lie
// along different axes on the two sides.
func (s Spec) casts() bool { return s.Form == Cast || s.Form == CastWords }
func (s Spec) dense() bool { return s.form().does == converts && !s.casts() }

// byValue reports whether elements are converted by value.
func (s Spec) byValue() bool { return s.form().does == converts || s.Scales() }

// pair reports whether a cast is compiled for a pair of types.
func (s Spec) pair() bool { return s.To != layout.Invalid }

// castBlocks is Spec.minBlocksPerSM for casts of elements anywhere.
func castBlocks(s Spec) int {
	if s.pair() {
		return 0
	}
	return 4
}

// castDefines are the macros of casts of elements anywhere.
func castDefines(s Spec) []string {
	elements := "cast.h"
	switch {
	case s.Mapped:
		elements = "map.h"
	case max(s.DstBits, s.SrcBits) == 64 && !s.CPUTarget:
		elements = "cast_wide.h"
	}
	return append(itemDefines(s), include("ELEMENTS", elements))
}

// denseItem is the number of elements per item of these kernels: 16 bytes of the wider ones.
func (s Spec) denseItem() int64 { return int64(128 / max(s.DstBits, s.SrcBits)) }

// looksUp reports whether a conversion of dense elements uses a table instead of floats.
func (s Spec) looksUp() bool { return s.SrcBits <= 8 }

// denseDefines are the macros of casts of rows: an item's elements, its bits on either side, the
// bits of src read at once where items begin anywhere, and the bits that hold the result of a byte
// of src.
func denseDefines(s Spec) []string { return unitDefines(s, int(s.denseItem())*int(s.SrcBits)) }

func unitDefines(s Spec, unit int) []string {
	each, src, dst := int(s.denseItem()), int(s.SrcBits), int(s.DstBits)
	converter, elements := "value.h", "cast.h"
	if s.looksUp() {
		converter = "lookup.h"
	}
	if s.Mapped {
		elements = "map.h"
	}
	return []string{
		include("CONVERTER", converter), include("ELEMENTS", elements),
		"EACH " + strconv.Itoa(each), "ITEM_D " + strconv.Itoa(each*dst), "ITEM_S " + strconv.Itoa(each*src),
		"UNIT_S " + strconv.Itoa(max(32, unit)), "SLOT_BITS " + strconv.Itoa(max(8, 8*dst/src)),
	}
}

// planCast plans a conversion by value between layouts of one shape. Kernels that are not compiled
// for two given types read the types from arguments of the launch: see Numbers.
func (p *problem) planCast(dst, src layout.Layout, to, from layout.DType, how device.Rounding) (Launch, error) {
	spec := pairSpec(to, from, p.target.CPU)
	if rounding.For(how, to) != (device.Rounding{}) || !slices.Contains(pairs, [2]layout.DType{to, from}) {
		spec.To, spec.From = layout.Invalid, layout.Invalid
	}
	p.simplify(dst, src, to.Bits(), to.Bits())
	return p.planValues("convert", spec, Spec{Form: DenseCast, DstBits: uint8(to.Bits()), SrcBits: uint8(from.Bits())})
}

// casting is a problem that converts each element independently.
type casting struct {
	*problem
	anywhere Spec           // the kernel for elements anywhere
	rows     Spec           // and for dense rows
	turned   *transposition // the problem as a transposition, if it is one
	unturned refusal        // else the reason
}

// castPlanners are the planners of casts and maps.
var castPlanners = []planner[*casting]{
	{"rows", false, func(c *casting, _ *offer) (offer, refusal) { return c.offerRows() }},
	{"transposition", false, func(c *casting, _ *offer) (offer, refusal) { return c.offerTransposition() }},
	{"columns", true, (*casting).offerColumns},
	{"matrices", true, (*casting).offerMatrices},
	{"elements", true, (*casting).offerElements},
}

// planValues plans a conversion of independent elements.
func (p *problem) planValues(class string, anywhere, rows Spec) (Launch, error) {
	return p.plan(class, func(p *problem, k *parameters) (Spec, error) {
		c := &casting{problem: p, anywhere: anywhere, rows: rows}
		if p.manyAxes {
			c.anywhere.ManyAxes, c.anywhere.To, c.anywhere.From = true, layout.Invalid, layout.Invalid
		}
		return choose(castPlanners, c, p, k)
	})
}

// offerRows offers the kernel for dense rows.
func (c *casting) offerRows() (offer, refusal) {
	switch {
	case c.target.CPU:
		return offer{}, onlyGPU
	case c.manyAxes:
		return offer{}, tooManyAxes
	case c.rows.DstBits == 2 && c.rows.SrcBits == 2 && !c.rows.Mapped || c.rows.DstBits > 32 || c.rows.SrcBits > 32:
		return offer{}, otherWidth
	}
	var k parameters
	if why := c.planRows(&k); why != "" {
		return offer{}, why
	}
	return laid(c.rows, &k, nil)
}

// offerElements offers the kernel for elements anywhere. Between two given types it may be faster
// than a transposition; otherwise it takes several times as long.
func (c *casting) offerElements(best *offer) (offer, refusal) {
	switch {
	case best.spec.Form == DenseCast:
		return offer{}, notNeeded
	case best.some():
		if c.anywhere.Form != Cast || !c.anywhere.pair() {
			return offer{}, costsMore
		}
		gain := transposedCastGain
		if best.spec.Form == BatchedCast {
			gain = batchedCastGain
		}
		if e := c.turned.castCost(c.anywhere); best.cycles <= gain*e.cycles(c.bytes) {
			return offer{}, costsMore
		}
	}
	var k parameters
	return laid(c.anywhere, &k, c.planElements(&k))
}

func (c *casting) planElements(k *parameters) error {
	in, words := c.inner(0), c.anywhere.Form == CastWords
	rows := c.target.CPU && in.D == 1 && in.S == 1 && in.N >= shortSide
	switch {
	case words && rows && c.anywhere.pair(): // others have no loop over words
		return chunking{c.problem}.planWords(k, 1, cpuWords)
	case words:
		return chunking{c.problem}.planWords(k, len(c.axes), 1)
	case rows && (chunking{c.problem}).planRows(k):
		return nil
	}
	return k.cutElements(c.anywhere, c.innermostFirst())
}

// planRows makes an item of the elements in 16 bytes of the side with the wider ones: see
// source/dense.h.
func (p *casting) planRows(k *parameters) refusal {
	in, each := p.inner(0), p.rows.denseItem()
	if in.D != 1 || in.S != 1 || in.N < each {
		return notRows
	}
	rest := p.innermostFirst()[1:]
	phase := p.dBase % each // the largest position in an item at which a run begins
	same := uint32(1)       // on both sides; 0: runs may begin elsewhere in src
	if (p.dBase-p.sBase)%each != 0 {
		same = 0
	}
	for _, a := range rest {
		if a.D%each != 0 {
			phase = each - 1
		}
		if (a.D-a.S)%each != 0 {
			same = 0
		}
	}
	items := axis{N: (phase + in.N + each - 1) / each, D: each, S: each}
	block := p.target.denseBlock(items.N, rest)
	if items.N <= block {
		rows := parameters{length: in.N, ta: same, inner: []axis{items}}
		err := rows.cutItems(rest, block)
		if d, s := rows.reach(); err == nil && max(d, s) < limit/8 { // byte offsets fit 32 bits
			*k = rows
			return ""
		}
	}
	parts := parameters{length: in.N, ta: same, flat: 1}
	parts.cutAxis(items, block)
	if parts.setOuter(rest...) != nil {
		return noRoom
	}
	*k = parts
	return ""
}

// denseBlock is the number of items per block: larger where there are many items, because
// work-groups begin with work that all of their items share.
func (t Target) denseBlock(items int64, rows []axis) int64 {
	for _, a := range rows {
		items = min(items*a.N, limit)
	}
	block := int64(itemsPerBlock)
	for block < 8*itemsPerBlock && items >= 4*t.fewBlocks()*block {
		block *= 2
	}
	return block
}

// Numbers returns the arguments lo and hi of a launch that planCast made: the meaning of src's and
// dst's elements, as source/numbers.h reads it. A kernel between two given types does not use
// them.
func Numbers(dst, src layout.DType, how device.Rounding) (lo, hi uint64) {
	return number(src, how), number(dst, how)
}

// The kinds of numbers.
const (
	unsignedKind = iota
	signedKind
	boolKind
	floatKind
)

func number(t layout.DType, how device.Rounding) uint64 {
	word := uint64(unsignedKind)
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		word = boolKind
	case numeric.IntKind:
		word = signedKind
	case numeric.FloatKind:
		f, _ := numeric.FloatFormatOf(t)
		word = floatKind | uint64(f.Special)<<2 | uint64(f.Exponent)<<18 | uint64(f.Mantissa)<<24 | uint64(f.Bias)<<32
		if f.Unsigned {
			word |= 1 << 4
		}
		word |= uint64(rounding.OverflowOf(how, t)) << 5
	}
	word |= uint64(t.Bits()) << 11
	word |= uint64(how.Scale) << 7
	if how.Legacy {
		word |= 1 << 9
	}
	if rounding.Truncates(how, t) {
		word |= 1 << 10
	}
	return word
}
