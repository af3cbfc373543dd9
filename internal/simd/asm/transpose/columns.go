package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// transposer describes a kernel that transposes blocks within registers. With e the
// elements in 16 bytes, register r takes 16 bytes of each of rows r, r+e, r+2e, ...,
// one in each 128-bit lane. What is left to do is a transpose of e by e elements,
// the same one in every lane, by instructions that interleave: register c then has
// column c of all these rows, in their order.
type transposer struct {
	size   int  // bytes of an element
	lanes  int  // 16 bytes each: 1, 2 or 4
	stream bool // past the caches
	few    bool // of fewer columns than 16 bytes have

	fetch fetch // of those with 2 lanes
}

func (t transposer) fetches() bool { return t.lanes == 2 }

func (t transposer) name() string {
	how := ""
	if t.stream {
		how = "stream"
	}
	if t.few {
		how = "few" + how
	}
	return fmt.Sprintf("transpose%dx%d%s", t.size*8, t.lanes*128, how)
}

// parts is how many vectors a row of dst gets from a block: those that write past
// the caches write whole lines.
func (t transposer) parts() int {
	if t.stream {
		return 4 / t.lanes
	}
	return 1
}

// rows is how many rows of the source a block has.
func (t transposer) rows() int { return 16 / t.size * t.lanes * t.parts() }

// write writes the loops: over the rows, a block's at a time, and within over the
// columns. The last block of columns overlaps the one before.
func (t transposer) write() {
	e := 16 / t.size
	TEXT(t.name(), NOSPLIT, "func(dst *byte, stride int64, src *byte, rows *int64, m, n int64, fetch *byte, fetched *int64)")
	Doc(t.name() + " is one of Transposes.Transpose.")
	Pragma("noescape")
	dst, stride, src := Load(Param("dst"), GP64()), Load(Param("stride"), GP64()), Load(Param("src"), GP64())
	rows, m, n := Load(Param("rows"), GP64()), argument("m"), argument("n")
	if t.fetches() {
		t.fetch = newFetch(t.rows())
	}
	stride3 := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)

	Label("block")
	d, s, left := GP64(), GP64(), GP64()
	MOVQ(dst, d)
	MOVQ(src, s)
	if t.few {
		labels := 0
		t.block(d, s, rows, stride, stride3, func(c int) {
			CMPQ(n, Imm(uint64(c)))
			JLE(LabelRef(fmt.Sprintf("none%d", labels)))
		}, func(c int) {
			Label(fmt.Sprintf("none%d", labels))
			labels++
		})
		t.next(rows, dst, m)
		return
	}
	MOVQ(n, left)

	Label("columns")
	if t.fetches() {
		t.fetch.some()
	}
	none := func(int) {}
	t.block(d, s, rows, stride, stride3, none, none)
	ADDQ(Imm(16), s)
	SUBQ(Imm(uint64(e)), left)
	JZ(LabelRef("next"))
	CMPQ(left, Imm(uint64(e)))
	JGE(LabelRef("columns"))
	back := GP64() // columns too many
	MOVQ(left, back)
	SUBQ(Imm(uint64(e)), back)
	LEAQ(Mem{Base: s, Index: back, Scale: uint8(min(t.size, 8))}, s)
	at := GP64()
	MOVQ(stride, at)
	IMULQ(back, at)
	ADDQ(at, d)
	if t.stream && e > 1 {
		// Lines are not written twice.
		labels := 0
		t.block(d, s, rows, stride, stride3, func(c int) {
			if c < e-1 {
				CMPQ(back, I8(int8(-c)))
				JL(LabelRef(fmt.Sprintf("had%d", labels)))
			}
		}, func(c int) {
			if c < e-1 {
				Label(fmt.Sprintf("had%d", labels))
				labels++
			}
		})
	} else {
		MOVQ(U32(uint32(e)), left)
		JMP(LabelRef("columns"))
	}

	t.next(rows, dst, m)
}

// next goes on to the next rows, or ends.
func (t transposer) next(rows, dst Register, m Mem) {
	Label("next")
	ADDQ(U32(uint32(8*t.rows())), rows)
	ADDQ(Imm(uint64(t.rows()*t.size)), dst)
	SUBQ(Imm(uint64(t.rows())), m)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// block writes the transpose of one block, and moves d to the rows after it. What
// before and after write stands around the store of each column.
func (t transposer) block(d, s, rows, stride, stride3 Register, before, after func(c int)) {
	e, in := 16/t.size, lanes(t.lanes)
	at := GP64()
	row := func(r, part int) VecVirtual {
		v := in.register()
		for lane := range t.lanes {
			MOVQ(Mem{Base: rows, Disp: 8 * ((part*t.lanes+lane)*e + r)}, at)
			in.load(Mem{Base: s, Index: at, Scale: 1}, lane, v)
		}
		return v
	}
	// columns stores columns [c, c+n), of each part of the rows. Every four of them
	// d moves on.
	columns := func(c, n int, transpose func(part int, store func(VecVirtual))) {
		start := GP64()
		if t.parts() > 1 {
			MOVQ(d, start)
		}
		for part := range t.parts() {
			if part > 0 {
				MOVQ(start, d)
			}
			i := 0
			transpose(part, func(v VecVirtual) {
				to := []Mem{{Base: d}, {Base: d, Index: stride, Scale: 1}, {Base: d, Index: stride, Scale: 2}, {Base: d, Index: stride3, Scale: 1}}[i&3]
				to.Disp = part * t.lanes * 16
				before(c + i)
				in.store(v, to, t.stream)
				after(c + i)
				if i++; i&3 == 0 || i == n {
					LEAQ(Mem{Base: d, Index: stride, Scale: uint8(min(n, 4))}, d)
				}
			})
		}
	}
	if e < 16 || t.lanes == 4 {
		columns(0, e, func(part int, store func(VecVirtual)) {
			var v []VecVirtual
			for r := range e {
				v = append(v, row(r, part))
			}
			in.transpose(t.size, v, store)
		})
		return
	}
	// Fewer registers: one half of the columns, and then, from the source again, the
	// other.
	for half, unpack := range []unpack{in.low, in.high} {
		columns(half*e/2, e/2, func(part int, store func(VecVirtual)) {
			var v []VecVirtual
			for r := 0; r < e; r += 2 {
				v = append(v, unpack(t.size, row(r, part), row(r+1, part)))
			}
			in.transpose(2*t.size, v, store)
		})
	}
}
