package devicetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

func (r runner) oneCase(t *testing.T, name string) {
	rig := r.rig(t)
	rig.check(rig.parse(name), r.seed)
}

// each runs a subtest per width, in parallel unless the suite is small.
func (r runner) each(t *testing.T, test func(rig, layout.DType)) {
	shared := r.rig(t)
	for _, dtype := range widths {
		t.Run(dtype.String(), func(t *testing.T) {
			if !r.Small {
				t.Parallel()
			}
			test(shared.fork(t), dtype)
		})
	}
}

// sweep copies every permutation up to rank 5, in a sample rank 4, with positive, negative and
// zero strides on either side, gaps, and every pair of offsets within a byte.
func (r runner) sweep(t *testing.T) {
	most := 5
	if r.few() {
		most = 4
	}
	if r.Small {
		most = 3
	}
	r.each(t, func(rig rig, dtype layout.DType) {
		n := r.seed
		for rank := 0; rank <= most; rank++ {
			shape := []int64{3, 5, 2, 3, 3}[:rank]
			permutations(rank, func(perm []int) {
				for _, mark := range marks(rank) {
					n++
					dense := side(shape, nil, nil, 1)
					r.offsets(n, dtype, func(d, s int64) {
						// src is a permuted view; then dst is.
						rig.check(pair(dtype, shape, dense, side(shape, perm, mark, 1), d, s), n)
						if !mark.zero() {
							rig.check(pair(dtype, shape, side(shape, perm, mark, 2), dense, d, s), n)
						}
					})
				}
			})
		}
	})
}

// offsets calls f with every pair of offsets within a byte or, of wide elements, two elements;
// in a sample, with one of them in turn.
func (r runner) offsets(turn uint64, dtype layout.DType, f func(d, s int64)) {
	per := uint64(max(perByte(dtype), 2))
	if r.few() {
		turn *= 7 // has no factor in common with the number of pairs
		f(int64(turn/per%per), int64(turn%per))
		return
	}
	for d := range int64(per) {
		for s := range int64(per) {
			f(d, s)
		}
	}
}

// mark is the treatment of each axis of a side: 1 keeps it, -1 reverses it, 0 broadcasts it.
type mark []int64

func (m mark) zero() bool {
	for _, s := range m {
		if s == 0 {
			return true
		}
	}
	return false
}

// marks lists ways to mark axes: none, each one reversed, each one broadcast,
// all reversed, and a mixture.
func marks(rank int) []mark {
	plain := func() mark {
		m := make(mark, rank)
		for i := range m {
			m[i] = 1
		}
		return m
	}
	all := []mark{plain()}
	if rank == 0 {
		return all
	}
	reversed, mixed := plain(), plain()
	for i := range rank {
		for _, s := range []int64{-1, 0} {
			m := plain()
			m[i] = s
			all = append(all, m)
		}
		reversed[i] = -1
		mixed[i] = int64(i%3) - 1
	}
	return append(all, reversed, mixed)
}

// view is the strides and offset of one side.
type view struct {
	strides []int64
	offset  int64
}

// side lays a shape out with its axes in the order perm, marked, innermost step
// apart.
func side(shape []int64, perm []int, m mark, step int64) view {
	p := view{strides: make([]int64, len(shape))}
	for i := len(shape) - 1; i >= 0; i-- {
		axis, sign := i, int64(1)
		if perm != nil {
			axis = perm[i]
		}
		if m != nil {
			sign = m[axis]
		}
		p.strides[axis] = sign * step
		if sign < 0 {
			p.offset += (shape[axis] - 1) * step
		}
		if sign != 0 {
			step *= shape[axis]
		}
	}
	return p
}

func pair(dtype layout.DType, shape []int64, dst, src view, d, s int64) oracle.Case {
	return oracle.Case{
		Op: oracle.OpCopy, DstType: dtype, SrcType: dtype,
		Dst: strided(shape, dst.strides, dst.offset+d),
		Src: strided(shape, src.strides, src.offset+s),
	}
}

// permutations calls f with every order of 0..n-1.
func permutations(n int, f func([]int)) {
	perm := make([]int, 0, n)
	var grow func()
	grow = func() {
		if len(perm) == n {
			f(perm)
			return
		}
	next:
		for i := range n {
			for _, p := range perm {
				if p == i {
					continue next
				}
			}
			perm = append(perm, i)
			grow()
			perm = perm[:len(perm)-1]
		}
	}
	grow()
}

// runs copies dense runs with lengths around those of bytes, words and vectors, between offsets
// near their edges, and rows of such runs.
func (r runner) runs(t *testing.T) {
	offsets := []int64{0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33}
	lengths := []int64{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 1025}
	if r.few() {
		offsets = []int64{0, 1, 3, 8, 17}
	}
	if r.Small {
		lengths = []int64{1, 3, 8, 17, 33, 129}
	}
	r.each(t, func(rig rig, dtype layout.DType) {
		for _, n := range lengths {
			for _, d := range offsets {
				for _, s := range offsets {
					rig.check(oracle.Case{
						Op: oracle.OpCopy, DstType: dtype, SrcType: dtype, Dst: dense(d, n), Src: dense(s, n),
					}, uint64(n))
				}
			}
		}
		// Rows that meet within a word of dst, and lie apart in src.
		for _, n := range []int64{17, 63, 255} {
			rows := []int64{4, n}
			for _, d := range offsets {
				rig.check(pair(dtype, rows, side(rows, nil, nil, 1), view{[]int64{n + 2, 1}, 0}, d, 1), uint64(n))
			}
		}
	})
}

// edges copies stacks of matrices with extents around the sides of tiles: transposed, reversed,
// strided, broadcast and row by row.
func (r runner) edges(t *testing.T) {
	extents := []int64{1, 2, 7, 16, 31, 32, 33, 63, 64, 65, 127, 129}
	if r.few() {
		extents = []int64{1, 31, 32, 65}
	}
	if r.Small {
		extents = []int64{1, 5, 33}
	}
	r.each(t, func(rig rig, dtype layout.DType) {
		for i, a := range extents {
			for j, b := range extents {
				n := uint64(i*len(extents) + j)
				off := int64(n % 5)
				stack := []int64{2, a, b}
				for _, src := range []view{
					{[]int64{a * b, 1, a}, 0},            // transposed
					{[]int64{1, 2 * b, 2}, 0},            // the stack innermost, like NHWC
					{[]int64{1, 2, 2 * a}, 0},            // all reversed
					{[]int64{a*b + 1, b, -1}, b - 1},     // rows reversed
					{[]int64{a * (b + 3), b + 3, 1}, 0},  // rows of a wider matrix
					{[]int64{2 * a * b, 2 * b, 2}, 0},    // every second element
					{[]int64{0, 0, 1}, 0},                // one row, repeated
					{[]int64{a, 1, 0}, 0},                // one column, repeated
					{[]int64{-a * b, -b, -1}, 2*a*b - 1}, // rotated by 180 degrees
					{[]int64{3 * a * b, 3, 3 * a}, off},  // transposed, every third
					{[]int64{a * (b + 1), -1, a}, a - 1}, // rotated by 90 degrees
				} {
					rig.check(pair(dtype, stack, side(stack, nil, nil, 1), src, off, int64(n%3)), n)
				}
				rig.check(pair(dtype, stack, view{[]int64{a * b, 1, a}, 0}, side(stack, nil, nil, 1), off, 1), n)
				// Transposed and reversed pairs that stay together.
				rig.check(pair(dtype, []int64{a, b, 2}, view{[]int64{2 * b, 2, 1}, 0}, view{[]int64{-2, 2 * a, 1}, 2*a - 2}, 2*off, 0), n)
				for _, c := range extents { // blocks of three axes
					if a*b*c <= 1<<15 {
						rig.check(pair(dtype, []int64{a, b, c}, view{[]int64{b * c, c, 1}, 0}, view{[]int64{1, a, a * b}, 0}, off, 1), n)
					}
				}
			}
		}
	})
}

// random runs random cases. RESTRIDE_SEED with the seed of a failed case makes that the first.
func (r runner) random(t *testing.T) {
	n, lanes, limits := 12000, 4, oracle.Limits{}
	if r.few() {
		n = 800
	}
	if r.Small {
		n, lanes, limits = 150, 1, oracle.Limits{MaxBytes: 2 << 10}
	}
	limits.Once = r.Once
	t.Logf("RESTRIDE_SEED=%d", r.seed)
	shared := r.rig(t)
	for lane := range lanes {
		t.Run(fmt.Sprint("lane", lane), func(t *testing.T) {
			if !r.Small {
				t.Parallel()
			}
			rig := shared.fork(t)
			for i := lane; i < n; i += lanes {
				seed := r.seed + uint64(i)
				if c := oracle.Random(rand.New(rand.NewPCG(seed, 1)), limits); !r.Lone || !c.Shared && !c.SharedB {
					rig.check(c, seed)
				}
			}
		})
	}
}

// fill fills every type at every offset, dense and strided.
func (r runner) fill(t *testing.T) {
	rig := r.rig(t)
	layouts := []layout.Layout{
		dense(0), dense(7), dense(0, 1), dense(0, 16), dense(0, 64), dense(0, 3, 21), dense(32, 257),
		strided([]int64{3, 5}, []int64{7, 1}, 2),
		strided([]int64{3, 5}, []int64{1, 3}, 1),
		strided([]int64{3, 5}, []int64{-11, 2}, 30),
		strided([]int64{9}, []int64{-3}, 40),
		strided([]int64{2, 2, 2, 2, 2, 2, 2, 2, 2}, []int64{1, 2, 4, 8, 16, 32, 64, 128, 256}, 5),
	}
	for offset := range int64(9) {
		for _, n := range []int64{1, 2, 3, 6, 7, 8, 9, 31, 67} {
			layouts = append(layouts, dense(offset, n))
		}
	}
	types := append(layout.DTypes(), layout.Bit)
	if r.Small {
		types = widths
	}
	for _, dtype := range types {
		for i, l := range layouts {
			rig.check(oracle.Case{Op: oracle.OpFill, DstType: dtype, Dst: l}, uint64(i))
		}
	}
}
