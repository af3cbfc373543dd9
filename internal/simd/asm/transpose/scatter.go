package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// scatterRows writes the kernel that copies rows from a buffer to the places in a table: heads
// and tails that share a line with others through the cache, whole lines bypassing it.
func scatterRows(n int) {
	name := emit.Vec(n * 16).Name("scatterRows")
	TEXT(name, NOSPLIT, "func(dst *byte, tab *int64, src *byte, stride, run, n int64)")
	Doc(name + " is Transposes.ScatterRows.")
	Pragma("noescape")
	dst, tab, src := Load(Param("dst"), GP64()), Load(Param("tab"), GP64()), Load(Param("src"), GP64())
	stride, run, rows := Load(Param("stride"), GP64()), Load(Param("run"), GP64()), Load(Param("n"), GP64())
	d, s, left, head := GP64(), GP64(), GP64(), GP64()
	t := GP64()

	Label("row")
	MOVQ(Mem{Base: tab}, d)
	ADDQ(dst, d)
	MOVQ(src, s)
	MOVQ(run, left)
	// The head: the bytes up to the next whole line, by the bits of their number.
	XORL(head.As32(), head.As32())
	SUBQ(d, head)
	ANDQ(Imm(63), head)
	CMPQ(head, left)
	CMOVQGT(left, head)
	SUBQ(head, left)
	some := func(name string, count GPVirtual, sizes ...int) { moveSome(name, d, s, t, count, sizes) }
	TESTQ(head, head)
	JZ(LabelRef("lines"))
	some("head", head, 1, 2, 4, 8, 16, 32)

	Label("lines")
	SUBQ(Imm(64), left)
	JL(LabelRef("tail"))
	Label("line")
	streamLine(n, d, s)
	ADDQ(Imm(64), s)
	ADDQ(Imm(64), d)
	SUBQ(Imm(64), left)
	JGE(LabelRef("line"))

	Label("tail")
	ADDQ(Imm(64), left)
	JZ(LabelRef("next"))
	some("tail", left, 32, 16, 8, 4, 2, 1)

	Label("next")
	ADDQ(Imm(8), tab)
	ADDQ(stride, src)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// moveSome moves fewer than 64 bytes, by the bits of their number: those of the given sizes, in
// order. Labels begin with name; t is a scratch register.
func moveSome(name string, d, s, t, count GPVirtual, sizes []int) {
	for _, size := range sizes {
		skip := fmt.Sprintf("%s%d", name, size)
		TESTB(Imm(uint64(size)), count.As8())
		JZ(LabelRef(skip))
		x := XMM()
		y := YMM()
		switch size {
		case 1:
			MOVB(Mem{Base: s}, t.As8())
			MOVB(t.As8(), Mem{Base: d})
		case 2:
			MOVW(Mem{Base: s}, t.As16())
			MOVW(t.As16(), Mem{Base: d})
		case 4:
			MOVL(Mem{Base: s}, t.As32())
			MOVL(t.As32(), Mem{Base: d})
		case 8:
			MOVQ(Mem{Base: s}, t)
			MOVQ(t, Mem{Base: d})
		case 16:
			VMOVDQU(Mem{Base: s}, x)
			VMOVDQU(x, Mem{Base: d})
		case 32:
			VMOVDQU(Mem{Base: s}, y)
			VMOVDQU(y, Mem{Base: d})
		}
		ADDQ(Imm(uint64(size)), s)
		ADDQ(Imm(uint64(size)), d)
		Label(skip)
	}
}

// streamLine moves a line of 64 bytes past the caches.
func streamLine(n int, d, s GPVirtual) {
	in := lanes(n)
	if n == 4 {
		v := in.register()
		VMOVDQU64(Mem{Base: s}, v)
		VMOVNTDQ(v, Mem{Base: d})
	} else {
		a, b := in.register(), in.register()
		VMOVDQU(Mem{Base: s}, a)
		VMOVDQU(Mem{Base: s, Disp: 32}, b)
		VMOVNTDQ(a, Mem{Base: d})
		VMOVNTDQ(b, Mem{Base: d, Disp: 32})
	}
}
