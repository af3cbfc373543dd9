package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/restride/restride/internal/simd/asm/emit"
)

// Rows that begin within bytes, each at another bit, and are too short for a call each. Both
// kernels have vectors of 32 bytes at every level: a vector of 64 that lies across two lines
// costs as much as two of 32.

// bitRow is a row that begins at a bit: the bit of its byte, and the resulting shift counts of
// vectors.
type bitRow struct {
	shift    reg.GPVirtual
	up, down reg.VecVirtual
}

// begin reads the next entry of a table, and sets p to the byte that contains it.
func (r *bitRow) begin(at, base, p reg.GPVirtual) {
	MOVQ(Mem{Base: at}, p)
	MOVQ(p, r.shift)
	SARQ(Imm(3), p)
	ANDL(Imm(7), r.shift.As32())
	ADDQ(base, p)
}

// alignRows is shiftBits for rows, 32 bytes of each at a time.
func alignRows() {
	TEXT(AVX2.Name("alignRows"), attr.NOSPLIT, "func(dst *byte, step int64, src *byte, at *int64, n, m int64)")
	Pragma("noescape")
	dst, step, src, at, n, m := Arg("dst"), Arg("step"), Arg("src"), Arg("at"), Arg("n"), Arg("m")
	row := bitRow{GP64(), XMM(), XMM()}
	p, d, left, eight := GP64(), GP64(), GP64(), XMM()
	MOVQ(U32(8), p)
	VMOVQ(p, eight)
	Label("row")
	row.begin(at, src, p)
	VMOVQ(row.shift, row.down)
	VPSUBQ(row.down, eight, row.up)
	MOVQ(dst, d)
	MOVQ(n, left)
	Label("some")
	low, high := YMM(), YMM()
	Read(Mem{Base: p}, low)
	Read(Mem{Base: p, Disp: 1}, high)
	VPSRLW(row.down, low, low)
	VPSLLW(row.up, high, high)
	Or(high, low)
	Write(low, Mem{Base: d}, false)
	ADDQ(Imm(32), p)
	ADDQ(Imm(32), d)
	SUBQ(Imm(32), left)
	JG(LabelRef("some"))
	ADDQ(Imm(8), at)
	ADDQ(step, dst)
	DECQ(m)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// placedRow is a row of size bytes that begins within one: its destination and source, the bits
// of its last byte that belong to others, and a vector of ones.
type placedRow struct {
	bitRow
	p, src, size, rest reg.GPVirtual
	ones               reg.VecVirtual
}

// word returns 8 bytes of the row, from an address in the source on.
func (r placedRow) word(from Mem) reg.GPVirtual {
	high, low, down := GP64(), GP64(), GP64()
	MOVQ(U32(8), down)
	SUBQ(r.shift, down)
	SHLXQ(r.shift, from, high)
	from.Disp--
	SHRXQ(down, from, low)
	ORQ(low, high)
	return high
}

// read is word for 16 or 32 bytes.
func (r placedRow) read(from Mem, bytes int) reg.VecVirtual {
	low, high := Vec(bytes).Reg(), Vec(bytes).Reg()
	Read(from, high)
	from.Disp--
	Read(from, low)
	VPSLLW(r.up, high, high)
	VPSRLW(r.down, low, low)
	Or(high, low)
	return low
}

// plain writes bytes other than the first and the last.
func (r placedRow) plain(bytes, disp int, at reg.GPVirtual, past bool) {
	from, to := Mem{Base: r.src, Index: at, Scale: 1, Disp: disp}, Mem{Base: r.p, Index: at, Scale: 1, Disp: disp}
	if bytes == 8 {
		MOVQ(r.word(from), to)
		return
	}
	Write(r.read(from, bytes), to, past)
}

// first returns a function that writes the first bytes, and reads the bits before the row in
// the first one.
func (r placedRow) first(bytes int) func() {
	to := Mem{Base: r.p}
	if bytes == 8 {
		old := GP64()
		BZHIQ(r.shift, to, old)
		return func() {
			v := GP64()
			SHLXQ(r.shift, Mem{Base: r.src}, v)
			ORQ(old, v)
			MOVQ(v, to)
		}
	}
	old := Vec(bytes).Reg()
	Read(to, old)
	return func() {
		mask := Vec(bytes).Reg()
		VPSLLVQ(First(r.up.AsY().(reg.VecVirtual), bytes), First(r.ones, bytes), mask)
		r.merge(old, mask, Mem{Base: r.src}, to)
	}
}

// last is first for the last bytes.
func (r placedRow) last(bytes int) func() {
	from, to := Mem{Base: r.src, Index: r.size, Scale: 1, Disp: -bytes}, Mem{Base: r.p, Index: r.size, Scale: 1, Disp: -bytes}
	if bytes == 8 {
		old := GP64()
		MOVQ(to, old)
		return func() {
			v, mask := r.word(from), GP64()
			MOVQ(I32(-1), mask)
			SHRXQ(r.rest, mask, mask)
			ANDQ(mask, v)
			ANDNQ(old, mask, mask)
			ORQ(mask, v)
			MOVQ(v, to)
		}
	}
	old := Vec(bytes).Reg()
	Read(to, old)
	return func() {
		mask := Vec(bytes).Reg()
		VMOVQ(r.rest, mask.AsX())
		if bytes == 16 {
			VPSLLDQ(Imm(8), mask, mask)
		} else {
			VPERMQ(Imm(0x15), mask, mask)
		}
		VPSRLVQ(mask, First(r.ones, bytes), mask)
		r.merge(old, mask, from, to)
	}
}

// merge writes the bits of the row in a mask, and the old bits elsewhere.
func (r placedRow) merge(old, mask reg.VecVirtual, from, to Mem) {
	v := r.read(from, int(mask.Size()))
	And(mask, v)
	VPANDN(old, mask, mask)
	Or(mask, v)
	Write(v, to, false)
}

// ends writes the first and the last bytes of a row, without its very first and last byte.
// Others may lie between them, or they may overlap.
func (r placedRow) ends(bytes int) {
	first, last := r.first(bytes), r.last(bytes)
	first()
	last()
}

// leastWithLines is the least size of a row that contains a whole line at any address, and 8
// more bytes on either side.
const leastWithLines = 192

// placeRows merges the other elements of the first byte and the last one into these before they
// are written: others may read them. Whole lines bypass the caches, if requested, except those
// with fewer than 8 bytes of the row before or behind them.
func placeRows() {
	TEXT(AVX2.Name("placeRows"), attr.NOSPLIT, "func(dst *byte, at *int64, src *byte, step, n, m int64, past bool)")
	Pragma("noescape")
	at, m := Arg("at"), Arg("m")
	row := placedRow{bitRow{GP64(), XMM(), XMM()}, GP64(), Arg("src"), GP64(), GP64(), YMM()}
	eight, least, t := XMM(), GP64(), GP64()
	MOVQ(U32(8), t)
	VMOVQ(t, eight)
	VPCMPEQB(row.ones, row.ones, row.ones)
	past := GP8()
	Load(Param("past"), past)
	MOVQ(I32(-1), least) // bytes of a row whose lines bypass the caches
	SHRQ(Imm(1), least)
	TESTB(past, past)
	JZ(LabelRef("row"))
	MOVQ(U32(leastWithLines), least)

	Label("row")
	Load(Param("dst"), t)
	row.begin(at, t, row.p)
	Load(Param("n"), row.size)
	ADDQ(row.shift, row.size)
	MOVQ(row.size, row.rest)
	NEGQ(row.rest)
	ANDL(Imm(7), row.rest.As32())
	ADDQ(Imm(7), row.size)
	SHRQ(Imm(3), row.size)
	VMOVQ(row.shift, row.up)
	VPSUBQ(row.up, eight, row.down)
	i, end := GP64(), GP64()
	CMPQ(row.size, Imm(32))
	JG(LabelRef("long"))
	CMPQ(row.size, Imm(16))
	JG(LabelRef("vectors"))
	row.ends(8)
	JMP(LabelRef("next"))
	Label("vectors")
	row.ends(16)
	JMP(LabelRef("next"))

	row.long(i, end, least)
	row.lines(i, end)

	Label("next")
	ADDQ(Imm(8), at)
	Load(Param("step"), t)
	ADDQ(t, row.src)
	DECQ(m)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// long writes a row of more than 32 bytes whose lines do not bypass the caches; with at least
// the bytes in least, control goes to lines.
func (r placedRow) long(i, end, least reg.GPVirtual) {
	Label("long")
	CMPQ(r.size, least)
	JGE(LabelRef("lines"))
	r.ends(32)
	MOVQ(U32(32), i)
	LEAQ(Mem{Base: r.size, Disp: -32}, end)
	CMPQ(i, end)
	JGE(LabelRef("next"))
	Label("middle")
	r.plain(32, 0, i, false)
	ADDQ(Imm(32), i)
	CMPQ(i, end)
	JL(LabelRef("middle"))
	JMP(LabelRef("next"))
}

// lines writes a row whose lines bypass the caches. The first line begins at i, and the rest
// after the last one at end.
func (r placedRow) lines(i, end reg.GPVirtual) {
	Label("lines")
	MOVQ(r.p, i)
	NEGQ(i)
	ANDQ(Imm(63), i)
	for _, bytes := range []int{32, 16, 8} {
		skip := fmt.Sprintf("head%d", bytes/2)
		CMPQ(i, Imm(uint64(bytes)))
		JL(LabelRef(skip))
		r.first(bytes)()
		CMPQ(i, Imm(uint64(bytes)))
		JE(LabelRef("tail"))
		r.plain(bytes, -bytes, i, false)
		JMP(LabelRef("tail"))
		Label(skip)
	}
	r.first(32)()
	ADDQ(Imm(64), i)
	r.plain(32, -56, i, false)
	r.plain(32, -32, i, false)
	r.tail(end)
	Label("line")
	r.plain(32, 0, i, true)
	r.plain(32, 32, i, true)
	ADDQ(Imm(64), i)
	CMPQ(i, end)
	JL(LabelRef("line"))
}

// tail writes the rest of a row after its last line, and sets end to its begin.
func (r placedRow) tail(end reg.GPVirtual) {
	Label("tail")
	rest := GP64()
	LEAQ(Mem{Base: r.p, Index: r.size, Scale: 1}, rest)
	ANDQ(Imm(63), rest)
	MOVQ(r.size, end)
	SUBQ(rest, end)
	for _, bytes := range []int{32, 16, 8} {
		skip := fmt.Sprintf("tail%d", bytes/2)
		CMPQ(rest, Imm(uint64(bytes)))
		JL(LabelRef(skip))
		r.last(bytes)()
		CMPQ(rest, Imm(uint64(bytes)))
		JE(LabelRef("line"))
		r.plain(bytes, 0, end, false)
		JMP(LabelRef("line"))
		Label(skip)
	}
	SUBQ(Imm(64), end)
	r.last(32)()
	r.plain(32, 0, end, false)
	r.plain(32, 8, end, false)
}
