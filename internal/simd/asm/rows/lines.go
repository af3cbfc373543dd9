package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// pickLines writes Rows.PickLines for groups of 16 bytes that span some vectors: a line
// has four, of which two at a time are shuffled in the lanes of a register.
func pickLines(count int) {
	name := fmt.Sprintf("pickLines%dAVX2", count)
	TEXT(name, NOSPLIT, "func(dst, src *byte, lines int64, p *byte, ahead int64, past bool)")
	Doc(fmt.Sprintf("%s is Rows.PickLines for groups that span %d vectors.", name, count))
	Pragma("noescape")
	d, s, lines, p := param("dst"), param("src"), param("lines"), param("p")
	field := func(at int) Mem { return Mem{Base: p, Disp: at} }
	far, far3, ahead, last := GP64(), GP64(), param("ahead"), GP64()
	MOVQ(field(fieldFar), far)
	LEAQ(Mem{Base: far, Index: far, Scale: 2}, far3)
	ADDQ(field(fieldBase), s)
	MOVQ(field(fieldLast), last)
	ADDQ(s, last)
	var tables []reg.VecVirtual
	for i := range count {
		tables = append(tables, emit.AVX2.Lanes(field(fieldShuffles+64*i)))
	}
	one, out := YMM(), YMM()
	// from is where vector i of a group is.
	from := func(i, group int) Mem {
		base, disp := s, 16*i
		if i == count-1 {
			base, disp = last, 0
		}
		return []Mem{
			{Base: base, Disp: disp}, {Base: base, Index: far, Scale: 1, Disp: disp},
			{Base: base, Index: far, Scale: 2, Disp: disp}, {Base: base, Index: far3, Scale: 1, Disp: disp},
		}[group]
	}
	line := func(past bool) {
		for i := range count {
			PREFETCHT1(Mem{Base: s, Index: ahead, Scale: 1, Disp: emit.Line * i})
		}
		for group := 0; group < 4; group += 2 {
			for i := range count {
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
			emit.Write(out, at(d, 16*group), past)
		}
		LEAQ(Mem{Base: s, Index: far, Scale: 4}, s)
		LEAQ(Mem{Base: last, Index: far, Scale: 4}, last)
		ADDQ(Imm(emit.Line), d)
	}
	emit.Lines(lines, line)
}
