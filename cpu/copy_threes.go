package cpu

import (
	"math/bits"
	"unsafe"
)

// Three rows that are interleaved, or a row of threes that is taken apart: channels
// of images, moved to the end and back. These are transposes with one axis of three,
// too short for tiles of rows.

// mixing says which of them a job is.
type mixing uint8

const (
	unmixed   mixing = iota
	merging          // the three are the destination's innermost axis, b
	splitting        // the three are the source's innermost axis, a
)

// mixRun is about how many bytes of each of the three a block has.
const mixRun = 16 << 10

// planMix makes the job a mixing one between its innermost axis and axis near, where
// the source is dense. False: it is not. Without vectors, to take threes apart is as
// quick row by row.
func (j *job) planMix(near int) bool {
	j.tile.mix = unmixed
	if j.packed {
		return false
	}
	du, su := j.unit(j.dBits), j.unit(j.sBits)
	x, in := &j.axes[near], &j.axes[j.rank-1]
	switch {
	case in.n == 3 && x.s == su && x.d == 3*du:
		j.tile.mix = merging
		j.block(near, mixRun/su, 3)
	case kernels.Permute3 != nil && x.n == 3 && x.s == su && in.s == 3*su:
		j.tile.mix = splitting
		j.block(near, 3, mixRun/su)
	default:
		return false
	}
	return true
}

// mixBlock moves a block by vectors, and what is less than one, or has none, by the
// element.
func mixBlock[W word](j *job, d, s, na, nb int64) {
	along, three := j.a, j.b
	along.n, three.n = na, nb
	if j.tile.mix == splitting {
		along, three = three, along
	}
	if kernels.Permute3 != nil {
		n := j.mixVectors(int64(unsafe.Sizeof(*new(W))), d, s, along.n, three)
		d += n * along.d
		s += n * along.s
		along.n -= n
	}
	gatherThrees[W](j.dst, j.src, d, s, along, three)
}

// mixVectors moves as many of n elements of each of the three as vectors hold, and
// returns that number.
func (j *job) mixVectors(size, d, s, n int64, three axis) int64 {
	log := bits.TrailingZeros64(uint64(size))
	width := kernels.Permute3Width
	// Of either side, from one of three vectors to the next, and from three to three.
	dGap, dStep, sGap, sStep := width, 3*width, three.s, width
	tab := kernels.Merge3[log]
	if j.tile.mix == splitting {
		dGap, dStep, sGap, sStep = three.d, width, width, 3*width
		tab = kernels.Split3[log]
	}
	mix := kernels.Permute3
	if aligned := uintptr(j.dst) + uintptr(d) | uintptr(dGap); j.streams() && aligned%uintptr(width) == 0 {
		mix = kernels.Permute3Stream
	}
	each := width / size
	if n >= each {
		mix(ptr(j.dst, d), dGap, dStep, ptr(j.src, s), sGap, sStep, tab, n/each)
	}
	return n / each * each
}
