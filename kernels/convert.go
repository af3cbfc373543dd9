package kernels

import (
	"math/bits"
	"slices"
	"strconv"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// The forms that convert by value: see their files.
const (
	// Cast converts from any type of up to 32 bits, or of 64, to any type of one width;
	// or, several times as fast, between two given types.
	Cast Form = "cast"
	// Value and Lookup are for elements that are dense on both sides, on a GPU: from any
	// type of 16 or 32 bits, and of fewer, to any type of one width.
	Value  Form = "value"
	Lookup Form = "lookup"
)

// pairs lists the conversions, each {to, from}, that have a kernel of their own, with
// the default rounding: those of weights and activations. There are no more, as OpenCL's
// compilers (PoCL's, rusticl's) take a second for each; CUDA's takes 35 to 122 ms.
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
	for _, serial := range []bool{false, true} {
		for _, dst := range []uint8{2, 4, 8, 16, 32, 64} {
			for _, src := range []uint8{32, 64} {
				all = append(all, Spec{Form: Cast, DstBits: dst, SrcBits: src, Serial: serial})
			}
		}
		for _, p := range pairs {
			all = append(all, castSpec(p[0], p[1], serial))
		}
	}
	for _, dst := range []uint8{2, 4, 8, 16, 32} {
		for _, src := range []uint8{2, 4, 8, 16, 32} {
			if dst > 2 || src > 2 { // between integers of one width, nothing is converted
				all = append(all, denseCast(dst, src))
			}
			if turnedCast(dst, src) {
				all = append(all, Spec{Form: denseCast(dst, src).Form, DstBits: dst, SrcBits: src, Turned: true})
			}
			if columnCast(dst, src) {
				all = append(all, Spec{Form: denseCast(dst, src).Form, DstBits: dst, SrcBits: src, Columns: true})
				all = append(all, Spec{Form: denseCast(dst, src).Form, DstBits: dst, SrcBits: src, Batched: true})
			}
		}
	}
	return all
}

// denseCast is the kernel for elements that are dense on both sides.
func denseCast(dst, src uint8) Spec {
	form := Value
	if src <= 8 {
		form = Lookup
	}
	return Spec{Form: form, DstBits: dst, SrcBits: src}
}

// denseItem is how many elements an item of these kernels has: 16 bytes of the wider ones.
func (s Spec) denseItem() int64 { return int64(128 / max(s.DstBits, s.SrcBits)) }

// denseDefines are the macros of these forms: elements of an item, its bits on either side,
// the bits that are read at once of src where items begin anywhere, and those that hold
// what comes of a byte of src. A transposition reads PIECE_S bits of a line at once.
func (s Spec) denseDefines() []string {
	each := int(s.denseItem())
	src, dst := int(s.SrcBits), int(s.DstBits)
	piece, unit := min(128, int(s.across())*src), each*src
	if s.Turned {
		unit = piece
	}
	var more []string
	if s.Columns || s.Batched {
		more = s.columnDefines()
	}
	return append(more,
		"ACROSS_LOG "+strconv.Itoa(bits.TrailingZeros64(uint64(s.across()))),
		"EACH "+strconv.Itoa(each), "ITEM_D "+strconv.Itoa(each*dst), "ITEM_S "+strconv.Itoa(each*src),
		"PIECE_S "+strconv.Itoa(piece),
		"UNIT_S "+strconv.Itoa(max(32, unit)), "SLOT_BITS "+strconv.Itoa(max(8, 8*dst/src)),
	)
}

// byValue reports whether a form converts by value.
func (f Form) byValue() bool {
	return f == Cast || f == Value || f == Lookup || f.scales()
}

// castSpec is the kernel for a pair of types.
func castSpec(to, from layout.DType, serial bool) Spec {
	loaded := max(from.Bits(), 32) // how wide its variables are for what it reads
	return Spec{Form: Cast, DstBits: uint8(to.Bits()), SrcBits: uint8(loaded), To: to, From: from, Serial: serial}
}

// pair reports whether a cast is made for a pair of types.
func (s Spec) pair() bool { return s.To != layout.Invalid }

// packs reports whether a cast puts words together from elements: always below a
// byte, and on a GPU below a word.
func (s Spec) packs() bool { return s.DstBits < 8 || s.DstBits < 32 && !s.Serial }

// planCast plans a conversion by value between layouts of one shape. Kernels that are
// not for two given types learn of them by arguments of the launch: see Numbers.
func planCast(dst, src layout.Layout, to, from layout.DType, how device.Rounding, t Target) (Launch, error) {
	spec := castSpec(to, from, t.Serial)
	if how.For(to) != (device.Rounding{}) || !slices.Contains(pairs, [2]layout.DType{to, from}) {
		spec.To, spec.From = layout.Invalid, layout.Invalid
	}
	p := problem{op: "Convert", target: t}
	p.simplify(dst, src, to.Bits(), to.Bits())
	return p.plan("convert", func(p *problem, k *parameters) (Spec, error) {
		return p.planValues(k, spec, denseCast(uint8(to.Bits()), uint8(from.Bits())))
	})
}

// planValues plans what becomes of each element by itself: for the kernel dense where
// that can be, else for the one given.
func (p *problem) planValues(k *parameters, spec, dense Spec) (Spec, error) {
	if p.long {
		spec.Long, spec.To, spec.From = true, layout.Invalid, layout.Invalid
	}
	in := p.inner(0)
	if p.planDense(k, dense) {
		return dense, nil
	}
	if turned, ok := p.planTurned(k, spec, dense); ok {
		return turned, nil
	}
	rows := p.target.Serial && in.d == 1 && in.s == 1 && in.n >= shortSide
	switch {
	case spec.packs() && rows && spec.pair(): // others have no loop over words
		return spec, p.planWords(k, 1, serialWords)
	case spec.packs():
		return spec, p.planWords(k, len(p.axes), 1)
	case rows && p.planRows(k):
		return spec, nil
	}
	return spec, k.cutElements(spec, p.innermostFirst())
}

// planDense makes an item of the elements in 16 bytes of the side with the wider ones
// (see source/dense.h); false: the innermost axis is not dense on both sides, or too
// short, or there are too many of them.
func (p *problem) planDense(k *parameters, s Spec) bool {
	in, each := p.inner(0), s.denseItem()
	if p.target.Serial || p.long || s.DstBits == 2 && s.SrcBits == 2 && !s.Mapped || s.DstBits > 32 || s.SrcBits > 32 || in.d != 1 || in.s != 1 || in.n < each {
		return false
	}
	rest := p.innermostFirst()[1:]
	phase := p.dBase % each // where in an item runs begin, at the most
	same := uint32(1)       // on both sides; 0: they may begin elsewhere in src
	if (p.dBase-p.sBase)%each != 0 {
		same = 0
	}
	for _, a := range rest {
		if a.d%each != 0 {
			phase = each - 1
		}
		if (a.d-a.s)%each != 0 {
			same = 0
		}
	}
	items := axis{(phase + in.n + each - 1) / each, each, each}
	block := p.target.denseBlock(items.n, rest)
	if items.n <= block {
		rows := parameters{length: in.n, ta: same, inner: []axis{items}}
		err := rows.cutItems(rest, block)
		if d, s := rows.reach(); err == nil && max(d, s) < limit/8 { // bytes in 32 bits
			*k = rows
			return true
		}
	}
	parts := parameters{length: in.n, ta: same, flat: 1}
	parts.cutAxis(items, block)
	if parts.setOuter(rest...) != nil {
		return false
	}
	*k = parts
	return true
}

// denseBlock is how many items a block has: more where there are many, as work-groups begin
// with what is the same for all of them.
func (t Target) denseBlock(items int64, rows []axis) int64 {
	for _, a := range rows {
		items = min(items*a.n, limit)
	}
	block := int64(itemsPerBlock)
	for block < 8*itemsPerBlock && items >= 4*t.fewBlocks()*block {
		block *= 2
	}
	return block
}

// Numbers returns the arguments lo and hi of a launch that PlanCast made: what
// src's and dst's elements mean, as source/numbers.h reads it. A kernel between two
// given types does without.
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
		word |= uint64(how.Excess(t)) << 5
	}
	word |= uint64(t.Bits()) << 11
	word |= uint64(how.Scale) << 7
	if how.Legacy {
		word |= 1 << 9
	}
	if how.Truncates(t) {
		word |= 1 << 10
	}
	return word
}
