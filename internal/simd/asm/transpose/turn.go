package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// turn describes a kernel that transposes blocks within registers. With e the
// elements in 16 bytes, register r takes 16 bytes of each of rows r, r+e, r+2e, ...,
// one in each 128-bit lane. What is left to do is a transpose of e by e elements,
// the same one in every lane, by instructions that interleave: register c then has
// column c of all these rows, in their order.
type turn struct {
	size   int  // bytes of an element
	lanes  int  // 16 bytes each: 1, 2 or 4
	stream bool // past the caches
}

func (t turn) name() string {
	how := ""
	if t.stream {
		how = "stream"
	}
	return fmt.Sprintf("turn%dx%d%s", t.size*8, t.lanes*16, how)
}

// write writes the loops: over the rows, a block's at a time, and within over the
// columns. The last block of columns overlaps the one before.
func (t turn) write() {
	e := 16 / t.size
	TEXT(t.name(), NOSPLIT, "func(dst *byte, stride int64, src *byte, rows *int64, m, n int64)")
	Doc(t.name() + " is one of Transposes.Turn.")
	Pragma("noescape")
	dst, stride, src := Load(Param("dst"), GP64()), Load(Param("stride"), GP64()), Load(Param("src"), GP64())
	rows, m, n := Load(Param("rows"), GP64()), Load(Param("m"), GP64()), Load(Param("n"), GP64())
	stride3 := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	in := lanes(t.lanes)

	Label("block")
	d, s, left := GP64(), GP64(), GP64()
	MOVQ(dst, d)
	MOVQ(src, s)
	MOVQ(n, left)

	Label("columns")
	at := GP64()
	row := func(r int) VecVirtual {
		v := in.register()
		for lane := range t.lanes {
			MOVQ(Mem{Base: rows, Disp: 8 * (lane*e + r)}, at)
			in.load(Mem{Base: s, Index: at, Scale: 1}, lane, v)
		}
		return v
	}
	out := 0
	store := func(v VecVirtual) {
		to := []Mem{{Base: d}, {Base: d, Index: stride, Scale: 1}, {Base: d, Index: stride, Scale: 2}, {Base: d, Index: stride3, Scale: 1}}
		if t.stream {
			VMOVNTDQ(v, to[out&3])
		} else if t.lanes == 4 {
			VMOVDQU64(v, to[out&3])
		} else {
			VMOVDQU(v, to[out&3])
		}
		if out++; out&3 == 0 || out == e {
			if by := min(e, 4); by == 4 {
				LEAQ(Mem{Base: d, Index: stride, Scale: 4}, d)
			} else {
				LEAQ(Mem{Base: d, Index: stride, Scale: uint8(by)}, d)
			}
		}
	}
	if e == 16 && t.lanes < 4 {
		// Fewer registers: one half of the columns, and then, from the source
		// again, the other.
		for _, unpack := range []unpack{in.low, in.high} {
			var half []VecVirtual
			for r := 0; r < e; r += 2 {
				half = append(half, unpack(t.size, row(r), row(r+1)))
			}
			in.transpose(2*t.size, half, store)
		}
	} else {
		var v []VecVirtual
		for r := range e {
			v = append(v, row(r))
		}
		in.transpose(t.size, v, store)
	}
	ADDQ(Imm(16), s)
	SUBQ(Imm(uint64(e)), left)
	JZ(LabelRef("next"))
	CMPQ(left, Imm(uint64(e)))
	JGE(LabelRef("columns"))
	back := GP64() // columns too many
	MOVQ(left, back)
	SUBQ(Imm(uint64(e)), back)
	LEAQ(Mem{Base: s, Index: back, Scale: uint8(min(t.size, 8))}, s)
	IMULQ(stride, back)
	ADDQ(back, d)
	MOVQ(U32(uint32(e)), left)
	JMP(LabelRef("columns"))

	Label("next")
	ADDQ(U32(uint32(8*e*t.lanes)), rows)
	ADDQ(Imm(uint64(16*t.lanes)), dst)
	SUBQ(Imm(uint64(e*t.lanes)), m)
	JNZ(LabelRef("block"))
	if t.stream {
		SFENCE()
	}
	VZEROUPPER()
	RET()
}
