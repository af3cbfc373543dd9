package kernels

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// axis is one loop: an extent, and the steps of either side, in elements.
type axis struct{ n, d, s int64 }

// parameters are those of a launch, as the kernels read them: see
// source/common.h, which says what the fields mean.
type parameters struct {
	blocks int64
	groups int64 // that do them; 0: as many

	cut, flat, words, span uint32

	extent, d, s, length int64

	na, nb, ta, tb uint32
	da, sa, db, sb int64

	outer, inner, run []axis

	more []byte // behind the axes: a take's, see source/indices.h
}

const (
	headerBytes = 128
	axisBytes   = 32
)

// limit bounds extents and flat numbers in a kernel's 32-bit arithmetic.
const limit = 1 << 31

// setOuter makes blocks of the axes: cuts of the cut axis innermost, then the
// others.
func (k *parameters) setOuter(cuts ...axis) error {
	k.outer = append(k.outer, cuts...)
	k.blocks = 1
	for _, a := range k.outer {
		if a.n >= limit || k.blocks > limit/a.n {
			return errTooLarge
		}
		k.blocks *= a.n
	}
	if k.blocks >= limit {
		return errTooLarge
	}
	return nil
}

// bytes is the size of the parameters.
func (k *parameters) bytes() int {
	return headerBytes + axisBytes*(len(k.outer)+len(k.inner)+len(k.run)) + len(k.more)
}

// encode lays the parameters out as struct Params and its axes, in memory of at least
// the given size.
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
	b = append(b, make([]byte, headerBytes-len(b))...)
	for _, axes := range [][]axis{k.outer, k.inner, k.run} {
		for _, a := range axes {
			magic, shift := magicOf(a.n)
			b = le.AppendUint32(b, uint32(min(a.n, limit)))
			b = le.AppendUint32(b, magic)
			b = le.AppendUint32(b, shift)
			b = le.AppendUint32(b, 0)
			b = le.AppendUint64(b, uint64(a.d))
			b = le.AppendUint64(b, uint64(a.s))
		}
	}
	return append(b, k.more...)
}

// magicOf returns the numbers with which the kernels' function quotient divides by n:
// for every x below 2^31, x/n = (x*magic/2^32 + x) / 2^shift. An axis of 2^31
// indices or more is never divided by.
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
