package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// argument is where a parameter is, for those that are not worth a register.
func argument(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// fetch is what a kernel fetches meanwhile: lines of the next block's rows, a few at a
// time. They go to the second cache, since the first can wait for too few of them.
type fetch struct {
	base, row GPVirtual
	end       Mem
	rows      int // at a time
}

// newFetch begins, for blocks of so many rows by 16 bytes.
func newFetch(rows int) fetch {
	f := fetch{GP64(), GP64(), AllocLocal(8), (rows + 3) / 4}
	MOVQ(argument("m"), f.row)
	SHLQ(Imm(3), f.row)
	ADDQ(argument("fetched"), f.row)
	MOVQ(f.row, f.end)
	Load(Param("fetch"), f.base)
	Load(Param("fetched"), f.row)
	return f
}

// some fetches a line of some rows: a quarter of a block's, whose lines have four times
// its 16 bytes.
func (f fetch) some() {
	TESTQ(f.base, f.base)
	JZ(LabelRef("fetched"))
	at := GP64()
	for i := range f.rows {
		MOVQ(Mem{Base: f.row, Disp: 8 * i}, at)
		PREFETCHT1(Mem{Base: f.base, Index: at, Scale: 1})
	}
	ADDQ(Imm(uint64(8*f.rows)), f.row)
	CMPQ(f.row, f.end)
	JNE(LabelRef("fetched"))
	Load(Param("fetched"), f.row)
	ADDQ(Imm(emit.Line), f.base)
	Label("fetched")
}

// fetchRows writes the kernel that fetches pieces of rows, where a table says.
func fetchRows() {
	TEXT("fetchRows", NOSPLIT, "func(src *byte, rows *int64, m, size int64)")
	Doc("fetchRows is Transposes.FetchRows.")
	Pragma("noescape")
	src, rows, m, size := Load(Param("src"), GP64()), Load(Param("rows"), GP64()), Load(Param("m"), GP64()), Load(Param("size"), GP64())
	Label("row")
	p, end := GP64(), GP64()
	MOVQ(Mem{Base: rows}, p)
	ADDQ(src, p)
	LEAQ(Mem{Base: p, Index: size, Scale: 1, Disp: -1}, end)
	ANDQ(I8(-emit.Line), p)
	Label("line")
	PREFETCHT1(Mem{Base: p})
	ADDQ(Imm(emit.Line), p)
	CMPQ(p, end)
	JLE(LabelRef("line"))
	ADDQ(Imm(8), rows)
	DECQ(m)
	JNZ(LabelRef("row"))
	RET()
}
