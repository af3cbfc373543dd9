package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// packer describes a kernel that transposes elements of 2 or 4 bits. With per elements in
// a byte, the rows k, k+per, k+2*per and so on are a set, whose bytes are transposed into
// a buffer. Column c of each set then has the elements c*per to c*per+per-1 of its rows, and
// the rest is a transpose of per by per elements, one from each set in each byte.
type packer struct {
	transposer      // of bytes
	width      int  // bits of an element
	past       bool // bypassing the caches, by lines
	staged     bool // lines of all rows are collected first
}

func (p packer) name() string {
	name := fmt.Sprintf("transpose%dx%d", p.width, p.lanes*128)
	switch {
	case p.staged:
		return name + "streamstaged"
	case p.past:
		return name + "stream"
	}
	return name
}

func (p packer) per() int { return 8 / p.width }

// parts is the number of registers for a row of the destination in a block.
func (p packer) parts() int {
	if p.past {
		return 4 / p.lanes
	}
	return 1
}

// unit is the number of bytes of a row of the destination in a block, and rows the number of
// rows of the source.
func (p packer) unit() int { return 16 * p.lanes * p.parts() }
func (p packer) rows() int { return p.unit() * p.per() }

// set is the number of bytes of a set in the buffer. The collected lines follow the sets.
func (p packer) set() int { return 16 * p.unit() }

func (p packer) write() {
	TEXT(p.name(), NOSPLIT, "func(dst *byte, stride int64, src *byte, rows *int64, m, n int64, fetch *byte, fetched *int64, work *byte)")
	Doc(fmt.Sprintf("%s is one of Transposes.Packed%d.", p.name(), p.width))
	Pragma("noescape")
	dst, src, m, n := argument("dst"), argument("src"), argument("m"), argument("n")
	stride, rows, work := Load(Param("stride"), GP64()), Load(Param("rows"), GP64()), Load(Param("work"), GP64())
	fetch := func() {}
	switch {
	case p.past:
		fetch = newCursor(p.rows(), 1).some
	case p.fetches():
		fetch = newNextRows(p.rows()).some
	}

	Label("block")
	d, s, left, first := GP64(), GP64(), GP64(), GP64()
	MOVQ(dst, d)
	MOVQ(src, s)
	MOVQ(n, left)
	row, from := p.rowsAt(s, rows, p.per()), GP64()
	if p.staged {
		Label("lines")
		p.stage(s, rows, work, d, stride, left)
		LEAQ(Mem{Base: work, Disp: p.per() * p.set()}, from)
		row = p.rowsIn(from, p.per())
	}

	Label("columns")
	fetch()
	MOVQ(work, first)
	Label("again")
	if p.staged {
		p.sets(work, from, emit.Line, row)
	} else {
		p.sets(work, rows, 8, row)
	}
	p.flush(d, stride, work, first)
	SUBQ(Imm(16), left)
	if p.staged {
		ADDQ(Imm(16), from)
		TESTB(U8(emit.Line-1), from.As8())
		JNZ(LabelRef("columns"))
		ADDQ(Imm(emit.Line), s)
		TESTQ(left, left)
		JNZ(LabelRef("lines"))
	} else {
		p.overlap(s, left, work, first)
	}

	Label("next")
	ADDQ(U32(uint32(8*p.rows())), rows)
	ADDQ(Imm(uint64(p.unit())), dst)
	SUBQ(U32(uint32(p.rows())), m)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// sets transposes the bytes of 16 columns of each set. The rows of each set in at are step
// bytes behind the previous set's.
func (p packer) sets(work, at Register, step int, row func(r, part int) VecVirtual) {
	to, end := GP64(), GP64()
	MOVQ(work, to)
	LEAQ(Mem{Base: work, Disp: p.per() * p.set()}, end)
	Label("set")
	p.block(p.parts(), row, func(c, part int, v VecVirtual) {
		emit.Write(v, Mem{Base: to, Disp: c*p.unit() + part*16*p.lanes}, false)
	})
	ADDQ(U32(uint32(step)), at)
	ADDQ(U32(uint32(p.set())), to)
	CMPQ(to, end)
	JNE(LabelRef("set"))
	SUBQ(U32(uint32(step*p.per())), at)
}

// flush writes the rows of columns from first on, per of each. It moves d to the row after the
// last one.
func (p packer) flush(d, stride, work, first Register) {
	in, vec := lanes(p.lanes), emit.Vec(16*p.lanes)
	masks := map[int]VecVirtual{4: vec.Splat8(0x0f)}
	if p.width == 2 {
		masks[2] = vec.Splat8(0x33)
	}
	end := GP64()
	LEAQ(Mem{Base: work, Disp: p.set()}, end)
	Label("flush")
	v := make([][]VecVirtual, p.per())
	for k := range v {
		for part := range p.parts() {
			r := in.register()
			emit.Read(Mem{Base: first, Disp: k*p.set() + part*int(vec)}, r)
			v[k] = append(v[k], r)
		}
	}
	for part := range p.parts() {
		for shift := 4; shift >= p.width; shift /= 2 {
			for k := range v {
				if other := k | shift/p.width; other != k {
					in.exchange(v[k][part], v[other][part], shift, masks[shift])
				}
			}
		}
	}
	for k := range v {
		for part, r := range v[k] {
			emit.Write(r, Mem{Base: d, Disp: part * int(vec)}, p.past)
		}
		ADDQ(stride, d)
	}
	ADDQ(Imm(uint64(p.unit())), first)
	CMPQ(first, end)
	JNE(LabelRef("flush"))
}

// overlap advances to the next columns. The last ones may overlap the previous ones, whose rows
// are not written again.
func (p packer) overlap(s, left, work, first Register) {
	JZ(LabelRef("next"))
	ADDQ(Imm(16), s)
	CMPQ(left, Imm(16))
	JGE(LabelRef("columns"))
	LEAQ(Mem{Base: s, Index: left, Scale: 1, Disp: -16}, s)
	MOVQ(U32(16), first)
	SUBQ(left, first)
	IMUL3Q(Imm(uint64(p.unit())), first, first)
	ADDQ(work, first)
	MOVQ(U32(16), left)
	JMP(LabelRef("again"))
}

// stage collects a line of each row. The last lines may overlap the previous ones.
func (p packer) stage(s, rows, work, d, stride, left Register) {
	CMPQ(left, Imm(emit.Line))
	JGE(LabelRef("whole"))
	back := GP64()
	MOVQ(left, back)
	SUBQ(Imm(emit.Line), back)
	ADDQ(back, s)
	IMULQ(stride, back)
	LEAQ(Mem{Base: d, Index: back, Scale: uint8(p.per())}, d)
	MOVQ(U32(emit.Line), left)
	Label("whole")
	in := lanes(p.lanes)
	const some = 16
	row, to, end := GP64(), GP64(), GP64()
	MOVQ(rows, row)
	LEAQ(Mem{Base: work, Disp: p.per() * p.set()}, to)
	LEAQ(Mem{Base: rows, Disp: 8 * p.rows()}, end)
	Label("stage")
	for r := range some {
		at := GP64()
		MOVQ(Mem{Base: row, Disp: 8 * r}, at)
		for part := 0; part < emit.Line; part += 16 * p.lanes {
			v := in.register()
			emit.Read(Mem{Base: s, Index: at, Scale: 1, Disp: part}, v)
			emit.Write(v, Mem{Base: to, Disp: r*emit.Line + part}, false)
		}
	}
	ADDQ(U32(8*some), row)
	ADDQ(U32(some*emit.Line), to)
	CMPQ(row, end)
	JNE(LabelRef("stage"))
}

// exchange swaps the high bits of each group of 2*shift in a with the low bits in b. mask has
// ones in the low bits of groups.
func (n lanes) exchange(a, b VecVirtual, shift int, mask VecVirtual) {
	x := n.register()
	if n == 4 {
		y := n.register()
		VPSLLW(Imm(uint64(shift)), b, x)
		VPSRLW(Imm(uint64(shift)), a, y)
		VPTERNLOGD(Imm(0xe4), mask, x, a) // a where the mask has ones, otherwise x
		VPTERNLOGD(Imm(0xd8), mask, y, b) // y where the mask has ones, otherwise b
		return
	}
	VPSRLW(Imm(uint64(shift)), a, x)
	VPXOR(b, x, x)
	VPAND(mask, x, x)
	VPXOR(x, b, b)
	VPSLLW(Imm(uint64(shift)), x, x)
	VPXOR(x, a, a)
}
