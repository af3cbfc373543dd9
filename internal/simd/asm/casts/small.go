package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/restride/restride/internal/simd/asm/emit"
)

// Offsets of the fields of simd.ByteWords and simd.Steps.
const (
	wordsHigh, wordsLow, wordsShift = 0, 16, 32
	wordsMask, wordsBias, wordsOdd  = 40, 41, 42
	wordsFlip, wordsTested, wordsAt = 43, 44, 45
	wordsSign, wordsSpecial         = 46, 47

	stepsPlaces                      = 48
	stepsShift                       = 64
	stepsBase, stepsRound, stepsMost = 72, 74, 76
	stepsSign, stepsSpecial          = 78, 79
)

// byteToWord writes Casts.ByteToWord, for vectors of 32 bytes: they make a line.
func byteToWord() {
	const v = AVX2
	begin(v, "byteToWord")
	tables := Arg("tables")
	field := func(at int) reg.VecVirtual { return every(v, VPBROADCASTB, Mem{Base: tables, Disp: at}) }
	low, high := v.Lanes(Mem{Base: tables, Disp: wordsLow}), v.Lanes(Mem{Base: tables, Disp: wordsHigh})
	shift := XMM()
	VMOVQ(Mem{Base: tables, Disp: wordsShift}, shift)
	mask, bias := field(wordsMask), field(wordsBias)
	flip, tested, at := field(wordsFlip), field(wordsTested), field(wordsAt)
	odd, sign, special := aside(v, field(wordsOdd)), aside(v, field(wordsSign)), aside(v, field(wordsSpecial))
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
func wordToStep(v Vec) {
	begin(v, "wordToStep")
	order, step := v.Packed(2), steps(v)
	kernel(2, 1, int(v), func(src Mem) reg.VecVirtual {
		x := step(src)
		VPERMD(x, order, x)
		return x
	})
}

// wordToNibble writes Casts.WordToNibble.
func wordToNibble(v Vec) {
	begin(v, "wordToNibble")
	order, pairs, step := v.Packed(4), aside(v, v.Splat16(0x1001)), steps(v)
	dst, src := Arg("dst"), Arg("src")
	Loop(func(past bool) {
		for at := 0; at < Line; at += int(v) {
			var x [2]reg.VecVirtual
			for i := range x {
				x[i] = step(Mem{Base: src, Disp: 4*at + 2*int(v)*i})
				VPMADDUBSW(pairs, x[i], x[i])
			}
			VPACKUSWB(x[1], x[0], x[0])
			VPERMD(x[0], order, x[0])
			Write(x[0], Mem{Base: dst, Disp: at}, past)
		}
		ADDQ(U32(4*Line), src)
		ADDQ(Imm(Line), dst)
	})
}

// steps prepares the conversion of two vectors of words to one of bytes, packed within their
// lanes.
func steps(v Vec) func(src Mem) reg.VecVirtual {
	tables := Arg("tables")
	field := func(spread func(...Op), at int) reg.VecVirtual { return every(v, spread, Mem{Base: tables, Disp: at}) }
	sign, special := aside(v, field(VPBROADCASTB, stepsSign)), aside(v, field(VPBROADCASTB, stepsSpecial))
	most, base, round := aside(v, field(VPBROADCASTW, stepsMost)), field(VPBROADCASTW, stepsBase), field(VPBROADCASTW, stepsRound)
	shift := XMM()
	VMOVQ(Mem{Base: tables, Disp: stepsShift}, shift)
	magnitude, code := v.Splat16(0x7fff), codes(v, Mem{Base: tables})
	return func(src Mem) reg.VecVirtual {
		var x, place, above [2]reg.VecVirtual
		for i := range x {
			m := v.Reg()
			x[i], place[i], above[i] = v.Reg(), v.Reg(), v.Reg()
			Read(src.Offset(i*int(v)), x[i])
			masked(x[i], magnitude, m)
			if v == AVX512 {
				k := K()
				VPCMPGTW(most, m, k)
				VPMOVM2W(k, above[i])
			} else {
				VPCMPGTW(most, m, above[i])
			}
			VPSUBUSW(base, m, m)
			VPSRLW(shift, m, place[i])
			VPADDW(round, m, m)
			VPSRLW(shift, m, m)
			VPADDW(m, place[i], place[i])
		}
		VPACKUSWB(place[1], place[0], place[0])
		VPACKSSWB(x[1], x[0], x[0])
		VPACKSSWB(above[1], above[0], above[0])
		found := code(place[0])
		if v == AVX512 {
			k := K()
			VPMOVB2M(x[0], k)
			VPADDB(sign, found, k, found)
			VPMOVB2M(above[0], k)
			VMOVDQU8(special, k, found)
			return found
		}
		zero := v.Reg()
		VPXOR(zero, zero, zero)
		VPCMPGTB(x[0], zero, x[0])
		VPAND(sign, x[0], x[0])
		VPADDB(x[0], found, found)
		VPBLENDVB(above[0], special, found, found)
		return found
	}
}

// codes prepares the lookup of the codes of places.
func codes(v Vec, tables Mem) func(x reg.VecVirtual) reg.VecVirtual {
	last := aside(v, v.Splat8(stepsPlaces-1))
	if v == AVX512 {
		table := v.Reg()
		Read(tables, table)
		return func(x reg.VecVirtual) reg.VecVirtual {
			VPMINUB(last, x, x)
			VPERMB(table, x, x)
			return x
		}
	}
	// As in mapBytesAVX2, with sums.
	var table [stepsPlaces / 16]reg.VecVirtual
	for i := range table {
		table[i] = v.Lanes(tables.Offset(16 * i))
	}
	for i := len(table) - 1; i > 0; i-- {
		VPSUBB(table[i-1], table[i], table[i])
	}
	sixteen := aside(v, v.Splat8(16))
	return func(x reg.VecVirtual) reg.VecVirtual {
		VPMINUB(last, x, x)
		found, sum := v.Reg(), v.Reg()
		VPSHUFB(x, table[0], sum)
		for _, t := range table[1:] {
			VPSUBB(sixteen, x, x)
			VPSHUFB(x, t, found)
			VPADDB(found, sum, sum)
		}
		return sum
	}
}
