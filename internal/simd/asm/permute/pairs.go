package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/restride/restride/internal/simd/asm/emit"
)

// choose returns the bits of a where mask has ones, and of b elsewhere.
func choose(v Vec, mask, a, b reg.VecVirtual) reg.VecVirtual {
	r := v.Reg()
	if v == AVX512 {
		VMOVDQA64(mask, r)
		VPTERNLOGQ(Imm(0xca), b, a, r)
		return r
	}
	other := v.Reg()
	VPAND(a, mask, r)
	VPANDN(b, mask, other)
	VPOR(other, r, r)
	return r
}

// vectors emits the rest of a function: body for each vector of n bytes; n is at least one
// vector; the last may overlap the previous one.
func vectors(v Vec, body func(at reg.GPVirtual)) {
	n, at := Arg("n"), GP64()
	SUBQ(U32(uint64(v)), n)
	XORQ(at, at)
	Label("vector")
	body(at)
	CMPQ(at, n)
	JGE(LabelRef("done"))
	ADDQ(U32(uint64(v)), at)
	CMPQ(at, n)
	CMOVQGT(n, at)
	JMP(LabelRef("vector"))
	Label("done")
	VZEROUPPER()
	RET()
}

// pairNibbles joins the low halves of two bytes, and the high ones.
func pairNibbles(v Vec) {
	TEXT(v.Name("pairNibbles"), attr.NOSPLIT, "func(low, high, first, second *byte, n int64)")
	Pragma("noescape")
	low, high, first, second := Arg("low"), Arg("high"), Arg("first"), Arg("second")
	mask := v.Splat8(0x0f)
	vectors(v, func(at reg.GPVirtual) {
		x, y, t := v.Reg(), v.Reg(), v.Reg()
		Read(Mem{Base: first, Index: at, Scale: 1}, x)
		Read(Mem{Base: second, Index: at, Scale: 1}, y)
		VPSLLW(Imm(4), y, t)
		Write(choose(v, mask, x, t), Mem{Base: low, Index: at, Scale: 1}, false)
		VPSRLW(Imm(4), x, t)
		Write(choose(v, mask, t, y), Mem{Base: high, Index: at, Scale: 1}, false)
	})
}

// swapNibbles exchanges the halves of bytes.
func swapNibbles(v Vec) {
	TEXT(v.Name("swapNibbles"), attr.NOSPLIT, "func(dst, src *byte, n int64)")
	Pragma("noescape")
	dst, src := Arg("dst"), Arg("src")
	mask := v.Splat8(0x0f)
	vectors(v, func(at reg.GPVirtual) {
		x, low, high := v.Reg(), v.Reg(), v.Reg()
		Read(Mem{Base: src, Index: at, Scale: 1}, x)
		VPSRLW(Imm(4), x, low)
		VPSLLW(Imm(4), x, high)
		Write(choose(v, mask, low, high), Mem{Base: dst, Index: at, Scale: 1}, false)
	})
}
