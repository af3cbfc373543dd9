package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// permute3 describes a kernel that makes three vectors of three others, any byte from any
// of them, as tables say.
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

	// Of a result: with 64 bytes the bytes of two sources, those of the third, and
	// which these are; with 16, those of each source, where 0x80 is none.
	tables := make([][]VecVirtual, 3)
	masks := []Op{K(), K(), K()}
	at := 0
	for j := range 3 {
		for range map[int]int{1: 3, 4: 2}[m.lanes] {
			v := in.register()
			in.read(Mem{Base: tab, Disp: at}, v)
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
		in.read(a, v)
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
		in.store(x, to, m.stream)
	}
	ADDQ(sStep, src)
	ADDQ(dStep, dst)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
