package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of simd.Shuffle.
const (
	fieldGroup = 8 * iota
	fieldNear
	fieldFar
	fieldBase
	fieldSpan
	fieldSize
	fieldStep
	fieldVectors
	fieldAhead
	fieldLast
	fieldReserve
	fieldMasks
	fieldShuffles = fieldMasks + 8*vectors
)

// vectors is the most vectors that the far side of a group may span.
const vectors = 4

const shuffleSignature = "func(dst, src *byte, dStep, sStep, n, rows int64, p *byte)"

// shuffle is a function that moves rows of n elements in groups; a row's last group may have
// fewer elements: the tail.
type shuffle struct {
	nearIsDst bool
	// measure makes the masks for a tail of the given number of elements.
	measure func(p, tail reg.GPVirtual)
	// prepare loads values common to all rows.
	prepare func(d, s, p reg.GPVirtual)
	// whole and rest move a group, and the tail.
	whole, rest func(d, s reg.GPVirtual)
}

func (f *shuffle) write(name, doc string) {
	TEXT(name, NOSPLIT, shuffleSignature)
	Doc(name + " is " + doc)
	Pragma("noescape")
	d, s := param("dst"), param("src")
	n, p := param("n"), param("p")
	// the number of whole groups of a row, and the remainder
	groups, tail := GP64(), GP64()
	MOVQ(n, reg.RAX)
	XORQ(reg.RDX, reg.RDX)
	DIVQ(Mem{Base: p, Disp: fieldGroup})
	MOVQ(reg.RAX, groups)
	MOVQ(reg.RDX, tail)
	f.measure(p, tail)
	near, wide := GP64(), GP64()
	MOVQ(Mem{Base: p, Disp: fieldNear}, near)
	MOVQ(Mem{Base: p, Disp: fieldFar}, wide)
	dBy, sBy := near, wide
	if !f.nearIsDst {
		dBy, sBy = wide, near
	}
	f.prepare(d, s, p)
	dStep, sStep, rows := param("dStep"), param("sStep"), param("rows")
	TESTQ(rows, rows)
	JZ(LabelRef("done"))
	Label("row")
	dg, sg, left := copyOf(d), copyOf(s), copyOf(groups)
	TESTQ(left, left)
	JZ(LabelRef("rest"))
	Label("group")
	f.whole(dg, sg)
	ADDQ(dBy, dg)
	ADDQ(sBy, sg)
	DECQ(left)
	JNZ(LabelRef("group"))
	Label("rest")
	TESTQ(tail, tail)
	JZ(LabelRef("next"))
	f.rest(dg, sg)
	Label("next")
	ADDQ(dStep, d)
	ADDQ(sStep, s)
	DECQ(rows)
	JNZ(LabelRef("row"))
	Label("done")
	VZEROUPPER()
	RET()
}

// window sets t to a mask of the bytes of vector i that lie in [lo, hi) of a span; u is a
// scratch register.
func window(i int, lo, hi, ones, t, u reg.GPVirtual) {
	zero, most := GP64(), GP64()
	XORQ(zero, zero)
	MOVQ(U64(64), most)
	clamped := func(of, to reg.GPVirtual) {
		MOVQ(of, to)
		SUBQ(I32(64*int32(i)), to)
		CMOVQLT(zero, to)
		CMPQ(to, Imm(64))
		CMOVQGT(most, to)
		BZHIQ(to, ones, to)
	}
	clamped(hi, t)
	clamped(lo, u)
	ANDNQ(t, u, t)
}

// pickAVX512 writes Rows.Pick for groups that span some vectors: each is loaded, and
// contributes its bytes of the result.
func pickAVX512(count int) {
	index, out, loaded := ZMM(), ZMM(), ZMM()
	last, whole := K(), K()
	ahead := GP64()
	masks := opmasks(count)
	var tails, tailOut Mem
	f := shuffle{nearIsDst: true}
	f.measure = func(p, tail reg.GPVirtual) {
		tails, tailOut = AllocLocal(8*count), AllocLocal(8)
		pickTail(count, p, tail, tails, tailOut)
	}
	f.prepare = func(_, s, p reg.GPVirtual) {
		ADDQ(Mem{Base: p, Disp: fieldBase}, s)
		MOVQ(Mem{Base: p, Disp: fieldAhead}, ahead)
		VMOVDQU8(Mem{Base: p, Disp: fieldShuffles}, index)
		for i := range masks {
			KMOVQ(Mem{Base: p, Disp: fieldMasks + 8*i}, masks[i])
		}
		ones, t := GP64(), GP64()
		MOVQ(I32(-1), ones)
		MOVQ(Mem{Base: p, Disp: fieldSpan}, t)
		SUBQ(I32(64*int32(count-1)), t)
		first(t, ones, t, last)
		MOVQ(Mem{Base: p, Disp: fieldNear}, t)
		first(t, ones, t, whole)
	}
	// permute merges the bytes that vector i contributes.
	permute := func(i int, from Op) {
		if i == 0 {
			VPERMB(from, index, out)
		} else {
			VPERMB(from, index, masks[i], out)
		}
	}
	f.whole = func(d, s reg.GPVirtual) {
		for i := range count {
			PREFETCHT1(Mem{Base: s, Index: ahead, Scale: 1, Disp: 64 * i})
		}
		for i := range count - 1 {
			permute(i, at(s, 64*i))
		}
		VMOVDQU8_Z(at(s, 64*(count-1)), last, loaded)
		permute(count-1, loaded)
		VMOVDQU8(out, whole, at(d, 0))
	}
	f.rest = func(d, s reg.GPVirtual) {
		k := K()
		for i := range count {
			KMOVQ(tails.Offset(8*i), k)
			VMOVDQU8_Z(at(s, 64*i), k, loaded)
			permute(i, loaded)
		}
		KMOVQ(tailOut, k)
		VMOVDQU8(out, k, at(d, 0))
	}
	f.write(fmt.Sprintf("pick%dAVX512", count), fmt.Sprintf("Rows.Pick for groups that span %d vectors.", count))
}

// pickTail computes the masks of the vectors and of the result for a tail.
func pickTail(count int, p, tail reg.GPVirtual, tails, tailOut Mem) {
	ones, lo, hi, t, u := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(I32(-1), ones)
	step, size, span := GP64(), GP64(), GP64()
	MOVQ(Mem{Base: p, Disp: fieldStep}, step)
	MOVQ(Mem{Base: p, Disp: fieldSize}, size)
	MOVQ(Mem{Base: p, Disp: fieldSpan}, span)
	// In ascending order the tail is the beginning of a group, in descending order its end.
	reach(tail, step, size, hi)
	XORQ(lo, lo)
	TESTQ(step, step)
	JNS(LabelRef("ordered"))
	// The result of reach is size - (tail-1)*|step|.
	MOVQ(span, lo)
	ADDQ(hi, lo)
	SUBQ(size, lo)
	SUBQ(size, lo)
	MOVQ(span, hi)
	Label("ordered")
	for i := range count {
		window(i, lo, hi, ones, t, u)
		MOVQ(t, tails.Offset(8*i))
	}
	IMULQ(tail, size)
	BZHIQ(size, ones, t)
	MOVQ(t, tailOut)
}

// spreadAVX512 writes Rows.Spread for groups that span some vectors: one vector is loaded, and
// its bytes are stored to their places in each.
func spreadAVX512(count int) {
	loaded, out := ZMM(), ZMM()
	whole, ahead := K(), GP64()
	masks := opmasks(count)
	indices := make([]reg.VecVirtual, count)
	for i := range indices {
		indices[i] = ZMM()
	}
	var tails, tailIn Mem
	var f shuffle
	f.measure = func(p, tail reg.GPVirtual) {
		tails, tailIn = AllocLocal(8*count), AllocLocal(8)
		ones, lo, hi, t, u := GP64(), GP64(), GP64(), GP64(), GP64()
		MOVQ(I32(-1), ones)
		step, size := GP64(), GP64()
		MOVQ(Mem{Base: p, Disp: fieldStep}, step)
		MOVQ(Mem{Base: p, Disp: fieldSize}, size)
		reach(tail, step, size, hi)
		XORQ(lo, lo)
		for i := range count {
			window(i, lo, hi, ones, t, u)
			ANDQ(Mem{Base: p, Disp: fieldMasks + 8*i}, t)
			MOVQ(t, tails.Offset(8*i))
		}
		IMULQ(tail, size)
		BZHIQ(size, ones, t)
		MOVQ(t, tailIn)
	}
	f.prepare = func(_, _, p reg.GPVirtual) {
		MOVQ(Mem{Base: p, Disp: fieldAhead}, ahead)
		ones, t := GP64(), GP64()
		MOVQ(I32(-1), ones)
		MOVQ(Mem{Base: p, Disp: fieldNear}, t)
		first(t, ones, t, whole)
		for i := range masks {
			KMOVQ(Mem{Base: p, Disp: fieldMasks + 8*i}, masks[i])
			VMOVDQU8(Mem{Base: p, Disp: fieldShuffles + 64*i}, indices[i])
		}
	}
	store := func(d reg.GPVirtual, i int, k reg.OpmaskVirtual) {
		VPERMB(loaded, indices[i], out)
		VMOVDQU8(out, k, at(d, 64*i))
	}
	f.whole = func(d, s reg.GPVirtual) {
		VMOVDQU8_Z(at(s, 0), whole, loaded)
		for i := range count {
			PREFETCHT0(Mem{Base: d, Index: ahead, Scale: 1, Disp: 64 * i})
			store(d, i, masks[i])
		}
	}
	f.rest = func(d, s reg.GPVirtual) {
		k := K()
		KMOVQ(tailIn, k)
		VMOVDQU8_Z(at(s, 0), k, loaded)
		for i := range count {
			KMOVQ(tails.Offset(8*i), k)
			store(d, i, k)
		}
	}
	f.write(fmt.Sprintf("spread%dAVX512", count), fmt.Sprintf("Rows.Spread for groups that span %d vectors.", count))
}

func opmasks(count int) []reg.OpmaskVirtual {
	masks := make([]reg.OpmaskVirtual, count)
	for i := range masks {
		masks[i] = K()
	}
	return masks
}

// reach sets to to the number of bytes from the first of n elements to the last one's end.
func reach(n, step, size, to reg.GPVirtual) {
	MOVQ(n, to)
	DECQ(to)
	IMULQ(step, to)
	ADDQ(size, to)
}
