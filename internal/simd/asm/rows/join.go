package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// join writes Rows.Join. A line with the end of a row and the beginning of the next one is
// assembled on the stack.
func join(v emit.Vec) {
	name := v.Name("join")
	TEXT(name, NOSPLIT, "func(dst, src *byte, sStep, size, skip, lines, ahead int64)")
	Doc(name + " is Rows.Join.")
	Pragma("noescape")
	d, s, sStep, size := param("dst"), param("src"), param("sStep"), param("size")
	i, lines, ahead := param("skip"), param("lines"), param("ahead")
	vectors := make([]reg.VecVirtual, emit.Line/int(v))
	for k := range vectors {
		vectors[k] = v.Reg()
	}
	// The line begins in the middle third.
	seam := AllocLocal(3 * emit.Line)
	line := func(from, to Mem, past bool) {
		for k, r := range vectors {
			emit.Read(from.Offset(k*int(v)), r)
		}
		for k, r := range vectors {
			emit.Write(r, to.Offset(k*int(v)), past)
		}
	}
	whole, rest, low := GP64(), GP64(), GP64()
	MOVQ(size, whole) // the last possible begin of a whole line of the row
	SUBQ(Imm(emit.Line), whole)
	LEAQ(seam, low)
	TESTQ(lines, lines)
	JZ(LabelRef("done"))
	Label("row")
	CMPQ(i, whole)
	JG(LabelRef("end"))
	Label("line")
	at := Mem{Base: s, Index: i, Scale: 1}
	next := GP64()
	LEAQ(at, next)
	PREFETCHT1(Mem{Base: next, Index: ahead, Scale: 1})
	line(at, Mem{Base: d}, true)
	ADDQ(Imm(emit.Line), d)
	ADDQ(Imm(emit.Line), i)
	DECQ(lines)
	JZ(LabelRef("done"))
	CMPQ(i, whole)
	JLE(LabelRef("line"))
	Label("end")
	MOVQ(size, rest)
	SUBQ(i, rest)
	JZ(LabelRef("next"))
	line(Mem{Base: s, Index: whole, Scale: 1}, Mem{Base: low, Index: rest, Scale: 1}, false)
	ADDQ(sStep, s)
	line(Mem{Base: s}, Mem{Base: low, Index: rest, Scale: 1, Disp: emit.Line}, false)
	line(Mem{Base: low, Disp: emit.Line}, Mem{Base: d}, true)
	ADDQ(Imm(emit.Line), d)
	MOVQ(U32(emit.Line), i)
	SUBQ(rest, i)
	DECQ(lines)
	JNZ(LabelRef("row"))
	JMP(LabelRef("done"))
	Label("next")
	ADDQ(sStep, s)
	XORQ(i, i)
	JMP(LabelRef("row"))
	Label("done")
	VZEROUPPER()
	RET()
}
