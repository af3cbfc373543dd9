package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of two more tables of 16 bytes in simd.Shuffle: the last 8 bytes of a group, and a
// group from its first and last 8 bytes.
const (
	fieldTail  = fieldShuffles + 16
	fieldWords = fieldShuffles + 32
)

// pickAVX2 writes Rows.Pick for groups of 8 to 16 bytes that span some vectors of 16: each is
// shuffled to its bytes of the result, and zeros. Bytes read and written beyond a group belong
// to the row, as long as enough of it is left. The remaining groups read and write nothing
// beyond, and the last one begins earlier, so that it is whole.
func pickAVX2(count int) {
	name := fmt.Sprintf("pick%dAVX2", count)
	TEXT(name, NOSPLIT, shuffleSignature)
	Doc(fmt.Sprintf("%s is Rows.Pick for groups that span %d vectors.", name, count))
	Pragma("noescape")
	d, s, rows, p := param("dst"), param("src"), param("rows"), param("p")
	field := func(at int) Mem { return Mem{Base: p, Disp: at} }
	loaded := func(at int) reg.GPVirtual {
		r := GP64()
		MOVQ(field(at), r)
		return r
	}
	near, far, group := loaded(fieldNear), loaded(fieldFar), loaded(fieldGroup)
	last, ahead := loaded(fieldLast), loaded(fieldAhead)
	table := func(at int) reg.VecVirtual {
		x := XMM()
		VMOVDQU(field(at), x)
		return x
	}
	var shuffles []reg.VecVirtual
	for i := range count {
		shuffles = append(shuffles, table(fieldShuffles+64*i))
	}
	tail, words := table(fieldTail), table(fieldWords)
	ADDQ(field(fieldBase), s)
	out, in := XMM(), XMM()
	pick := func(s reg.GPVirtual) { pickGroup(s, last, shuffles, out, in) }

	TESTQ(rows, rows)
	JZ(LabelRef("done"))
	Label("row")
	dg, sg, left := copyOf(d), copyOf(s), GP64()
	next := func() {
		ADDQ(near, dg)
		ADDQ(far, sg)
		SUBQ(group, left)
	}
	MOVQ(arg("n"), left)
	SUBQ(field(fieldReserve), left)
	JL(LabelRef("rest"))
	Label("group")
	PREFETCHT1(Mem{Base: sg, Index: ahead, Scale: 1})
	pick(sg)
	VMOVDQU(out, at(dg, 0))
	next()
	JGE(LabelRef("group"))
	Label("rest")
	ADDQ(field(fieldReserve), left)
	JZ(LabelRef("next"))
	Label("careful")
	SUBQ(group, left)
	JGE(LabelRef("enough"))
	t := GP64() // elements to go back
	MOVQ(left, t)
	IMULQ(field(fieldSize), t)
	ADDQ(t, dg)
	IMULQ(field(fieldStep), left)
	ADDQ(left, sg)
	XORQ(left, left)
	Label("enough")
	ADDQ(group, left)
	if count == 1 {
		span := loaded(fieldSpan)
		VMOVQ(at(sg, 0), in)
		VPINSRQ(Imm(1), Mem{Base: sg, Index: span, Scale: 1, Disp: -8}, in, in)
		VPSHUFB(words, in, out)
	} else {
		pick(sg)
	}
	VMOVQ(out, at(dg, 0))
	VPSHUFB(tail, out, out)
	VMOVQ(out, Mem{Base: dg, Index: near, Scale: 1, Disp: -8})
	next()
	JG(LabelRef("careful"))
	nextRow(d, s, rows)
}

// pickGroup sets out to the bytes of a group, from the vectors that it spans; the last one begins
// at last.
func pickGroup(s, last reg.GPVirtual, shuffles []reg.VecVirtual, out, in reg.VecVirtual) {
	for i, shuffle := range shuffles {
		from := at(s, 16*i)
		if i == len(shuffles)-1 {
			from = Mem{Base: s, Index: last, Scale: 1}
		}
		VMOVDQU(from, in)
		if i == 0 {
			VPSHUFB(shuffle, in, out)
			continue
		}
		VPSHUFB(shuffle, in, in)
		VPOR(in, out, out)
	}
}

// spreadAVX2 writes Rows.Spread for elements of a word of w bytes, and for elements of less
// than two words, moved as a first and a last one. AVX2 cannot store single bytes of a vector,
// so each word has its own store; words below 8 bytes come from registers of 8.
func spreadAVX2(w int) {
	name := fmt.Sprintf("spread%dAVX2", w)
	TEXT(name, NOSPLIT, shuffleSignature)
	Doc(fmt.Sprintf("%s is Rows.Spread for elements of one or two words of %d bytes.", name, w))
	Pragma("noescape")
	d, s, rows, p := param("dst"), param("src"), param("rows"), param("p")
	step, step3, size, n, ahead := GP64(), GP64(), GP64(), param("n"), GP64()
	MOVQ(Mem{Base: p, Disp: fieldAhead}, ahead)
	MOVQ(Mem{Base: p, Disp: fieldStep}, step)
	LEAQ(Mem{Base: step, Index: step, Scale: 2}, step3)
	MOVQ(Mem{Base: p, Disp: fieldSize}, size)
	word := word{w, XMM()}

	TESTQ(rows, rows)
	JZ(LabelRef("done"))
	Label("row")
	dg, sg, left, t := copyOf(d), copyOf(s), copyOf(n), GP64()
	if w > 1 && w < 16 {
		CMPQ(size, Imm(uint64(w)))
		JNE(LabelRef("two"))
	}
	SUBQ(Imm(8), left)
	JL(LabelRef("rest"))
	word.eight(dg, sg, t, step, step3, ahead)
	ADDQ(U32(uint32(8*w)), sg)
	SUBQ(Imm(8), left)
	JGE(LabelRef("eight"))
	Label("rest")
	ADDQ(Imm(8), left)
	JZ(LabelRef("next"))
	Label("one")
	word.move(t, at(sg, 0), at(dg, 0))
	ADDQ(step, dg)
	ADDQ(Imm(uint64(w)), sg)
	DECQ(left)
	JNZ(LabelRef("one"))
	if w > 1 && w < 16 {
		JMP(LabelRef("next"))
		Label("two")
		u := GP64()
		PREFETCHT0(Mem{Base: dg, Index: ahead, Scale: 1})
		word.move(t, at(sg, 0), at(dg, 0))
		word.move(u, Mem{Base: sg, Index: size, Scale: 1, Disp: -w}, Mem{Base: dg, Index: size, Scale: 1, Disp: -w})
		ADDQ(step, dg)
		ADDQ(size, sg)
		DECQ(left)
		JNZ(LabelRef("two"))
	}
	nextRow(d, s, rows)
}

// word is what a single move moves: some bytes, of which 16 go through a vector.
type word struct {
	bytes int
	x     reg.VecVirtual
}

func (x word) store(r reg.GPVirtual, to Mem) {
	switch x.bytes {
	case 1:
		MOVB(r.As8(), to)
	case 2:
		MOVW(r.As16(), to)
	case 4:
		MOVL(r.As32(), to)
	case 8:
		MOVQ(r, to)
	case 16:
		VMOVDQU(x.x, to)
	}
}

func (x word) move(r reg.GPVirtual, from, to Mem) {
	switch x.bytes {
	case 1:
		MOVB(from, r.As8())
	case 2:
		MOVW(from, r.As16())
	case 4:
		MOVL(from, r.As32())
	case 8:
		MOVQ(from, r)
	case 16:
		VMOVDQU(from, x.x)
	}
	x.store(r, to)
}

// eight moves eight elements of one word, and prefetches later ones.
func (x word) eight(dg, sg, t, step, step3, ahead reg.GPVirtual) {
	Label("eight")
	TESTQ(ahead, ahead)
	JZ(LabelRef("fetched"))
	later := GP64()
	LEAQ(Mem{Base: dg, Index: ahead, Scale: 1}, later)
	for _, two := range []Mem{{Base: later}, {Base: later, Index: step, Scale: 2}, {Base: later, Index: step, Scale: 4}, {Base: later, Index: step3, Scale: 2}} {
		PREFETCHT0(two)
	}
	Label("fetched")
	for i := range 8 {
		to := []Mem{{Base: dg}, {Base: dg, Index: step, Scale: 1}, {Base: dg, Index: step, Scale: 2}, {Base: dg, Index: step3, Scale: 1}}[i%4]
		switch {
		case x.bytes >= 8:
			x.move(t, at(sg, i*x.bytes), to)
		case i*x.bytes%8 == 0:
			MOVQ(at(sg, i*x.bytes), t)
			x.store(t, to)
		default:
			SHRQ(Imm(uint64(8*x.bytes)), t)
			x.store(t, to)
		}
		if i%4 == 3 {
			LEAQ(Mem{Base: dg, Index: step, Scale: 4}, dg)
		}
	}
}

// nextRow ends a loop over rows, and the function.
func nextRow(d, s, rows reg.GPVirtual) {
	Label("next")
	ADDQ(arg("dStep"), d)
	ADDQ(arg("sStep"), s)
	DECQ(rows)
	JNZ(LabelRef("row"))
	Label("done")
	VZEROUPPER()
	RET()
}
