package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// transposer describes a kernel that transposes blocks within registers. With e the elements in
// 16 bytes, register r holds 16 bytes of each of rows r, r+e, r+2e, ..., one in each 128-bit
// lane. The rest is a transpose of e by e elements, the same in every lane, by interleaving
// instructions: register c then has column c of all these rows, in their order.
type transposer struct {
	size  int // bytes of an element
	lanes int // 16 bytes each: 1, 2 or 4

	fetch nextRows // for those with 2 or more lanes
}

func (t transposer) fetches() bool { return t.lanes > 1 }

func (t transposer) name() string {
	return fmt.Sprintf("transpose%dx%d", t.size*8, t.lanes*128)
}

// rows is the number of rows of the source in a block.
func (t transposer) rows() int { return 16 / t.size * t.lanes }

// write writes the loops: over blocks of rows, and within over columns. The last block of
// columns overlaps the previous one.
func (t transposer) write() {
	e := 16 / t.size
	TEXT(t.name(), NOSPLIT, "func(dst *byte, stride int64, src *byte, rows *int64, m, n int64, fetch *byte, fetched *int64)")
	Doc(t.name() + " is one of Transposes.Transpose.")
	Pragma("noescape")
	dst, stride, src := Load(Param("dst"), GP64()), Load(Param("stride"), GP64()), Load(Param("src"), GP64())
	rows, m, n := Load(Param("rows"), GP64()), argument("m"), argument("n")
	if t.fetches() {
		t.fetch = newNextRows(t.rows())
	}
	stride3 := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)

	Label("block")
	d, s, left := GP64(), GP64(), GP64()
	MOVQ(dst, d)
	MOVQ(src, s)
	from, none := t.rowsAt(s, rows, 1), func(int) {}
	MOVQ(n, left)

	Label("columns")
	if t.fetches() {
		t.fetch.some()
	}
	t.block(1, from, t.columnsAt(d, stride, stride3, false, none, none))
	ADDQ(Imm(16), s)
	SUBQ(Imm(uint64(e)), left)
	JZ(LabelRef("next"))
	CMPQ(left, Imm(uint64(e)))
	JGE(LabelRef("columns"))
	back := GP64() // columns too many
	MOVQ(left, back)
	SUBQ(Imm(uint64(e)), back)
	LEAQ(Mem{Base: s, Index: back, Scale: uint8(min(t.size, 8))}, s)
	at := GP64()
	MOVQ(stride, at)
	IMULQ(back, at)
	ADDQ(at, d)
	MOVQ(U32(uint32(e)), left)
	JMP(LabelRef("columns"))
	t.next(rows, dst, m)
}

// next advances to the next rows, or ends.
func (t transposer) next(rows, dst Register, m Mem) {
	Label("next")
	ADDQ(U32(uint32(8*t.rows())), rows)
	ADDQ(Imm(uint64(t.rows()*t.size)), dst)
	SUBQ(Imm(uint64(t.rows())), m)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// block writes the transpose of one block: of the registers from row, 16 bytes of rows r, r+e,
// and so on, in the given part of the block's rows, each to store.
func (t transposer) block(parts int, row func(r, part int) VecVirtual, store func(c, part int, v VecVirtual)) {
	e, in := 16/t.size, lanes(t.lanes)
	if e < 16 || t.lanes == 4 {
		for part := range parts {
			var v []VecVirtual
			for r := range e {
				v = append(v, row(r, part))
			}
			c := 0
			in.transpose(t.size, v, func(v VecVirtual) { store(c, part, v); c++ })
		}
		return
	}
	// Fewer registers: one half of the columns, and then, from the source again, the
	// other.
	for half, unpack := range []unpack{in.low, in.high} {
		for part := range parts {
			var v []VecVirtual
			for r := 0; r < e; r += 2 {
				v = append(v, unpack(t.size, row(r, part), row(r+1, part)))
			}
			c := half * e / 2
			in.transpose(2*t.size, v, func(v VecVirtual) { store(c, part, v); c++ })
		}
	}
}

// rowsAt returns a function that loads rows of the source, whose offsets from s are in rows:
// each, or every second or fourth one.
func (t transposer) rowsAt(s, rows Register, every int) func(r, part int) VecVirtual {
	e, in := 16/t.size, lanes(t.lanes)
	return func(r, part int) VecVirtual {
		v, at := in.register(), GP64()
		for lane := range t.lanes {
			MOVQ(Mem{Base: rows, Disp: 8 * every * ((part*t.lanes+lane)*e + r)}, at)
			in.load(Mem{Base: s, Index: at, Scale: 1}, lane, v)
		}
		return v
	}
}

// columnsAt returns a function that stores columns as rows, the first at d. It moves d to the
// row after the last one.
func (t transposer) columnsAt(d, stride, stride3 Register, past bool, before, after func(c int)) func(c, part int, v VecVirtual) {
	e := 16 / t.size
	return func(c, _ int, v VecVirtual) {
		to := []Mem{{Base: d}, {Base: d, Index: stride, Scale: 1}, {Base: d, Index: stride, Scale: 2}, {Base: d, Index: stride3, Scale: 1}}[c&3]
		before(c)
		emit.Write(v, to, past)
		after(c)
		if c&3 == 3 || c == e-1 {
			LEAQ(Mem{Base: d, Index: stride, Scale: uint8(min(e, 4))}, d)
		}
	}
}
