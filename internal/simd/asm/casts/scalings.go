package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/restride/restride/internal/simd/asm/emit"
)

// Offsets of the fields of simd.Terms.
const (
	termsRow                        = 4 * 1024
	termsZero, termsScale, termsAdd = 0, termsRow, 2 * termsRow
	termsLeast, termsMost           = 3 * termsRow, 3*termsRow + 4
	termsBias, termsNone, termsHalf = 3*termsRow + 8, 3*termsRow + 12, 3*termsRow + 16
)

// scalings writes the kernels of Scalings for floats.
func scalings(v Vec) {
	for _, each := range []bool{false, true} {
		byTerms(v, "scaleFloat", each, []int{termsZero, termsScale, termsAdd}, func(Mem) func(x reg.VecVirtual, by []reg.VecVirtual) {
			none := v.Splat32(nan)
			return func(x reg.VecVirtual, by []reg.VecVirtual) {
				VSUBPS(by[0], x, x)
				VMULPS(by[1], x, x)
				VADDPS(by[2], x, x)
				replaceNaN(v, none, x)
			}
		})
		byTerms(v, "divideFloat", each, []int{termsScale}, func(Mem) func(x reg.VecVirtual, by []reg.VecVirtual) {
			return func(x reg.VecVirtual, by []reg.VecVirtual) { VDIVPS(by[0], x, x) }
		})
		byTerms(v, "quantizeFloat", each, []int{termsZero, termsScale}, func(terms Mem) func(x reg.VecVirtual, by []reg.VecVirtual) {
			return quantized(v, terms)
		})
	}
	quantizeBytes(v)
}

// quantized prepares the quantization of floats by a zero point and a scale.
func quantized(v Vec, terms Mem) func(x reg.VecVirtual, by []reg.VecVirtual) {
	least, most := every(v, VBROADCASTSS, terms.Offset(termsLeast)), every(v, VBROADCASTSS, terms.Offset(termsMost))
	return func(x reg.VecVirtual, by []reg.VecVirtual) {
		VDIVPS(by[1], x, x)
		zeroNaN(v, x, x)
		if v == AVX512 {
			VRNDSCALEPS(Imm(8), x, x) // to the nearest, ties to even
		} else {
			VROUNDPS(Imm(8), x, x)
		}
		VADDPS(by[0], x, x)
		VMAXPS(least, x, x)
		VMINPS(most, x, x)
	}
}

// quantizeBytes writes Scalings.QuantizeBytes.
func quantizeBytes(v Vec) {
	begin(v, "quantizeBytes")
	tables, dst, src := Arg("tables"), Arg("dst"), Arg("src")
	change, low, order := quantized(v, Mem{Base: tables}), v.Splat32(0xff), v.Packed(4)
	Loop(func(past bool) {
		for at := 0; at < Line; at += int(v) {
			var x [4]reg.VecVirtual
			by := []reg.VecVirtual{v.Reg(), v.Reg()}
			for i := range x {
				from := 4*at + i*int(v)
				if from%Line == 0 {
					VBROADCASTSS(Mem{Base: tables, Disp: termsZero + from/Line*4}, by[0])
					VBROADCASTSS(Mem{Base: tables, Disp: termsScale + from/Line*4}, by[1])
				}
				x[i] = v.Reg()
				Read(Mem{Base: src, Disp: from}, x[i])
				change(x[i], by)
				VCVTPS2DQ(x[i], x[i])
				And(low, x[i])
			}
			Write(narrow(x[:], order), Mem{Base: dst, Disp: at}, past)
		}
		ADDQ(Imm(16), tables)
		ADDQ(U32(4*Line), src)
		ADDQ(Imm(Line), dst)
	})
}

// byTerms writes a kernel that transforms floats by terms: one for each line, or, if its name
// is a plural, one for each float.
func byTerms(v Vec, name string, each bool, rows []int, prepare func(terms Mem) func(x reg.VecVirtual, by []reg.VecVirtual)) {
	step := 4
	if each {
		name, step = name+"s", Line
	}
	begin(v, name)
	tables, dst, src := Arg("tables"), Arg("dst"), Arg("src")
	change := prepare(Mem{Base: tables})
	Loop(func(past bool) {
		by := make([]reg.VecVirtual, len(rows))
		for i, row := range rows {
			if by[i] = v.Reg(); !each {
				VBROADCASTSS(Mem{Base: tables, Disp: row}, by[i])
			}
		}
		for at := 0; at < Line; at += int(v) {
			for i, row := range rows {
				if each {
					Read(Mem{Base: tables, Disp: row + at}, by[i])
				}
			}
			x := v.Reg()
			Read(Mem{Base: src, Disp: at}, x)
			change(x, by)
			Write(x, Mem{Base: dst, Disp: at}, past)
		}
		ADDQ(U32(step), tables)
		ADDQ(Imm(Line), src)
		ADDQ(Imm(Line), dst)
	})
}
