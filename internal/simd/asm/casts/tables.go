package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/restride/restride/internal/simd/asm/emit"
)

// Where simd.Choices has its tables.
const choicesTables = 4 * 256

// lookUpEach writes a kernel that replaces bytes below 16 by entries of so many bytes, of
// a table that each line chooses.
func lookUpEach(v Vec, name string, size int, prepare func() func(table, src Mem) []reg.VecVirtual) {
	begin(v, name)
	tables, dst, src, at, table := Arg("tables"), Arg("dst"), Arg("src"), GP64(), GP64()
	find := prepare()
	MOVQ(tables, at)
	Loop(func(past bool) {
		MOVL(Mem{Base: at}, table.As32())
		ADDQ(tables, table)
		for i, x := range find(Mem{Base: table, Disp: choicesTables}, Mem{Base: src}) {
			Write(x, Mem{Base: dst, Disp: i * int(x.Size())}, past)
		}
		ADDQ(Imm(4), at)
		ADDQ(U32(Line/size), src)
		ADDQ(Imm(Line), dst)
	})
}

// lookUpEach16 finds the low bytes and the high ones of words, and interleaves them: with
// vectors of 32 bytes, of which a line has one.
func lookUpEach16() {
	const v = AVX2
	lookUpEach(v, "lookUpEach16", 2, func() func(table, src Mem) []reg.VecVirtual {
		// Of eight words the low bytes, and then the high ones.
		apart := v.Table("apart", func(i int) byte { return byte(i%8*2 + i%16/8) })
		return func(table, src Mem) []reg.VecVirtual {
			first, second := v.Lanes(table), v.Lanes(table.Offset(16))
			low, high, x := v.Reg(), v.Reg(), v.Reg()
			VPSHUFB(apart, first, first)
			VPSHUFB(apart, second, second)
			VPUNPCKLQDQ(second, first, low)
			VPUNPCKHQDQ(second, first, high)
			VPERMQ(Imm(0xd8), src, x) // so that lanes are interleaved in order
			VPSHUFB(x, low, low)
			VPSHUFB(x, high, high)
			VPUNPCKLBW(high, low, x)
			VPUNPCKHBW(high, low, low)
			return []reg.VecVirtual{x, low}
		}
	})
}

// lookUpEach32 is lookUp32 with a table for each line.
func lookUpEach32(v Vec) {
	lookUpEach(v, "lookUpEach32", 4, func() func(table, src Mem) []reg.VecVirtual {
		return func(table, src Mem) []reg.VecVirtual {
			first, second := v.Reg(), v.Reg()
			Read(table, first)
			if v == AVX512 {
				return []reg.VecVirtual{find32(v, first, second, src)}
			}
			Read(table.Offset(32), second)
			low := find32(v, first, second, src)
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

// mapBytesAVX2 looks bytes up in tables of 16 at a time, 16 less of them each time, where
// negative ones give 0. Up to its own table a byte has seen all the others of its half:
// so these are differences to the one before.
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
