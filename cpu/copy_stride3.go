package cpu

import (
	"math/bits"
	"unsafe"
)

// stride3 moves three rows that are to be interleaved, or a row of threes that is to be separated:
// image channels, moved to the end and back. These are transposes with one axis of three, too
// short for tiles of rows.
type stride3 struct {
	splits bool // the three are the source's innermost axis, a; else the destination's, b
	width  int64
	loop   func(dst, src unsafe.Pointer, d, s int64, along, three axis)
}

func (m *stride3) name() string {
	if m.splits {
		return "stride3 split"
	}
	return "stride3 merge"
}

// stride3Run is the approximate number of bytes of each of the three in a block.
const stride3Run = 16 << 10

// planStride3 plans a transpose between the innermost axis and another axis along which the source
// is dense, if one of them has three elements. Without vectors, separating threes is as fast row
// by row.
func planStride3(j *job, _ int64) (mover, int64, refusal) {
	m, du, su := &j.memory.stride3, j.unit(j.dBits), j.unit(j.sBits)
	x, in := &j.axes[j.near.Unit], &j.axes[j.rank-1]
	switch {
	case in.N == 3 && x.S == su && x.D == 3*du:
		m.splits = false
		j.block(j.near.Unit, stride3Run/su, 3)
	case kernels.Permute3 != nil && x.N == 3 && x.S == su && in.S == 3*su:
		m.splits = true
		j.block(j.near.Unit, 3, stride3Run/su)
	default:
		return nil, 0, noThrees
	}
	m.width, m.loop = su, loopsOf(&j.pair).stride3
	j.kind = transpose
	return m, j.tileCost(1), ""
}

// move moves a block with vectors, and the remainder element by element.
func (m *stride3) move(j *job, d, s, na, nb int64, _ *scratch) {
	along, three := j.a, j.b
	along.N, three.N = na, nb
	if m.splits {
		along, three = three, along
	}
	if kernels.Permute3 != nil {
		n := m.permute(j, d, s, along.N, three)
		d += n * along.D
		s += n * along.S
		along.N -= n
	}
	m.loop(j.dst, j.src, d, s, along, three)
}

// moveStride3 moves threes element by element.
func moveStride3[W word](dst, src unsafe.Pointer, d, s int64, along, three axis) {
	d1, d2, s1, s2 := three.D, 2*three.D, three.S, 2*three.S
	for range along.N {
		v0, v1, v2 := load[W](src, s), load[W](src, s+s1), load[W](src, s+s2)
		store(dst, d, v0)
		store(dst, d+d1, v1)
		store(dst, d+d2, v2)
		d += along.D
		s += along.S
	}
}

// permute moves as many of n elements of each of the three as fill whole vectors, and returns that
// number.
func (m *stride3) permute(j *job, d, s, n int64, three axis) int64 {
	log := bits.TrailingZeros64(uint64(m.width))
	width := kernels.Permute3Width
	// On either side: the step between the three vectors, and between groups of three.
	dGap, dStep, sGap, sStep := width, 3*width, three.S, width
	tab := kernels.Merge3[log]
	if m.splits {
		dGap, dStep, sGap, sStep = three.D, width, width, 3*width
		tab = kernels.Split3[log]
	}
	each := width / m.width
	aligned := uintptr(j.dst) + uintptr(d) | uintptr(dGap)
	permute := kernels.Permute3
	switch {
	case !j.past:
	case m.splits && kernels.Split3Lines != nil:
		if lines := n * m.width / cacheLine; aligned%cacheLine == 0 && lines > 0 {
			kernels.Split3Lines(ptr(j.dst, d), dGap, ptr(j.src, s), tab, lines)
			return lines * cacheLine / m.width
		}
	case aligned%uintptr(width) == 0:
		permute = kernels.Permute3Stream
	}
	if n >= each {
		permute(ptr(j.dst, d), dGap, dStep, ptr(j.src, s), sGap, sStep, tab, n/each)
	}
	return n / each * each
}
