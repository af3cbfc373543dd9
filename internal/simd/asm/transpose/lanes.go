package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// lanes are the 128-bit lanes of a vector: 1, 2 or 4.
type lanes int

func (n lanes) register() VecVirtual { return emit.Vec(16 * n).Reg() }

// load reads 16 bytes to a lane. Lane 0 comes first: its load fills all lanes, at the same
// cost.
func (n lanes) load(from Mem, lane int, to VecVirtual) {
	switch {
	case n == 1:
		VMOVDQU(from, to)
	case lane == 0 && n == 2:
		VBROADCASTI128(from, to)
	case lane == 0:
		VBROADCASTI32X4(from, to)
	case n == 2:
		VINSERTI128(Imm(1), from, to, to)
	default:
		VINSERTI32X4(Imm(uint64(lane)), from, to, to)
	}
}

// unpack interleaves elements of halves of lanes.
type unpack func(size int, a, b VecVirtual) VecVirtual

func (n lanes) low(size int, a, b VecVirtual) VecVirtual {
	return n.interleave(a, b, map[int]instruction{1: VPUNPCKLBW, 2: VPUNPCKLWD, 4: VPUNPCKLDQ, 8: VPUNPCKLQDQ}[size])
}

func (n lanes) high(size int, a, b VecVirtual) VecVirtual {
	return n.interleave(a, b, map[int]instruction{1: VPUNPCKHBW, 2: VPUNPCKHWD, 4: VPUNPCKHDQ, 8: VPUNPCKHQDQ}[size])
}

type instruction = func(...Op)

func (n lanes) interleave(a, b VecVirtual, by instruction) VecVirtual {
	c := n.register()
	by(b, a, c)
	return c
}

// transpose transposes the elements in the lanes of v, and calls store with the columns in
// their order. Pairs of rows become rows of half the columns, whose elements are pairs.
func (n lanes) transpose(size int, v []VecVirtual, store func(VecVirtual)) {
	if len(v) == 1 {
		store(v[0])
		return
	}
	for _, unpack := range []unpack{n.low, n.high} {
		var half []VecVirtual
		for r := 0; r < len(v); r += 2 {
			half = append(half, unpack(size, v[r], v[r+1]))
		}
		n.transpose(2*size, half, store)
	}
}
