package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// argument is the address of a parameter, for those that are not worth a register.
func argument(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// nextRows are the lines that a kernel prefetches meanwhile: lines of the next block's rows, a
// few at a time. They go to the second cache, as the first can wait for too few of them.
type nextRows struct {
	base, row GPVirtual // the line of the first row, and the next row's place in the table
	end       Mem       // of the table
	rows      int       // at a time
}

// newNextRows begins, for blocks of the given number of rows by 16 bytes.
func newNextRows(rows int) nextRows {
	f := nextRows{GP64(), GP64(), AllocLocal(8), (rows + 3) / 4}
	MOVQ(argument("m"), f.row)
	SHLQ(Imm(3), f.row)
	ADDQ(argument("fetched"), f.row)
	MOVQ(f.row, f.end)
	Load(Param("fetch"), f.base)
	Load(Param("fetched"), f.row)
	return f
}

// some prefetches a line of a quarter of the rows.
func (f nextRows) some() {
	fetchSome(f.base, f.row, f.end, f.rows, func() {
		Load(Param("fetched"), f.row)
		ADDQ(Imm(emit.Line), f.base)
	})
}

// fetchSome prefetches a line of a quarter of a block's rows: a line has four times the 16
// bytes per row that a kernel moves meanwhile. After the last rows, next advances to other
// lines.
func fetchSome(base, row GPVirtual, end Mem, rows int, next func()) {
	TESTQ(base, base)
	JZ(LabelRef("fetched"))
	at := GP64()
	for i := range rows {
		MOVQ(Mem{Base: row, Disp: 8 * i}, at)
		PREFETCHT1(Mem{Base: base, Index: at, Scale: 1})
	}
	ADDQ(U32(uint32(8*rows)), row)
	CMPQ(row, end)
	JNE(LabelRef("fetched"))
	next()
	Label("fetched")
}

// lead is a cursor's distance, in bytes of all rows of a block.
const lead = 16 << 10

// cursor prefetches for a kernel that reads blocks of rows from one end to the other: the lines
// that it will read some time later, and in the end the first ones of the next call.
type cursor struct {
	base, row       GPVirtual
	begin, end      Mem // of the rows
	rowsEnd, tabEnd Mem // of a block in the table, and of all
	bytes, span     Mem // of a row, and of the table
	rows            int // of a block
}

// newCursor begins, for blocks of the given number of rows of elements of size bytes.
func newCursor(rows, size int) cursor {
	local := func() Mem { return AllocLocal(8) }
	c := cursor{GP64(), GP64(), local(), local(), local(), local(), local(), local(), rows}
	Load(Param("src"), c.base)
	Load(Param("rows"), c.row)
	at := GP64()
	MOVQ(argument("n"), at)
	IMUL3Q(Imm(uint64(size)), at, at)
	MOVQ(at, c.bytes)
	MOVQ(argument("m"), at)
	SHLQ(Imm(3), at)
	MOVQ(at, c.span)
	c.start()
	c.block()
	left := GP64()
	MOVQ(U32(uint32(lead/emit.Line/rows)), left)
	Label("lead")
	c.line("lead")
	TESTQ(c.base, c.base)
	JZ(LabelRef("led"))
	DECQ(left)
	JNZ(LabelRef("lead"))
	Label("led")
	return c
}

// start sets the ends of all rows; the first ones are at base and row.
func (c cursor) start() {
	at := GP64()
	MOVQ(c.base, c.begin)
	MOVQ(c.base, at)
	ADDQ(c.bytes, at)
	MOVQ(at, c.end)
	MOVQ(c.row, at)
	ADDQ(c.span, at)
	MOVQ(at, c.tabEnd)
}

// block sets the end of a block that begins at row.
func (c cursor) block() {
	at := GP64()
	LEAQ(Mem{Base: c.row, Disp: 8 * c.rows}, at)
	MOVQ(at, c.rowsEnd)
}

// line advances to the next line of all rows of a block, to the next block, or to the next
// call; then to nothing: base is 0.
func (c cursor) line(name string) {
	ADDQ(Imm(emit.Line), c.base)
	MOVQ(c.rowsEnd, c.row)
	CMPQ(c.base, c.end)
	JCS(LabelRef(name + "same"))
	CMPQ(c.row, c.tabEnd)
	JNE(LabelRef(name + "rows"))
	Load(Param("fetch"), c.base)
	Load(Param("fetched"), c.row)
	c.start()
	MOVQ(U32(0), argument("fetch"))
	JMP(LabelRef(name + "block"))
	Label(name + "rows")
	MOVQ(c.begin, c.base)
	Label(name + "block")
	c.block()
	JMP(LabelRef(name + "line"))
	Label(name + "same")
	SUBQ(U32(uint32(8*c.rows)), c.row)
	Label(name + "line")
}

// some prefetches a line of a quarter of a block's rows.
func (c cursor) some() {
	fetchSome(c.base, c.row, c.rowsEnd, c.rows/4, func() { c.line("fetch") })
}

// fetchRows writes the kernel that prefetches pieces of rows at the offsets in a table.
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
