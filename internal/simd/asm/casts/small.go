package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/restride/restride/internal/simd/asm/emit"
)

// Where simd.ByteWords and simd.Steps have their fields.
const (
	wordsHigh, wordsLow, wordsShift = 0, 16, 32
	wordsMask, wordsBias, wordsOdd  = 40, 41, 42
	wordsFlip, wordsTested, wordsAt = 43, 44, 45
	wordsSign, wordsSpecial         = 46, 47

	stepsCount, stepsAt, stepsSpecial, stepsSign = 7, 14, 16, 18
)

// byteToWord writes Casts.ByteToWord, for vectors of 32 bytes: they make a line.
func byteToWord() {
	const v = AVX2
	begin(v, "byteToWord")
	tables := Arg("tables")
	every := func(at int) reg.VecVirtual {
		r := v.Reg()
		VPBROADCASTB(Mem{Base: tables, Disp: at}, r)
		return r
	}
	low, high := v.Lanes(Mem{Base: tables, Disp: wordsLow}), v.Lanes(Mem{Base: tables, Disp: wordsHigh})
	shift := XMM()
	VMOVQ(Mem{Base: tables, Disp: wordsShift}, shift)
	mask, bias := every(wordsMask), every(wordsBias)
	flip, tested, at := every(wordsFlip), every(wordsTested), every(wordsAt)
	// There are too few registers.
	spilled := func(field int) Mem {
		m := AllocLocal(int(v))
		VMOVDQU(every(field), m)
		return m
	}
	odd, sign, special := spilled(wordsOdd), spilled(wordsSign), spilled(wordsSpecial)
	signs, sixteen := v.Splat8(0x80), v.Splat8(16)
	dst, src := Arg("dst"), Arg("src")
	Loop(func(past bool) {
		x, m, hi, lo, t := v.Reg(), v.Reg(), v.Reg(), v.Reg(), v.Reg()
		VPERMQ(Imm(0xd8), Mem{Base: src}, x) // so that lanes are interleaved in order
		VPANDN(x, signs, m)
		VPSRLW(shift, m, hi)
		VPAND(mask, hi, hi)
		VPADDB(bias, hi, hi)
		VPSLLW(Imm(7), m, lo)
		VPAND(odd, lo, lo)
		VPCMPGTB(m, sixteen, t) // few: these have tables
		s := v.Reg()
		VPSHUFB(m, low, s)
		VPBLENDVB(t, s, lo, lo)
		VPSHUFB(m, high, s)
		VPBLENDVB(t, s, hi, hi)
		VPAND(signs, x, s)
		VPOR(s, hi, hi)
		VPXOR(flip, x, t)
		VPAND(tested, t, t)
		VPCMPGTB(at, t, t)
		VPAND(sign, s, s)
		VPOR(special, s, s)
		VPBLENDVB(t, s, hi, hi)
		VPANDN(lo, t, lo)
		VPUNPCKLBW(hi, lo, s)
		VPUNPCKHBW(hi, lo, t)
		Write(s, Mem{Base: dst}, past)
		Write(t, Mem{Base: dst, Disp: 32}, past)
		ADDQ(Imm(32), src)
		ADDQ(Imm(Line), dst)
	})
}

// wordToStep writes Casts.WordToStep.
func wordToStep() {
	const v = AVX2
	begin(v, "wordToStep")
	tables := Arg("tables")
	every := func(at int) reg.VecVirtual {
		r := v.Reg()
		VPBROADCASTW(Mem{Base: tables, Disp: at}, r)
		return r
	}
	var steps []reg.VecVirtual
	for i := range stepsCount {
		steps = append(steps, every(2*i))
	}
	at, special, sign, magnitude := every(stepsAt), every(stepsSpecial), every(stepsSign), v.Splat16(0x7fff)
	kernel(2, 1, 32, func(src Mem) reg.VecVirtual {
		half := func(src Mem) reg.VecVirtual {
			x, m, t := v.Reg(), v.Reg(), v.Reg()
			sum := v.Reg()
			Read(src, x)
			VPAND(magnitude, x, m)
			VPCMPGTW(steps[0], m, sum)
			for _, step := range steps[1:] {
				VPCMPGTW(step, m, t)
				VPADDW(t, sum, sum)
			}
			VPSRAW(Imm(15), x, x)
			VPAND(sign, x, x)
			VPSUBW(sum, x, sum) // each step counted -1
			VPCMPGTW(at, m, t)
			VPBLENDVB(t, special, sum, sum)
			return sum
		}
		a := half(src)
		b := half(src.Offset(32))
		VPACKUSWB(b, a, a)
		VPERMQ(Imm(0xd8), a, a)
		return a
	})
}
