package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// streamer describes a kernel that transposes, bypassing the caches: a block has as many rows
// as a line of the destination has elements. With two lanes, halves of lines come from
// registers, and the columns of 16 bytes are assembled in a buffer. It reads every row from one
// end to the other, and prefetches.
type streamer struct {
	transposer
	staged bool // lines of all rows are collected first
	few    bool // fewer columns than 16 bytes have
	placed bool // to rows at the places in a table
}

// direct reports whether lines go to the destination from registers.
func (t streamer) direct() bool { return t.lanes == 4 && !t.placed }

func (t streamer) name() string {
	name := t.transposer.name() + "stream"
	if t.placed {
		name = t.transposer.name() + "placed"
	}
	switch {
	case t.staged:
		return name + "staged"
	case t.few:
		return name + "few"
	}
	return name
}

// rows is the number of rows of the source in a block.
func (t streamer) rows() int { return emit.Line / t.size }

// The buffer has the lines that are assembled, and then the source's.
const stageAt = 16 * emit.Line

func (t streamer) write() {
	e, parts := 16/t.size, 4/t.lanes
	to := "stride int64"
	if t.placed {
		to = "tab *int64"
	}
	TEXT(t.name(), NOSPLIT, "func(dst *byte, "+to+", src *byte, rows *int64, m, n int64, fetch *byte, fetched *int64, work *byte)")
	Doc(t.name() + " is one of Transposes.Transpose.")
	Pragma("noescape")
	dst, src, m, n := argument("dst"), argument("src"), argument("m"), argument("n")
	stride, rows, work := GP64(), Load(Param("rows"), GP64()), Load(Param("work"), GP64())
	if !t.placed {
		Load(Param("stride"), stride)
	}
	stride3 := GP64()
	if t.direct() {
		LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	}
	if t.few {
		t.writeFew(dst, src, m, n, stride, stride3, rows, work)
		return
	}
	c := newCursor(t.rows(), t.size)

	Label("block")
	d, s, left := GP64(), GP64(), GP64() // d: the address of the next row of the destination, or of its table entry
	if t.placed {
		Load(Param("tab"), d)
	} else {
		MOVQ(dst, d)
	}
	MOVQ(src, s)
	MOVQ(n, left)
	row := t.rowsAt(s, rows, 1)
	from := GP64() // the quarter of the collected lines
	if t.staged {
		Label("lines")
		t.stage(s, rows, work, d, stride, left)
		LEAQ(Mem{Base: work, Disp: stageAt}, from)
		row = t.rowsIn(from, 1)
	}

	Label("columns")
	c.some()
	first := work // the assembled lines, except for the last block of columns
	if !t.direct() && !t.staged {
		first = GP64()
		MOVQ(work, first)
	}
	Label("again")
	none := func(int) {}
	if t.direct() {
		t.block(1, row, t.columnsAt(d, stride, stride3, true, none, none))
	} else {
		t.block(parts, row, t.columnsIn(work))
		t.flush(dst, d, stride, first, t.lineAt(work, 16/t.size))
	}
	SUBQ(Imm(uint64(e)), left)
	if t.staged {
		ADDQ(Imm(16), from)
		TESTB(U8(emit.Line-1), from.As8())
		JNZ(LabelRef("columns"))
		ADDQ(Imm(emit.Line), s)
		TESTQ(left, left)
		JNZ(LabelRef("lines"))
	} else {
		t.overlap(d, s, left, stride, stride3, first, work, row)
	}

	t.next(rows, dst, m)
}

// writeFew writes the loop over the rows, where a block has all columns.
func (t streamer) writeFew(dst, src, m, n Mem, stride, stride3, rows, work Register) {
	Label("block")
	d, s := GP64(), GP64()
	MOVQ(dst, d)
	MOVQ(src, s)
	row, parts := t.rowsAt(s, rows, 1), 4/t.lanes
	if parts == 1 {
		t.block(1, row, t.columnsAt(d, stride, stride3, true, func(c int) {
			CMPQ(n, Imm(uint64(c)))
			JLE(LabelRef(fmt.Sprintf("none%d", c)))
		}, func(c int) { Label(fmt.Sprintf("none%d", c)) }))
	} else {
		t.block(parts, row, t.columnsIn(work))
		end := GP64()
		MOVQ(n, end)
		SHLQ(Imm(6), end)
		ADDQ(work, end)
		t.flush(dst, d, stride, work, end)
	}
	t.next(rows, dst, m)
}

// next advances to the next rows, or ends.
func (t streamer) next(rows Register, dst, m Mem) {
	Label("next")
	ADDQ(U32(uint32(8*t.rows())), rows)
	ADDQ(Imm(emit.Line), dst)
	SUBQ(Imm(uint64(t.rows())), m)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// overlap advances to the next columns. The last ones may overlap the previous ones, whose
// lines are not written again.
func (t streamer) overlap(d, s, left, stride, stride3, first, work Register, row func(r, part int) VecVirtual) {
	e := 16 / t.size
	JZ(LabelRef("next"))
	ADDQ(Imm(16), s)
	if e == 1 {
		JMP(LabelRef("columns"))
		return
	}
	CMPQ(left, Imm(uint64(e)))
	JGE(LabelRef("columns"))
	back := GP64() // columns too many, as a negative number
	MOVQ(left, back)
	SUBQ(Imm(uint64(e)), back)
	LEAQ(Mem{Base: s, Index: back, Scale: uint8(t.size)}, s)
	if !t.direct() {
		MOVQ(U32(uint32(e)), left)
		SHLQ(Imm(6), back)
		MOVQ(work, first)
		SUBQ(back, first)
		JMP(LabelRef("again"))
		return
	}
	at := GP64()
	MOVQ(stride, at)
	IMULQ(back, at)
	ADDQ(at, d)
	t.block(1, row, t.columnsAt(d, stride, stride3, true, func(c int) {
		if c < e-1 {
			CMPQ(back, I8(int8(-c)))
			JL(LabelRef(fmt.Sprintf("had%d", c)))
		}
	}, func(c int) {
		if c < e-1 {
			Label(fmt.Sprintf("had%d", c))
		}
	}))
}

// stage collects a line of each row. The last lines may overlap the previous ones.
func (t streamer) stage(s, rows, work, d, stride, left Register) {
	all := 64 / t.size
	CMPQ(left, Imm(uint64(all)))
	JGE(LabelRef("whole"))
	back := GP64()
	MOVQ(left, back)
	SUBQ(Imm(uint64(all)), back)
	LEAQ(Mem{Base: s, Index: back, Scale: uint8(t.size)}, s)
	if t.placed {
		LEAQ(Mem{Base: d, Index: back, Scale: 8}, d)
	} else {
		IMULQ(stride, back)
		ADDQ(back, d)
	}
	MOVQ(U32(uint32(all)), left)
	Label("whole")
	in := lanes(t.lanes)
	for r := range t.rows() {
		at := GP64()
		MOVQ(Mem{Base: rows, Disp: 8 * r}, at)
		for part := 0; part < emit.Line; part += 16 * t.lanes {
			v := in.register()
			emit.Read(Mem{Base: s, Index: at, Scale: 1, Disp: part}, v)
			emit.Write(v, Mem{Base: work, Disp: stageAt + r*emit.Line + part}, false)
		}
	}
}

// rowsIn is rowsAt for rows whose lines were collected.
func (t transposer) rowsIn(from Register, every int) func(r, part int) VecVirtual {
	e, in := 16/t.size, lanes(t.lanes)
	return func(r, part int) VecVirtual {
		v := in.register()
		for lane := range t.lanes {
			in.load(Mem{Base: from, Disp: emit.Line * every * ((part*t.lanes+lane)*e + r)}, lane, v)
		}
		return v
	}
}

// columnsIn returns a function that stores parts of columns as parts of lines.
func (t streamer) columnsIn(work Register) func(c, part int, v VecVirtual) {
	return func(c, part int, v VecVirtual) {
		emit.Write(v, Mem{Base: work, Disp: c*emit.Line + part*16*t.lanes}, false)
	}
}

// lineAt returns the address of the i-th assembled line.
func (t streamer) lineAt(work Register, i int) Register {
	at := GP64()
	LEAQ(Mem{Base: work, Disp: i * emit.Line}, at)
	return at
}

// flush writes the lines from one to another.
func (t streamer) flush(dst Mem, d, stride, first, end Register) {
	in := lanes(t.lanes)
	line, base := GP64(), GP64()
	MOVQ(first, line)
	if t.placed {
		MOVQ(dst, base)
	}
	Label("flush")
	to := Mem{Base: d}
	if t.placed {
		to = Mem{Base: base, Index: GP64(), Scale: 1}
		MOVQ(Mem{Base: d}, to.Index)
	}
	var v []VecVirtual
	for part := 0; part < emit.Line; part += 16 * t.lanes {
		v = append(v, in.register())
		emit.Read(Mem{Base: line, Disp: part}, v[len(v)-1])
	}
	for i := range v {
		emit.Write(v[i], to.Offset(i*16*t.lanes), true)
	}
	ADDQ(Imm(emit.Line), line)
	if t.placed {
		ADDQ(Imm(8), d)
	} else {
		ADDQ(stride, d)
	}
	CMPQ(line, end)
	JNE(LabelRef("flush"))
}
