package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// linePicker is shared by the kernels for whole lines.
type linePicker struct {
	count          int // vectors that a group spans
	d, s, far, sBy reg.GPVirtual
}

func field(p reg.GPVirtual, at int) Mem { return Mem{Base: p, Disp: at} }

// picker returns a function that picks a line, bypassing the caches or not, after emitting
// loads before the first one.
type picker = func(l *linePicker, p reg.GPVirtual) (line func(past bool))

// pickLines writes Rows.PickLines. A line is a group of 64 bytes, or four of 16.
func pickLines(v emit.Vec, count int) {
	pick := (*linePicker).fourGroups
	if v == emit.AVX512 {
		pick = (*linePicker).group
	}
	linesOf(v, fmt.Sprintf("pickLines%d", count), fmt.Sprintf("groups that span %d vectors", count), count, pick)
}

// pickSeconds writes it for every second element, pickReversed for neighbours in reverse:
// registers of 32 bytes hold two groups.
func pickSeconds() {
	linesOf(emit.AVX2, "pickSeconds", "every second element of up to 8 bytes", 2, (*linePicker).seconds)
}

func pickReversed() {
	linesOf(emit.AVX2, "pickReversed", "neighbours in reverse", 1, (*linePicker).reversed)
}

// linesOf writes Rows.PickLines for some elements, in groups that span some vectors.
func linesOf(v emit.Vec, name, elements string, count int, pick picker) {
	name = v.Name(name)
	TEXT(name, NOSPLIT, "func(dst, src *byte, lines int64, p *byte, ahead int64, past bool)")
	Doc(fmt.Sprintf("%s is Rows.PickLines for %s.", name, elements))
	Pragma("noescape")
	l := linePicker{count, param("dst"), param("src"), GP64(), GP64()}
	lines, p, ahead := param("lines"), param("p"), param("ahead")
	MOVQ(field(p, fieldFar), l.far)
	ADDQ(field(p, fieldBase), l.s)
	MOVQ(l.far, l.sBy)
	if v == emit.AVX2 {
		SHLQ(Imm(2), l.sBy)
	}
	dBy := l.ascend(lines)
	line := pick(&l, p)
	emit.Lines(lines, func(past bool) {
		for i := range count {
			PREFETCHT1(Mem{Base: l.s, Index: ahead, Scale: 1, Disp: emit.Line * i})
		}
		line(past)
		ADDQ(l.sBy, l.s)
		ADDQ(dBy, l.d)
	})
}

// ascend makes the loop read lines in ascending order of the source, the last one first where
// steps are negative, and returns the step on the other side: the hardware prefetcher is better
// at ascending addresses, and the order of stores that bypass the caches does not matter.
func (l *linePicker) ascend(lines reg.GPVirtual) (dBy reg.GPVirtual) {
	dBy = GP64()
	MOVQ(U32(emit.Line), dBy)
	TESTQ(l.sBy, l.sBy)
	JNS(LabelRef("ascending"))
	before, by := copyOf(lines), GP64()
	DECQ(before)
	MOVQ(before, by)
	IMULQ(l.sBy, by)
	ADDQ(by, l.s)
	SHLQ(Imm(6), before)
	ADDQ(before, l.d)
	NEGQ(l.sBy)
	NEGQ(dBy)
	Label("ascending")
	return dBy
}

// group picks a line by a vector, as pickAVX512 does.
func (l *linePicker) group(p reg.GPVirtual) func(past bool) {
	index, out, loaded, last := ZMM(), ZMM(), ZMM(), K()
	masks := opmasks(l.count)
	VMOVDQU8(field(p, fieldShuffles), index)
	for i := range masks {
		KMOVQ(field(p, fieldMasks+8*i), masks[i])
	}
	ones, t := GP64(), GP64()
	MOVQ(I32(-1), ones)
	MOVQ(field(p, fieldSpan), t)
	SUBQ(I32(64*int32(l.count-1)), t)
	first(t, ones, t, last)
	return func(past bool) {
		for i := range l.count {
			if i < l.count-1 {
				emit.Read(at(l.s, 64*i), loaded)
			} else {
				VMOVDQU8_Z(at(l.s, 64*i), last, loaded)
			}
			if i == 0 {
				VPERMB(loaded, index, out)
			} else {
				VPERMB(loaded, index, masks[i], out)
			}
		}
		emit.Write(out, at(l.d, 0), past)
	}
}

// fourGroups picks a line by groups of 16 bytes, two at a time, shuffled in the lanes of a
// register.
func (l *linePicker) fourGroups(p reg.GPVirtual) func(past bool) {
	far3, last := GP64(), GP64()
	LEAQ(Mem{Base: l.far, Index: l.far, Scale: 2}, far3)
	MOVQ(field(p, fieldLast), last)
	ADDQ(l.s, last)
	var tables []reg.VecVirtual
	for i := range l.count {
		tables = append(tables, emit.AVX2.Lanes(field(p, fieldShuffles+64*i)))
	}
	one, out := YMM(), YMM()
	// from is the address of vector i of a group.
	from := func(i, group int) Mem {
		base, disp := l.s, 16*i
		if i == l.count-1 {
			base, disp = last, 0
		}
		return []Mem{
			{Base: base, Disp: disp}, {Base: base, Index: l.far, Scale: 1, Disp: disp},
			{Base: base, Index: l.far, Scale: 2, Disp: disp}, {Base: base, Index: far3, Scale: 1, Disp: disp},
		}[group]
	}
	return func(past bool) {
		for group := 0; group < 4; group += 2 {
			for i := range l.count {
				in := one
				if i == 0 {
					in = out
				}
				VMOVDQU(from(i, group), in.AsX())
				VINSERTI128(Imm(1), from(i, group+1), in, in)
				VPSHUFB(tables[i], in, in)
				if i > 0 {
					VPOR(in, out, out)
				}
			}
			emit.Write(out, at(l.d, 16*group), past)
		}
		ADDQ(l.sBy, last)
	}
}

// seconds picks a line of every second element by groups of 16 bytes, whose two vectors are
// the lanes of a register: one that begins with a group, and one that ends with the next, since
// memory behind its last element may be inaccessible.
func (l *linePicker) seconds(p reg.GPVirtual) func(past bool) {
	end := GP64() // of the second group, less a register
	MOVQ(field(p, fieldSpan), end)
	ADDQ(l.s, end)
	firsts, lasts := emit.AVX2.Lanes(field(p, fieldShuffles)), emit.AVX2.Lanes(field(p, fieldShuffles+64))
	one, other := YMM(), YMM()
	return func(past bool) {
		for half := 0; half < emit.Line; half += int(emit.AVX2) {
			VMOVDQU(at(l.s, 2*half), one)
			VPSHUFB(firsts, one, one)
			VMOVDQU(at(end, 2*half), other)
			VPSHUFB(lasts, other, other)
			VPOR(other, one, one)
			VPERMQ(Imm(0b11_01_10_00), one, one) // halves of adjacent groups
			emit.Write(one, at(l.d, half), past)
		}
		ADDQ(l.sBy, end)
	}
}

// reversed picks a line of reversed neighbours by groups of 16 bytes: two are the lanes of a
// register, and are exchanged.
func (l *linePicker) reversed(p reg.GPVirtual) func(past bool) {
	table, one := emit.AVX2.Lanes(field(p, fieldShuffles)), YMM()
	return func(past bool) {
		for half := 0; half < emit.Line; half += int(emit.AVX2) {
			VPERMQ(Imm(0b01_00_11_10), at(l.s, -16-half), one)
			VPSHUFB(table, one, one)
			emit.Write(one, at(l.d, half), past)
		}
	}
}
