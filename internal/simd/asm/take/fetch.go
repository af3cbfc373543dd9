package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// fetch writes Takes.Fetch.
func fetch() {
	TEXT("fetch", NOSPLIT, "func(src *byte, from, size int64)")
	Doc("fetch is Takes.Fetch.")
	Pragma("noescape")
	s, size := emit.Arg("src"), emit.Arg("size")
	ADDQ(emit.Arg("from"), s)
	Label("line")
	PREFETCHT1(Mem{Base: s})
	ADDQ(Imm(emit.Line), s)
	SUBQ(Imm(emit.Line), size)
	JG(LabelRef("line"))
	RET()
}
