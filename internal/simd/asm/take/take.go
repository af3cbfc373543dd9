package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// taker is shared by the loops over rows.
type taker struct {
	v                                   emit.Vec
	d, s, offsets, step, size, n, ahead reg.GPVirtual
}

// take writes Takes.Take: a loop for each size of short rows, and two for rows of a line and
// more.
func take(v emit.Vec) {
	name := v.Name("take")
	TEXT(name, NOSPLIT, "func(dst, src *byte, offsets *int64, dStep, size, n, ahead int64, past bool)")
	Doc(name + " is Takes.Take.")
	Pragma("noescape")
	t := taker{v, emit.Arg("dst"), emit.Arg("src"), emit.Arg("offsets"), emit.Arg("dStep"), emit.Arg("size"), emit.Arg("n"), emit.Arg("ahead")}
	past := GP8()
	Load(Param("past"), past)
	TESTQ(t.n, t.n)
	JZ(LabelRef("done"))
	TESTB(past, past)
	JNZ(LabelRef("past"))
	CMPQ(t.size, Imm(64))
	JGE(LabelRef("long"))
	for bytes := 32; bytes > 0; bytes /= 2 {
		CMPQ(t.size, Imm(uint64(bytes)))
		JE(LabelRef(fmt.Sprint("word", bytes)))
		if bytes > 1 {
			JG(LabelRef(fmt.Sprint("two", bytes)))
		}
	}
	JMP(LabelRef("done"))
	for bytes := 32; bytes > 0; bytes /= 2 {
		t.words(bytes)
		if bytes > 1 {
			t.twoWords(bytes)
		}
	}
	Label("long")
	t.long()
	Label("past")
	t.past()
	Label("done")
	VZEROUPPER()
	RET()
}

// loop writes a loop over the rows; body moves several at a time.
func (t taker) loop(label string, rows int, body func()) {
	if rows > 1 {
		SUBQ(Imm(uint64(rows)), t.n)
		JL(LabelRef(label + "end"))
	}
	Label(label + "loop")
	body()
	ADDQ(Imm(uint64(8*rows)), t.offsets)
	if rows == 1 {
		DECQ(t.n)
		JNZ(LabelRef(label + "loop"))
		JMP(LabelRef("done"))
		return
	}
	SUBQ(Imm(uint64(rows)), t.n)
	JGE(LabelRef(label + "loop"))
	Label(label + "end")
	ADDQ(Imm(uint64(rows)), t.n)
	JZ(LabelRef("done"))
}

// from is a byte of the row at an offset.
func (t taker) from(offset reg.GPVirtual, off int) Mem {
	return Mem{Base: t.s, Index: offset, Scale: 1, Disp: off}
}

// fetch prefetches the row ahead rows after the one whose offset is at a byte of the offsets,
// and returns its address.
func (t taker) fetch(off int) (from reg.GPVirtual) {
	from = GP64()
	MOVQ(Mem{Base: t.offsets, Index: t.ahead, Scale: 8, Disp: off}, from)
	ADDQ(t.s, from)
	PREFETCHT1(Mem{Base: from})
	return from
}

// words moves rows that are one word, and prefetches none if the distance is 0 rows.
func (t taker) words(bytes int) {
	label := fmt.Sprint("word", bytes)
	Label(label)
	three := GP64()
	LEAQ(Mem{Base: t.step, Index: t.step, Scale: 2}, three)
	TESTQ(t.ahead, t.ahead)
	JZ(LabelRef(label + "near"))
	t.loop(label+"x4", 4, func() { t.fourWords(bytes, three, true) })
	JMP(LabelRef(label + "rest"))
	Label(label + "near")
	t.loop(label+"nearx4", 4, func() { t.fourWords(bytes, three, false) })
	Label(label + "rest")
	t.loop(label, 1, func() {
		at, w := GP64(), word(bytes)
		MOVQ(Mem{Base: t.offsets}, at)
		move(bytes, t.from(at, 0), w)
		move(bytes, w, Mem{Base: t.d})
		ADDQ(t.step, t.d)
	})
}

func (t taker) fourWords(bytes int, three reg.GPVirtual, fetch bool) {
	var words [4]reg.Register
	for i := range words {
		at := GP64()
		if fetch {
			at = t.fetch(8 * i)
		}
		MOVQ(Mem{Base: t.offsets, Disp: 8 * i}, at)
		words[i] = word(bytes)
		move(bytes, t.from(at, 0), words[i])
	}
	move(bytes, words[0], Mem{Base: t.d})
	move(bytes, words[1], Mem{Base: t.d, Index: t.step, Scale: 1})
	move(bytes, words[2], Mem{Base: t.d, Index: t.step, Scale: 2})
	move(bytes, words[3], Mem{Base: t.d, Index: three, Scale: 1})
	LEAQ(Mem{Base: t.d, Index: t.step, Scale: 4}, t.d)
}

// twoWords moves rows of more than one word and less than two, as a first and a last one.
func (t taker) twoWords(bytes int) {
	label := fmt.Sprint("two", bytes)
	Label(label)
	t.loop(label, 1, func() {
		at, first, last := t.fetch(0), word(bytes), word(bytes)
		PREFETCHT1(Mem{Base: at, Index: t.size, Scale: 1, Disp: -1})
		MOVQ(Mem{Base: t.offsets}, at)
		move(bytes, t.from(at, 0), first)
		ADDQ(t.size, at)
		move(bytes, t.from(at, -bytes), last)
		move(bytes, first, Mem{Base: t.d})
		move(bytes, last, Mem{Base: t.d, Index: t.size, Scale: 1, Disp: -bytes})
		ADDQ(t.step, t.d)
	})
}

// long moves rows of a line and more; a row's last line may overlap the previous one.
func (t taker) long() {
	last := GP64()
	MOVQ(t.size, last)
	SUBQ(Imm(64), last)
	t.loop("long", 1, func() {
		from, later, i := t.row()
		JMP(LabelRef("longtest"))
		Label("longline")
		PREFETCHT1(Mem{Base: later, Index: i, Scale: 1})
		t.line(from, t.d, i, false)
		ADDQ(Imm(64), i)
		Label("longtest")
		CMPQ(i, last)
		JL(LabelRef("longline"))
		t.line(from, t.d, last, false)
		ADDQ(t.step, t.d)
	})
}

// past moves rows of whole lines, bypassing the caches.
func (t taker) past() {
	Label("pastloop")
	from, later, i := t.row()
	Label("pastline")
	PREFETCHT1(Mem{Base: later, Index: i, Scale: 1})
	t.line(from, t.d, i, true)
	ADDQ(Imm(64), i)
	CMPQ(i, t.size)
	JL(LabelRef("pastline"))
	ADDQ(t.step, t.d)
	ADDQ(Imm(8), t.offsets)
	DECQ(t.n)
	JNZ(LabelRef("pastloop"))
}

// row returns the address of a row, of a later one, and zero, and prefetches the latter's last
// line. Its other lines are prefetched as this row's are moved: together they would stall one
// another.
func (t taker) row() (from, later, i reg.GPVirtual) {
	from, i = GP64(), GP64()
	later = t.fetch(0)
	PREFETCHT1(Mem{Base: later, Index: t.size, Scale: 1, Disp: -1})
	MOVQ(Mem{Base: t.offsets}, from)
	ADDQ(t.s, from)
	XORQ(i, i)
	return from, later, i
}

// line moves the 64 bytes at an index.
func (t taker) line(from, to, i reg.GPVirtual, past bool) {
	size := int(t.v)
	var parts []reg.VecVirtual
	for range emit.Line / size {
		parts = append(parts, t.v.Reg())
	}
	for k, r := range parts {
		emit.Read(Mem{Base: from, Index: i, Scale: 1, Disp: k * size}, r)
	}
	for k, r := range parts {
		emit.Write(r, Mem{Base: to, Index: i, Scale: 1, Disp: k * size}, past)
	}
}

// word returns a register of 1 to 32 bytes.
func word(bytes int) reg.Register {
	switch bytes {
	case 1:
		return GP8()
	case 2:
		return GP16()
	case 4:
		return GP32()
	case 8:
		return GP64()
	case 16:
		return XMM()
	}
	return YMM()
}

// move is the load or the store of a word.
func move(bytes int, from, to Op) {
	switch bytes {
	case 1:
		MOVB(from, to)
	case 2:
		MOVW(from, to)
	case 4:
		MOVL(from, to)
	case 8:
		MOVQ(from, to)
	default:
		VMOVDQU(from, to)
	}
}
