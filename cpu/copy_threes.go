package cpu

import (
	"math/bits"
	"unsafe"
)

// Three rows that are interleaved, or a row of threes that is separated: channels of
// images, moved to the end and back. These are transposes with one axis of three, too
// short for tiles of rows.

// threes says which of them a transpose is.
type threes uint8

const (
	noThrees    threes = iota
	interleaved        // the three are the destination's innermost axis, b
	separated          // the three are the source's innermost axis, a
)

// threesRun is about how many bytes of each of the three a block has.
const threesRun = 16 << 10

// planThrees plans a transpose between the innermost axis and axis near, where the
// source is dense, if one of them has three elements. Without vectors, threes are
// separated as quickly row by row.
func (j *job) planThrees(near int) bool {
	j.tile.threes = noThrees
	if j.packed {
		return false
	}
	du, su := j.unit(j.dBits), j.unit(j.sBits)
	x, in := &j.axes[near], &j.axes[j.rank-1]
	switch {
	case in.n == 3 && x.s == su && x.d == 3*du:
		j.tile.threes = interleaved
		j.block(near, threesRun/su, 3)
	case kernels.Permute3 != nil && x.n == 3 && x.s == su && in.s == 3*su:
		j.tile.threes = separated
		j.block(near, 3, threesRun/su)
	default:
		return false
	}
	return true
}

// moveThrees moves a block by vectors, and what is left element by element.
func moveThrees[W word](j *job, d, s, na, nb int64) {
	along, three := j.a, j.b
	along.n, three.n = na, nb
	if j.tile.threes == separated {
		along, three = three, along
	}
	if kernels.Permute3 != nil {
		n := j.permuteThrees(int64(unsafe.Sizeof(*new(W))), d, s, along.n, three)
		d += n * along.d
		s += n * along.s
		along.n -= n
	}
	d1, d2, s1, s2 := three.d, 2*three.d, three.s, 2*three.s
	for range along.n {
		v0, v1, v2 := load[W](j.src, s), load[W](j.src, s+s1), load[W](j.src, s+s2)
		store(j.dst, d, v0)
		store(j.dst, d+d1, v1)
		store(j.dst, d+d2, v2)
		d += along.d
		s += along.s
	}
}

// permuteThrees moves as many of n elements of each of the three as whole vectors
// hold, and returns that number.
func (j *job) permuteThrees(size, d, s, n int64, three axis) int64 {
	log := bits.TrailingZeros64(uint64(size))
	width := kernels.Permute3Width
	// Of either side, from one of three vectors to the next, and from three to three.
	dGap, dStep, sGap, sStep := width, 3*width, three.s, width
	tab := kernels.Merge3[log]
	if j.tile.threes == separated {
		dGap, dStep, sGap, sStep = three.d, width, width, 3*width
		tab = kernels.Split3[log]
	}
	each := width / size
	aligned := uintptr(j.dst) + uintptr(d) | uintptr(dGap)
	permute := kernels.Permute3
	switch {
	case !j.streams():
	case j.tile.threes == separated && kernels.Split3Lines != nil:
		if lines := n * size / cacheLine; aligned%cacheLine == 0 && lines > 0 {
			kernels.Split3Lines(ptr(j.dst, d), dGap, ptr(j.src, s), tab, lines)
			return lines * cacheLine / size
		}
	case aligned%uintptr(width) == 0:
		permute = kernels.Permute3Stream
	}
	if n >= each {
		permute(ptr(j.dst, d), dGap, dStep, ptr(j.src, s), sGap, sStep, tab, n/each)
	}
	return n / each * each
}
