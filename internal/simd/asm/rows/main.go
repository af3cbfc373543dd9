// Command rows writes the kernels for dense rows.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func main() {
	streamAVX2()
	Generate()
}

// streamAVX2 copies 128 bytes at a time from the destination's first line on; the
// head and the tail by bytes.
func streamAVX2() {
	TEXT("streamAVX2", NOSPLIT, "func(dst, src *byte, n int64)")
	Doc("streamAVX2 is Rows.Stream.")
	Pragma("noescape")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	a, b, c, d := YMM(), YMM(), YMM(), YMM()
	t := GP64()

	Label("head")
	CMPQ(n, Imm(0))
	JE(LabelRef("done"))
	TESTQ(U32(31), dst)
	JE(LabelRef("body"))
	MOVB(Mem{Base: src}, t.As8())
	MOVB(t.As8(), Mem{Base: dst})
	INCQ(src)
	INCQ(dst)
	DECQ(n)
	JMP(LabelRef("head"))

	Label("body")
	CMPQ(n, Imm(128))
	JL(LabelRef("tail"))
	VMOVDQU(Mem{Base: src}, a)
	VMOVDQU(Mem{Base: src}.Offset(32), b)
	VMOVDQU(Mem{Base: src}.Offset(64), c)
	VMOVDQU(Mem{Base: src}.Offset(96), d)
	VMOVNTDQ(a, Mem{Base: dst})
	VMOVNTDQ(b, Mem{Base: dst}.Offset(32))
	VMOVNTDQ(c, Mem{Base: dst}.Offset(64))
	VMOVNTDQ(d, Mem{Base: dst}.Offset(96))
	ADDQ(Imm(128), src)
	ADDQ(Imm(128), dst)
	SUBQ(Imm(128), n)
	JMP(LabelRef("body"))

	Label("tail")
	CMPQ(n, Imm(0))
	JE(LabelRef("done"))
	MOVB(Mem{Base: src}, t.As8())
	MOVB(t.As8(), Mem{Base: dst})
	INCQ(src)
	INCQ(dst)
	DECQ(n)
	JMP(LabelRef("tail"))

	Label("done")
	SFENCE()
	VZEROUPPER()
	RET()
}
