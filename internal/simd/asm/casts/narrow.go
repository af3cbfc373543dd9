package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/restride/restride/internal/simd/asm/emit"
)

// Offsets of the fields of simd.Narrow.
const (
	narrowShift                       = 0
	narrowMost, narrowStep, narrowOne = 8, 12, 16
	narrowNone, narrowFirst           = 20, 24
	narrowSign, narrowLeast           = 26, 27
)

// narrows writes the kernels of Casts whose table is simd.Narrow.
func narrows(v Vec) {
	toNarrow(v, "floatToNarrow", 4, func(src Mem, x reg.VecVirtual) { Read(src, x) })
	toNarrow(v, "halfToNarrow", 2, func(src Mem, x reg.VecVirtual) { VCVTPH2PS(src, x) })
	toNarrow(v, "bfloatToNarrow", 2, func(src Mem, x reg.VecVirtual) {
		VPMOVZXWD(src, x)
		VPSLLD(Imm(16), x, x)
	})
}

// toNarrow writes a kernel from elements of the given number of bytes, which load converts to
// floats. A power of two whose last bit is worth as much as the result's is added to a float:
// this rounds it, and the increase of its bits is the result's mantissa.
func toNarrow(v Vec, name string, from int, load func(src Mem, x reg.VecVirtual)) {
	begin(v, name)
	tables := Arg("tables")
	field := func(spread func(...Op), at int) reg.VecVirtual { return every(v, spread, Mem{Base: tables, Disp: at}) }
	magnitude, infinity, exponent := v.Splat32(sign-1), aside(v, v.Splat32(infinite)), v.Splat32(infinite)
	most, step, one := field(VPBROADCASTD, narrowMost), field(VPBROADCASTD, narrowStep), field(VPBROADCASTD, narrowOne)
	none, first := aside(v, field(VPBROADCASTD, narrowNone)), aside(v, field(VPBROADCASTW, narrowFirst))
	signs, least := aside(v, field(VPBROADCASTB, narrowSign)), aside(v, field(VPBROADCASTB, narrowLeast))
	order, shift := v.Packed(4), XMM()
	VMOVQ(Mem{Base: tables, Disp: narrowShift}, shift)

	// narrowed returns a float's code without its sign, plus first.
	narrowed := func(x reg.VecVirtual) reg.VecVirtual {
		r, by, is, k := v.Reg(), v.Reg(), v.Reg(), K()
		masked(x, magnitude, r)
		if v == AVX512 {
			VPCMPGTD(infinity, r, k)
		} else {
			VPCMPGTD(infinity, r, is)
		}
		VPMINUD(most, r, r)
		masked(r, exponent, by)
		VPADDD(step, by, by)
		VPMAXUD(one, by, by)
		VADDPS(by, r, r)
		VPSUBD(by, r, r)
		VPSRLD(shift, by, by)
		VPADDD(by, r, r)
		if v == AVX512 {
			VMOVDQA32(none, k, r)
		} else {
			VBLENDVPS(is, none, r, r)
		}
		return r
	}
	kernel(from, 1, int(v), func(src Mem) reg.VecVirtual {
		var x, r [4]reg.VecVirtual
		for i := range x {
			x[i] = v.Reg()
			load(src.Offset(i*int(v)/4*from), x[i])
			r[i] = narrowed(x[i])
			if i%2 == 1 {
				VPACKSSDW(x[i], x[i-1], x[i-1])
				VPACKUSDW(r[i], r[i-1], r[i-1])
				VPSUBW(first, r[i-1], r[i-1])
			}
		}
		VPACKSSWB(x[2], x[0], x[0])
		VPACKUSWB(r[2], r[0], r[0])
		addSigns(v, x[0], r[0], signs, least)
		VPERMD(r[0], order, r[0])
		return r[0]
	})
}

// addSigns sets the sign in the bytes of r that are not below least and whose x is negative.
func addSigns(v Vec, x, r reg.VecVirtual, sign, least Op) {
	t := v.Reg()
	if v == AVX512 {
		k := K()
		VPMOVB2M(x, k)
		VPCMPUB(notBelow, least, r, k, k)
		VMOVDQU8_Z(sign, k, t)
		Or(t, r)
		return
	}
	VPXOR(t, t, t)
	VPCMPGTB(x, t, x)
	VPMAXUB(least, r, t)
	VPCMPEQB(r, t, t)
	VPAND(t, x, x)
	VPAND(sign, x, x)
	VPOR(x, r, r)
}
