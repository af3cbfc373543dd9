package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// permute3 describes a kernel that computes three vectors from three others, any byte from any
// of them, by tables.
type permute3 struct {
	lanes  int // 1 or 4
	stream bool
}

func (m permute3) write() {
	name := emit.Vec(m.lanes * 16).Name("permute3")
	if m.stream {
		name += "stream"
	}
	TEXT(name, NOSPLIT, "func(dst *byte, dGap, dStep int64, src *byte, sGap, sStep int64, tab *byte, n int64)")
	Doc(name + " is one of Threes.Permute3.")
	Pragma("noescape")
	in := lanes(m.lanes)
	dst, dGap, dStep := Load(Param("dst"), GP64()), Load(Param("dGap"), GP64()), Load(Param("dStep"), GP64())
	src, sGap, sStep := Load(Param("src"), GP64()), Load(Param("sGap"), GP64()), Load(Param("sStep"), GP64())
	tab, n := Load(Param("tab"), GP64()), Load(Param("n"), GP64())

	// For each result: with 64 bytes the bytes of two sources, the bytes of the third, and
	// their mask; with 16, the bytes of each source, where 0x80 is none.
	tables := make([][]VecVirtual, 3)
	masks := []Op{K(), K(), K()}
	at := 0
	for j := range 3 {
		for range map[int]int{1: 3, 4: 2}[m.lanes] {
			v := in.register()
			emit.Read(Mem{Base: tab, Disp: at}, v)
			tables[j] = append(tables[j], v)
			at += m.lanes * 16
		}
		if m.lanes == 4 {
			KMOVQ(Mem{Base: tab, Disp: at}, masks[j])
			at += 64
		}
	}

	Label("loop")
	three := func(base, gap Register) []Mem {
		return []Mem{{Base: base}, {Base: base, Index: gap, Scale: 1}, {Base: base, Index: gap, Scale: 2}}
	}
	var from []VecVirtual
	for _, a := range three(src, sGap) {
		v := in.register()
		emit.Read(a, v)
		from = append(from, v)
	}
	for j, to := range three(dst, dGap) {
		x, t := in.register(), tables[j]
		if m.lanes == 4 {
			VMOVDQA64(t[0], x)
			VPERMI2B(from[1], from[0], x)
			VPERMB(from[2], t[1], masks[j], x)
		} else {
			y := in.register()
			VPSHUFB(t[0], from[0], x)
			for k := 1; k < 3; k++ {
				VPSHUFB(t[k], from[k], y)
				VPOR(y, x, x)
			}
		}
		emit.Write(x, to, m.stream)
	}
	ADDQ(sStep, src)
	ADDQ(dStep, dst)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// split3Lines writes Threes.Split3Lines, with two vectors of 16 bytes in the lanes of a
// register: a whole line of each result at a time.
func split3Lines() {
	TEXT("split3LinesAVX2", NOSPLIT, "func(dst *byte, dGap int64, src *byte, tab *byte, lines int64)")
	Doc("split3LinesAVX2 is Threes.Split3Lines.")
	Pragma("noescape")
	dst, dGap, src := Load(Param("dst"), GP64()), Load(Param("dGap"), GP64()), Load(Param("src"), GP64())
	tab, n := Load(Param("tab"), GP64()), Load(Param("lines"), GP64())
	const vector, in = 16, lanes(2)
	var tables [3][3]VecVirtual
	for out := range tables {
		for k := range tables[out] {
			tables[out][k] = emit.AVX2.Lanes(Mem{Base: tab, Disp: (3*out + k) * vector})
		}
	}
	one, all := in.register(), in.register()
	Label("loop")
	for line := range 3 {
		PREFETCHT1(Mem{Base: src, Disp: splitAhead + line*emit.Line})
	}
	for out, to := range []Mem{{Base: dst}, {Base: dst, Index: dGap, Scale: 1}, {Base: dst, Index: dGap, Scale: 2}} {
		for half := range 2 {
			for k, table := range tables[out] {
				v := one
				if k == 0 {
					v = all
				}
				at := (6*half + k) * vector
				VMOVDQU(Mem{Base: src, Disp: at}, v.AsX())
				VINSERTI128(Imm(1), Mem{Base: src, Disp: at + 3*vector}, v, v)
				VPSHUFB(table, v, v)
				if k > 0 {
					VPOR(v, all, all)
				}
			}
			to.Disp = half * 2 * vector
			emit.Write(all, to, true)
		}
	}
	ADDQ(U32(3*emit.Line), src)
	ADDQ(Imm(emit.Line), dst)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// splitAhead is the prefetch distance in bytes.
const splitAhead = 2 << 10
