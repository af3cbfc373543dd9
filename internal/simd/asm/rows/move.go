package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

const rowsSignature = "func(dst, src *byte, dStep, sStep, size, rows int64)"

// rowLoop writes a function that loops over rows: body moves the row at d and s, and ends at
// the label "next".
func rowLoop(name, doc string, before, body func(), row *rowRegisters) {
	TEXT(name, NOSPLIT, rowsSignature)
	Doc(name + " is " + doc)
	Pragma("noescape")
	row.d, row.s = param("dst"), param("src")
	dStep, sStep := param("dStep"), param("sStep")
	row.size = param("size")
	rows := param("rows")
	row.dStep, row.sStep, row.rows = dStep, sStep, rows
	before()
	TESTQ(rows, rows)
	JZ(LabelRef("done"))
	Label("row")
	body()
	Label("next")
	ADDQ(dStep, row.d)
	ADDQ(sStep, row.s)
	DECQ(rows)
	JNZ(LabelRef("row"))
	Label("done")
	VZEROUPPER()
	RET()
}

type rowRegisters struct{ d, s, size, dStep, sStep, rows reg.GPVirtual }

// move copies contiguous whole vectors, from an offset in the row on.
func (r *rowRegisters) move(at reg.GPVirtual, vectors ...reg.VecVirtual) {
	for i, v := range vectors {
		emit.Read(Mem{Base: r.s, Index: at, Scale: 1, Disp: int(v.Size()) * i}, v)
	}
	for i, v := range vectors {
		emit.Write(v, Mem{Base: r.d, Index: at, Scale: 1, Disp: int(v.Size()) * i}, false)
	}
}

// moveAVX512: one masked vector for short rows; vectors and a masked one for
// others.
func moveAVX512() {
	var r rowRegisters
	k := K()
	z := []reg.VecVirtual{ZMM(), ZMM(), ZMM(), ZMM()}
	var last, ones reg.GPVirtual
	rowLoop("moveAVX512", "Rows.Move.", func() {
		// The last vector of a row has 1 to 64 bytes and begins at last.
		last, ones = copyOf(r.size), GP64()
		DECQ(last)
		ANDQ(I8(-64), last)
		n, t := copyOf(r.size), GP64()
		SUBQ(last, n)
		MOVQ(I32(-1), ones)
		first(n, ones, t, k)
		// Whole vectors, if there is one: masks cost more on AMD's processors.
		for _, v := range []reg.VecVirtual{YMM(), ZMM()} {
			label := fmt.Sprintf("whole%d", v.Size())
			CMPQ(r.size, Imm(uint64(v.Size())))
			JNE(LabelRef("no" + label))
			TESTQ(r.rows, r.rows)
			JZ(LabelRef("done"))
			Label(label)
			emit.Read(Mem{Base: r.s}, v)
			emit.Write(v, Mem{Base: r.d}, false)
			ADDQ(r.dStep, r.d)
			ADDQ(r.sStep, r.s)
			DECQ(r.rows)
			JNZ(LabelRef(label))
			JMP(LabelRef("done"))
			Label("no" + label)
		}
	}, func() {
		TESTQ(last, last)
		JNZ(LabelRef("vectors")) // out of line: short rows need one jump each
		Label("tail")
		VMOVDQU8_Z(Mem{Base: r.s, Index: last, Scale: 1}, k, z[0])
		VMOVDQU8(z[0], k, Mem{Base: r.d, Index: last, Scale: 1})
	}, &r)

	Label("vectors")
	i := GP64()
	XORQ(i, i)
	SUBQ(I32(256), last)
	JL(LabelRef("lines"))
	Label("body")
	r.move(i, z...)
	ADDQ(I32(256), i)
	CMPQ(i, last)
	JLE(LabelRef("body"))
	Label("lines")
	ADDQ(I32(256), last)
	CMPQ(i, last)
	JGE(LabelRef("tail"))
	Label("line")
	r.move(i, z[0])
	ADDQ(I32(64), i)
	CMPQ(i, last)
	JL(LabelRef("line"))
	JMP(LabelRef("tail"))
}

// moveAVX2: vectors, the last of which overlaps the previous one; short rows are two smaller
// words that may overlap.
func moveAVX2() {
	var r rowRegisters
	rowLoop("moveAVX2", "Rows.Move.", func() {}, func() {
		// two moves a row as a first and a last word.
		two := func(bytes int, v, w Op, mov func(a, b Op)) {
			mov(at(r.s, 0), v)
			mov(Mem{Base: r.s, Index: r.size, Scale: 1, Disp: -bytes}, w)
			mov(v, at(r.d, 0))
			mov(w, Mem{Base: r.d, Index: r.size, Scale: 1, Disp: -bytes})
			JMP(LabelRef("next"))
		}
		g, h := GP64(), GP64()
		x, w := XMM(), XMM()
		y := []reg.VecVirtual{YMM(), YMM(), YMM(), YMM()}
		i, last := GP64(), GP64()
		CMPQ(r.size, Imm(64))
		JG(LabelRef("long"))
		CMPQ(r.size, Imm(32))
		JGE(LabelRef("two32"))
		CMPQ(r.size, Imm(16))
		JGE(LabelRef("two16"))
		CMPQ(r.size, Imm(8))
		JGE(LabelRef("two8"))
		CMPQ(r.size, Imm(4))
		JGE(LabelRef("two4"))
		CMPQ(r.size, Imm(2))
		JGE(LabelRef("two2"))
		TESTQ(r.size, r.size)
		JZ(LabelRef("next"))
		MOVB(at(r.s, 0), g.As8())
		MOVB(g.As8(), at(r.d, 0))
		JMP(LabelRef("next"))
		Label("two2")
		two(2, g.As16(), h.As16(), func(a, b Op) { MOVW(a, b) })
		Label("two4")
		two(4, g.As32(), h.As32(), func(a, b Op) { MOVL(a, b) })
		Label("two8")
		two(8, g, h, func(a, b Op) { MOVQ(a, b) })
		Label("two16")
		two(16, x, w, func(a, b Op) { VMOVDQU(a, b) })
		Label("two32")
		two(32, y[0], y[1], func(a, b Op) { VMOVDQU(a, b) })

		Label("long")
		XORQ(i, i)
		MOVQ(r.size, last)
		SUBQ(Imm(128), last)
		JLE(LabelRef("vectors"))
		Label("body")
		r.move(i, y...)
		ADDQ(U32(128), i)
		CMPQ(i, last)
		JL(LabelRef("body"))
		Label("vectors")
		ADDQ(Imm(96), last)
		CMPQ(i, last)
		JGE(LabelRef("tail"))
		Label("vector")
		r.move(i, y[0])
		ADDQ(Imm(32), i)
		CMPQ(i, last)
		JL(LabelRef("vector"))
		Label("tail")
		r.move(last, y[0])
	}, &r)
}
