package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/restride/restride/internal/simd/asm/emit"
)

// largest is the largest finite float32.
const largest = 0x7f7fffff

// boundFloat writes Scalings.BoundFloat.
func boundFloat() {
	const v = AVX2
	begin(v, "boundFloat")
	tables, dst, src := Arg("tables"), Arg("dst"), Arg("src")
	most, least := v.Splat32(largest), v.Splat32(sign|largest)
	Loop(func(past bool) {
		x, y := v.Reg(), v.Reg()
		for i, half := range []reg.VecVirtual{x, y} {
			Read(Mem{Base: src, Disp: i * int(v)}, half)
			zeroNaN(v, half, half)
			VMINPS(most, half, half)
			VMAXPS(least, half, half)
			Write(half, Mem{Base: dst, Disp: i * int(v)}, past)
		}
		for i, choose := range []func(...Op){VMAXPS, VMINPS} {
			all, other := v.Reg(), XMM()
			choose(x, y, all)
			VEXTRACTF128(Imm(1), all, other)
			one := First(all, 16)
			choose(other, one, one)
			for _, order := range []Constant{U8(0x4e), U8(0xb1)} {
				VPSHUFD(order, one, other)
				choose(other, one, one)
			}
			VMOVSS(one, Mem{Base: tables, Disp: 4 * i})
		}
		ADDQ(Imm(8), tables)
		ADDQ(Imm(Line), src)
		ADDQ(Imm(Line), dst)
	})
}

// codeFloat writes Scalings.CodeFloat.
func codeFloat(v Vec) {
	byTerms(v, "codeFloat", false, []int{termsScale}, func(terms Mem) func(x reg.VecVirtual, by []reg.VecVirtual) {
		term := func(at int) reg.VecVirtual { return every(v, VBROADCASTSS, terms.Offset(at)) }
		least, most, bias, none, half := term(termsLeast), term(termsMost), term(termsBias), term(termsNone), term(termsHalf)
		signs := v.Splat32(sign)
		return func(x reg.VecVirtual, by []reg.VecVirtual) {
			VMULPS(by[0], x, x)
			VADDPS(bias, x, x)
			replaceNaN(v, none, x)
			VMAXPS(least, x, x)
			VMINPS(most, x, x)
			away := v.Reg()
			masked(signs, x, away)
			Or(half, away)
			VADDPS(away, x, x)
			const truncate = 11
			if v == AVX512 {
				VRNDSCALEPS(Imm(truncate), x, x)
			} else {
				VROUNDPS(Imm(truncate), x, x)
			}
		}
	})
}

// replaceNaN replaces NaN.
func replaceNaN(v Vec, none, x reg.VecVirtual) {
	if v == AVX512 {
		k := K()
		VCMPPS(unordered, x, x, k)
		VMOVDQA32(none, k, x)
		return
	}
	is := v.Reg()
	VCMPPS(unordered, x, x, is)
	VBLENDVPS(is, none, x, x)
}

// stepFloat writes Scalings.StepFloat: a code is the number of steps below a magnitude.
func stepFloat() {
	const v = AVX2
	byTerms(v, "stepFloat", false, []int{termsScale}, func(Mem) func(x reg.VecVirtual, by []reg.VecVirtual) {
		var steps []reg.VecVirtual
		for _, step := range []uint32{0x3e800000, 0x3f400000, 0x3fa00000, 0x3fe00000, 0x40200000, 0x40600000, 0x40a00000} { // .25, .75, 1.25, 1.75, 2.5, 3.5, 5
			steps = append(steps, v.Splat32(step))
		}
		magnitude, eight := v.Splat32(sign-1), v.Splat32(8)
		return func(x reg.VecVirtual, by []reg.VecVirtual) {
			m, above, sum := v.Reg(), v.Reg(), v.Reg()
			VMULPS(by[0], x, x)
			VPAND(magnitude, x, m)
			VPXOR(sum, sum, sum)
			for _, step := range steps {
				VCMPPS(greater, step, m, above)
				VPADDD(above, sum, sum) // -1 each
			}
			VPSRAD(Imm(31), x, x)
			VPAND(sum, x, x) // zero for zero
			VPSRAD(Imm(31), x, x)
			VPAND(eight, x, x)
			VPSUBD(sum, x, x)
			VCVTDQ2PS(x, x)
		}
	})
}
