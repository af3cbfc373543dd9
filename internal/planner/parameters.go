package planner

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/restride/restride/internal/nest"
)

// axis is one loop: steps are in elements.
type axis = nest.Axis

// parameters are a launch's parameters, as the kernels read them: source/common.h defines the
// fields.
type parameters struct {
	blocks int64
	groups int64 // that process them; 0: as many

	cut, flat, words, span uint32

	extent, d, s, length int64

	na, nb, ta, tb uint32
	da, sa, db, sb int64
	step, rows     uint32

	outer, inner, run []axis

	more []byte // follows the axes: for takes, see source/indices.h
}

const (
	headerBytes = 128
	axisBytes   = 32
)

// limit bounds extents and flat numbers in a kernel's 32-bit arithmetic.
const limit = 1 << 31

// setOuter makes blocks of the axes: cuts of the cut axis are innermost, then the others follow.
func (k *parameters) setOuter(cuts ...axis) error {
	k.outer = append(k.outer, cuts...)
	k.blocks = 1
	for _, a := range k.outer {
		if a.N >= limit || k.blocks > limit/a.N {
			return errTooLarge
		}
		k.blocks *= a.N
	}
	if k.blocks >= limit {
		return errTooLarge
	}
	return nil
}

// setBands makes blocks of a, the blocks along that axis, and b, whose rows are step indices
// apart, then of the others. A band has up to most rows: see banded_of in source/common.h, which
// reads no steps of bands.
func (k *parameters) setBands(a, b axis, most int64, others ...axis) error {
	rows, d, s := int64(k.rows), int64(k.step)*b.D, int64(k.step)*b.S
	bands := (rows + most - 1) / most
	each := (rows + bands - 1) / bands
	return k.setOuter(append([]axis{{N: each, D: d, S: s}, a, {N: bands}}, others...)...)
}

// rowsOf is the number of blocks of tb of n indices that are step apart.
func rowsOf(n, tb, step int64) int64 { return max(1, (n-tb+2*step-1)/step) }

// bytes is the size of the parameters.
func (k *parameters) bytes() int {
	return headerBytes + axisBytes*(len(k.outer)+len(k.inner)+len(k.run)) + len(k.more)
}

// encode writes the parameters as struct Params and its axes, in memory of at least the given
// size.
func (k *parameters) encode(room int) []byte {
	le := binary.LittleEndian
	b := make([]byte, 0, max(room, k.bytes()))
	for _, v := range []uint32{
		uint32(k.blocks), uint32(len(k.outer)), uint32(len(k.inner)), uint32(len(k.run)),
		k.cut, k.flat, k.words, k.span,
	} {
		b = le.AppendUint32(b, v)
	}
	for _, v := range []int64{k.extent, k.d, k.s, k.length} {
		b = le.AppendUint64(b, uint64(v))
	}
	for _, v := range []uint32{k.na, k.nb, k.ta, k.tb} {
		b = le.AppendUint32(b, v)
	}
	for _, v := range []int64{k.da, k.sa, k.db, k.sb} {
		b = le.AppendUint64(b, uint64(v))
	}
	b = le.AppendUint32(b, k.step)
	b = le.AppendUint32(b, k.rows)
	b = append(b, make([]byte, headerBytes-len(b))...)
	for _, axes := range [][]axis{k.outer, k.inner, k.run} {
		for _, a := range axes {
			magic, shift := magicOf(a.N)
			b = le.AppendUint32(b, uint32(min(a.N, limit)))
			b = le.AppendUint32(b, magic)
			b = le.AppendUint32(b, shift)
			b = le.AppendUint32(b, 0)
			b = le.AppendUint64(b, uint64(a.D))
			b = le.AppendUint64(b, uint64(a.S))
		}
	}
	return append(b, k.more...)
}

// magicOf returns the numbers with which the kernels' function quotient divides by n: for every x
// below 2^31, x/n = (x*magic/2^32 + x) / 2^shift. Axes of 2^31 indices or more are never divisors.
func magicOf(n int64) (magic, shift uint32) {
	if n < 1 || n >= limit {
		return 0, 0
	}
	shift = uint32(bits.Len64(uint64(n - 1)))
	// 2^32 * (2^shift - n) / n + 1
	q := ((uint64(1)<<shift-uint64(n))<<32)/uint64(n) + 1
	return uint32(q), shift
}

var errTooLarge = fmt.Errorf("more than %d blocks of work", int64(limit))
