package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// stream writes Rows.Stream: whole lines of the destination bypass the caches, and the bytes
// before and after them do not. some copies n bytes, 0 < n < 64.
func stream(name string, vectors []reg.VecVirtual, width int, before func(), some func(d, s, n reg.GPVirtual, label string)) {
	var r rowRegisters
	// The prefetch distance for lines of the row, and near its end for lines of the next one.
	var inRow, inNext reg.GPVirtual
	rowLoop(name, "Rows.Stream.", func() {
		before()
		inRow, inNext = GP64(), GP64()
		far, least := GP64(), GP64()
		MOVQ(U32(ahead), inRow)
		MOVQ(U32(aheadApart), far)
		CMPQ(r.size, arg("sStep"))
		CMOVQNE(far, inRow)
		XORQ(least, least)
		MOVQ(inRow, inNext)
		SUBQ(r.size, inNext)
		CMOVQGT(least, inNext)
		ADDQ(arg("sStep"), inNext)
	}, func() {
		d, s, n := copyOf(r.d), copyOf(r.s), copyOf(r.size)
		h := copyOf(d)
		NEGQ(h)
		ANDQ(Imm(63), h)
		JZ(LabelRef("lines"))
		CMPQ(h, n)
		CMOVQGT(n, h)
		some(d, s, h, "head")
		ADDQ(h, d)
		ADDQ(h, s)
		SUBQ(h, n)

		move := func(bytes int) {
			for i := range bytes / width {
				unaligned(width, at(s, i*width), vectors[i])
			}
			for i := range bytes / width {
				VMOVNTDQ(vectors[i], at(d, i*width))
			}
			ADDQ(U32(bytes), s)
			ADDQ(U32(bytes), d)
			SUBQ(U32(bytes), n)
		}
		fetch := func(by reg.GPVirtual) {
			for i := range 4 {
				PREFETCHT1(Mem{Base: s, Index: by, Scale: 1, Disp: i * 64})
			}
		}
		Label("lines")
		SUBQ(inRow, n)
		CMPQ(n, U32(256))
		JL(LabelRef("last"))
		fetch(inRow)
		ADDQ(inRow, n)
		move(256)
		JMP(LabelRef("lines"))
		Label("last")
		ADDQ(inRow, n)
		Label("near")
		CMPQ(n, U32(256))
		JL(LabelRef("line"))
		fetch(inNext)
		move(256)
		JMP(LabelRef("near"))
		Label("line")
		CMPQ(n, Imm(64))
		JL(LabelRef("tail"))
		move(64)
		JMP(LabelRef("line"))
		Label("tail")
		TESTQ(n, n)
		JZ(LabelRef("next"))
		some(d, s, n, "end")
	}, &r)
}

// The prefetch distance in bytes: the hardware prefetcher's is too short, even more so where
// rows are not contiguous.
const ahead, aheadApart = 2 << 10, 4 << 10

// unaligned is the unaligned load for a vector's width.
func unaligned(width int, from, to Op) {
	if width == 64 {
		VMOVDQU64(from, to)
		return
	}
	VMOVDQU(from, to)
}

func streamAVX512() {
	var ones reg.GPVirtual
	z := []reg.VecVirtual{ZMM(), ZMM(), ZMM(), ZMM()}
	stream("streamAVX512", z, 64, func() {
		ones = GP64()
		MOVQ(I32(-1), ones)
	}, func(d, s, n reg.GPVirtual, _ string) {
		k, t := K(), GP64()
		first(n, ones, t, k)
		VMOVDQU8_Z(at(s, 0), k, z[0])
		VMOVDQU8(z[0], k, at(d, 0))
	})
}

func streamAVX2() {
	y := make([]reg.VecVirtual, 8)
	for i := range y {
		y[i] = YMM()
	}
	stream("streamAVX2", y, 32, func() {}, func(d, s, n reg.GPVirtual, label string) {
		// A word for each bit of n, the smallest first.
		i, t, x := GP64(), GP64(), XMM()
		XORQ(i, i)
		for _, w := range []struct {
			bytes int
			via   Op
			mov   func(a, b Op)
		}{
			{1, t.As8(), func(a, b Op) { MOVB(a, b) }},
			{2, t.As16(), func(a, b Op) { MOVW(a, b) }},
			{4, t.As32(), func(a, b Op) { MOVL(a, b) }},
			{8, t, func(a, b Op) { MOVQ(a, b) }},
			{16, x, func(a, b Op) { VMOVDQU(a, b) }},
			{32, y[0], func(a, b Op) { VMOVDQU(a, b) }},
		} {
			skip := label + string(rune('a'+w.bytes%29))
			TESTQ(U32(w.bytes), n)
			JZ(LabelRef(skip))
			w.mov(Mem{Base: s, Index: i, Scale: 1}, w.via)
			w.mov(w.via, Mem{Base: d, Index: i, Scale: 1})
			ADDQ(Imm(uint64(w.bytes)), i)
			Label(skip)
		}
	})
}

// vendor writes a function that returns the first letters of the processor's vendor.
func vendor() {
	TEXT("vendor", NOSPLIT, "func() uint32")
	Doc("vendor returns the first four letters of the name that CPUID has for the vendor.")
	XORL(reg.EAX, reg.EAX)
	XORL(reg.ECX, reg.ECX)
	CPUID()
	Store(reg.EBX, ReturnIndex(0))
	RET()
}

// fence writes Rows.Fence.
func fence() {
	TEXT("fence", NOSPLIT, "func()")
	Doc("fence is Rows.Fence.")
	SFENCE()
	RET()
}
