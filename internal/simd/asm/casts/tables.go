package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/restride/restride/internal/simd/asm/emit"
)

// Offset of the tables of simd.Choices.
const choicesTables = 4 * 256

// lookUpEach writes a kernel that replaces codes by entries of the given size, of a table that
// each line chooses. A table equal to the previous one is not prepared again.
func lookUpEach(v Vec, name string, size, codesInByte int, prepare func() (table func(Mem), find func(src Mem) []reg.VecVirtual)) {
	begin(v, name)
	tables, dst, src, at, table, last := Arg("tables"), Arg("dst"), Arg("src"), GP64(), GP64(), GP64()
	load, find := prepare()
	MOVQ(tables, at)
	MOVQ(I32(-1), last)
	Loop(func(past bool) {
		same := fmt.Sprintf("same%v", past)
		MOVL(Mem{Base: at}, table.As32())
		CMPQ(table, last)
		JE(LabelRef(same))
		MOVQ(table, last)
		ADDQ(tables, table)
		load(Mem{Base: table, Disp: choicesTables})
		Label(same)
		for i, x := range find(Mem{Base: src}) {
			Write(x, Mem{Base: dst, Disp: i * int(x.Size())}, past)
		}
		ADDQ(Imm(4), at)
		ADDQ(U32(uint32(Line/size/codesInByte)), src)
		ADDQ(Imm(Line), dst)
	})
}

// lookUpEach16 looks up the low bytes and the high ones of words, and interleaves them, with
// vectors of 32 bytes, two per line. Codes are bytes, or two in each.
func lookUpEach16(name string, codesInByte int) {
	const v = AVX2
	lookUpEach(v, name, 2, codesInByte, func() (func(Mem), func(Mem) []reg.VecVirtual) {
		// The low bytes of eight words, and then the high ones.
		apart := v.Table("apart", func(i int) byte { return byte(i%8*2 + i%16/8) })
		low, high, nibbles := v.Reg(), v.Reg(), v.Splat8(15)
		load := func(table Mem) {
			first, second := v.Lanes(table), v.Lanes(table.Offset(16))
			VPSHUFB(apart, first, first)
			VPSHUFB(apart, second, second)
			VPUNPCKLQDQ(second, first, low)
			VPUNPCKHQDQ(second, first, high)
		}
		return load, func(src Mem) []reg.VecVirtual {
			x, lows, highs := v.Reg(), v.Reg(), v.Reg()
			if codesInByte == 2 {
				VPMOVZXBW(src, x)
				VPSLLW(Imm(4), x, lows)
				VPOR(lows, x, x)
				VPAND(nibbles, x, x)
				VPERMQ(Imm(0xd8), x, x)
			} else {
				VPERMQ(Imm(0xd8), src, x) // so that lanes are interleaved in order
			}
			VPSHUFB(x, low, lows)
			VPSHUFB(x, high, highs)
			VPUNPCKLBW(highs, lows, x)
			VPUNPCKHBW(highs, lows, lows)
			return []reg.VecVirtual{x, lows}
		}
	})
}

// lookUpEach32 is lookUp32 with a table for each line.
func lookUpEach32(v Vec) {
	lookUpEach(v, "lookUpEach32", 4, 1, func() (func(Mem), func(Mem) []reg.VecVirtual) {
		first, second := v.Reg(), v.Reg()
		load := func(table Mem) {
			Read(table, first)
			if v == AVX2 {
				Read(table.Offset(32), second)
			}
		}
		return load, func(src Mem) []reg.VecVirtual {
			low := find32(v, first, second, src)
			if v == AVX512 {
				return []reg.VecVirtual{low}
			}
			return []reg.VecVirtual{low, find32(v, first, second, src.Offset(8))}
		}
	})
}

// mapBytesAVX512 has two tables of 128 bytes in two registers each.
func mapBytesAVX512() {
	const v = AVX512
	begin(v, "mapBytes")
	tables := Arg("tables")
	var table [4]reg.VecVirtual
	for i := range table {
		table[i] = v.Reg()
		Read(Mem{Base: tables, Disp: i * Line}, table[i])
	}
	kernel(1, 1, Line, func(src Mem) reg.VecVirtual {
		x, y, k := v.Reg(), v.Reg(), K()
		Read(src, x)
		VPMOVB2M(x, k) // the upper half
		VMOVDQA64(x, y)
		VPERMI2B(table[1], table[0], x)
		VPERMI2B(table[3], table[2], y)
		VMOVDQU8(y, k, x)
		return x
	})
}

// mapBytesAVX2 looks bytes up in tables of 16, subtracting 16 before each next one; negative
// indices give 0. Before its own table a byte has matched all previous ones of its half, so
// tables hold differences to the previous one.
func mapBytesAVX2() {
	const v, rows, half = AVX2, 16, 8
	begin(v, "mapBytes")
	tables, differences := Arg("tables"), AllocLocal(256)
	for i := range rows {
		x := XMM()
		VMOVDQU(Mem{Base: tables, Disp: 16 * i}, x)
		if i%half > 0 {
			VPXOR(Mem{Base: tables, Disp: 16 * (i - 1)}, x, x)
		}
		VMOVDQU(x, differences.Offset(16*i))
	}
	sixteen, signs := v.Splat8(16), v.Splat8(0x80)
	dst, src := Arg("dst"), Arg("src")
	Loop(func(past bool) {
		var x, sum [Line / int(v)]reg.VecVirtual
		for i := range x {
			x[i], sum[i] = v.Reg(), v.Reg()
			VPXOR(sum[i], sum[i], sum[i])
		}
		for row := range rows {
			table := v.Lanes(differences.Offset(16 * row))
			for i := range x {
				switch {
				case row == 0:
					Read(Mem{Base: src, Disp: i * int(v)}, x[i])
				case row == half:
					VPXOR(Mem{Base: src, Disp: i * int(v)}, signs, x[i])
				default:
					VPSUBSB(sixteen, x[i], x[i])
				}
				found := v.Reg()
				VPSHUFB(x[i], table, found)
				VPXOR(found, sum[i], sum[i])
			}
		}
		for i := range x {
			Write(sum[i], Mem{Base: dst, Disp: i * int(v)}, past)
		}
		ADDQ(Imm(Line), src)
		ADDQ(Imm(Line), dst)
	})
}
