package layout_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"
)

func TestPermuteEveryPermutation(t *testing.T) {
	r := random(t)
	for rank := range 6 {
		permutations(rank, func(perm []int) {
			l := randomLayout(r, randomShape(r, rank, 3), 7)
			got, err := l.Permute(perm...)
			require.NoError(t, err)
			requireTable(t, tableOf(l).permute(perm), got, l, perm)

			negative := clone(perm)
			for i := range negative {
				if r.IntN(2) == 0 {
					negative[i] -= rank
				}
			}
			again, err := l.Permute(negative...)
			require.NoError(t, err)
			require.True(t, got.Equal(&again))
		})
	}
}

func TestPermuteAndReverseHighRank(t *testing.T) {
	r := random(t)
	for _, rank := range []int{0, 1, 7, 8, 9, 12, layout.MaxRank} {
		for range 20 {
			dims := make([]int64, rank)
			for i := range dims {
				dims[i] = 1
			}
			for range min(rank, 5) {
				dims[r.IntN(rank)] = 2
			}
			l := randomLayout(r, dims, 9)
			perm, back := r.Perm(rank), make([]int, rank)
			for i := range back {
				back[i] = rank - 1 - i
			}
			requireTable(t, tableOf(l).permute(perm), must(l.Permute(perm...)), l, perm)
			requireTable(t, tableOf(l).permute(back), l.Reverse(), l)
		}
	}
}

func TestPermuteRefuses(t *testing.T) {
	l := must(layout.Contiguous(2, 3, 4))
	for _, perm := range [][]int{{}, {0, 1}, {0, 1, 2, 3}, {0, 1, 1}, {0, 1, -2}, {0, 1, 3}, {0, 1, -4},
		{math.MinInt, 0, 1}, {math.MaxInt, 0, 1}, {0, 0, 0}} {
		got, err := l.Permute(perm...)
		refused(t, err, "Permute", "[2,3,4]")
		require.Equal(t, layout.Layout{}, got)
	}
	high := must(layout.Contiguous(make([]int64, layout.MaxRank)...))
	perm := make([]int, layout.MaxRank)
	_, err := high.Permute(perm...)
	refused(t, err, "Permute")
}

// sliceRule is ONNX's rule, word for word, in arithmetic that cannot overflow:
// add the extent to negative start and end; clamp start to [0,d] and end to
// [0,d] for positive steps, to [0,d-1] and [-1,d-1] for negative ones; then walk.
func sliceRule(d, start, end, step int64) (first, count *big.Int) {
	D, s, e, st := big.NewInt(d), big.NewInt(start), big.NewInt(end), big.NewInt(step)
	one := big.NewInt(1)
	last := new(big.Int).Sub(D, one)
	clamp := func(x, lo, hi *big.Int) *big.Int {
		if x.Cmp(lo) < 0 {
			x = lo
		}
		if x.Cmp(hi) > 0 {
			x = hi
		}
		return x
	}
	if s.Sign() < 0 {
		s.Add(s, D)
	}
	if e.Sign() < 0 {
		e.Add(e, D)
	}
	zero := new(big.Int)
	if step > 0 {
		s, e = clamp(s, zero, D), clamp(e, zero, D)
	} else {
		s, e = clamp(s, zero, last), clamp(e, big.NewInt(-1), last)
	}
	// ceil((e-s)/st), none below 0.
	gap := new(big.Int).Sub(e, s)
	n, rest := new(big.Int).QuoRem(gap, st, new(big.Int))
	if rest.Sign() != 0 && rest.Sign() == st.Sign() {
		n.Add(n, one)
	}
	if n.Sign() <= 0 {
		return s, new(big.Int)
	}
	return s, n
}

var far = []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt32, math.MaxInt32, math.MaxInt64 - 1, math.MaxInt64}

func span(lo, hi int64) (out []int64) {
	for x := lo; x <= hi; x++ {
		out = append(out, x)
	}
	return out
}

func TestSliceEveryStartEndStep(t *testing.T) {
	for d := range int64(6) {
		l := must(layout.Strided(layout.Shape{d, 2}, []int64{-3, 20}, 15))
		from := tableOf(l)
		bounds := append(span(-d-2, d+2), far...)
		steps := append(append(span(-d-2, -1), span(1, d+2)...), far...)
		for _, start := range bounds {
			for _, end := range bounds {
				for _, step := range steps {
					first, n := sliceRule(d, start, end, step)
					list := make([]int64, n.Int64())
					for i := range list {
						list[i] = first.Int64() + int64(i)*step
					}
					got, err := l.Slice(0, start, end, step)
					if err != nil || got.Count() != 2*int64(len(list)) {
						require.NoError(t, err)
						require.Failf(t, "count", "[%d:%d:%d] of %d: %v, want %v", start, end, step, d, got, list)
					}
					if len(list) > 0 || step%2 == 0 { // empty ones are many and alike
						requireTable(t, from.pick(0, list), got)
					}
				}
			}
		}
	}
}

// Python differs from ONNX in one place: a start below -d with a negative step
// gives nothing in Python; ONNX clamps it to the first element.
func TestSliceAgreesWithPython(t *testing.T) {
	for _, c := range []struct {
		d, start, end, step int64
		want                []int64 // list(range(d))[start:end:step]
	}{
		{10, 0, 10, 1, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{10, 1, -1, 3, []int64{1, 4, 7}},
		{10, -3, 100, 1, []int64{7, 8, 9}},
		{10, -1, -11, -1, []int64{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
		{10, 20, math.MinInt64, -4, []int64{9, 5, 1}},
		{10, 5, 2, -2, []int64{5, 3}},
		{10, 5, 2, 2, []int64{}},
		{10, 2, 5, -1, []int64{}},
		{10, math.MinInt64, math.MaxInt64, math.MaxInt64, []int64{0}},
		{10, math.MaxInt64, math.MinInt64, math.MinInt64, []int64{9}},
		{0, 0, 10, 1, []int64{}},
		{0, -1, -10, -1, []int64{}},
		{1, 0, -2, -1, []int64{0}},
	} {
		l := must(layout.Contiguous(c.d))
		got := must(l.Slice(0, c.start, c.end, c.step))
		requireTable(t, table{[]int64{int64(len(c.want))}, c.want}, got, c)
	}
	got := must(must(layout.Contiguous(10)).Slice(0, -11, math.MinInt64, -1))
	requireTable(t, table{[]int64{1}, []int64{0}}, got)
}

func TestSliceHugeExtents(t *testing.T) {
	r := random(t)
	dims := []int64{math.MaxInt64, math.MaxInt64 - 1, 1 << 62, 1<<31 + 1, 1 << 32}
	for range 20000 {
		d := dims[r.IntN(len(dims))]
		pick := func() int64 {
			switch r.IntN(4) {
			case 0:
				return far[r.IntN(len(far))]
			case 1:
				return r.Int64N(9) - 4
			case 2:
				return d - 4 + r.Int64N(5)
			}
			return int64(r.Uint64()) >> r.IntN(64)
		}
		start, end, step := pick(), pick(), pick()
		if step == 0 {
			continue
		}
		l := must(layout.Contiguous(d))
		if r.IntN(2) == 0 {
			l = must(l.Slice(0, -1, math.MinInt64, -1))
			require.Equal(t, d-1, l.Offset())
			require.Equal(t, int64(-1), l.Stride(0))
		}
		got := must(l.Slice(0, start, end, step))
		first, n := sliceRule(d, start, end, step)
		require.Equal(t, n.Int64(), got.Count(), "%d [%d:%d:%d]", d, start, end, step)
		if n.Sign() > 0 {
			require.Equal(t, l.At(first.Int64()), got.Offset())
			// The last one, in big arithmetic.
			last := new(big.Int).Sub(n, big.NewInt(1))
			last.Mul(last, big.NewInt(step)).Add(last, first)
			require.Equal(t, l.At(last.Int64()), got.At(n.Int64()-1), "%d [%d:%d:%d]", d, start, end, step)
		}
		promised(t, got)
	}
}

func TestSliceRefuses(t *testing.T) {
	l := must(layout.Contiguous(2, 3))
	for _, axis := range []int{2, -3, math.MinInt, math.MaxInt} {
		_, err := l.Slice(axis, 0, 1, 1)
		refused(t, err, "Slice", "rank 2")
	}
	_, err := l.Slice(0, 0, 1, 0)
	refused(t, err, "Slice", "[2,3]", "step on axis 0 is 0")
	_, err = layout.Layout{}.Slice(0, 0, 1, 1)
	refused(t, err, "Slice", "rank 0")
	require.Equal(t, must(l.Slice(1, 1, 3, 1)), must(l.Slice(-1, 1, 3, 1)))
}

func TestExpandAgainstBroadcasting(t *testing.T) {
	r := random(t)
	done := 0
	for done < 2000 {
		l := randomLayout(r, randomShape(r, r.IntN(4), 2), 5)
		to := randomShape(r, max(0, l.Rank()+r.IntN(4)-1), 3)
		got, err := l.Expand(to...)
		want, ok := tableOf(l).expand(to)
		if !ok {
			refused(t, err, "Expand", l.Shape().String(), layout.Shape(to).String())
			require.Equal(t, layout.Layout{}, got)
			continue
		}
		require.NoError(t, err)
		requireTable(t, want, got, l, to)
		done++
	}
}

func TestExpandLimits(t *testing.T) {
	one := must(layout.Strided(layout.Shape{1}, []int64{5}, 7))
	huge := must(one.Expand(1<<31, 1<<31))
	require.Equal(t, int64(1<<62), huge.Count())
	require.Equal(t, int64(7), huge.At(1<<31-1, 1<<31-1))
	require.True(t, huge.IsBroadcast())
	_, err := one.Expand(1<<32, 1<<31)
	refused(t, err, "Expand", "overflows")
	_, err = one.Expand(-1)
	refused(t, err, "Expand", "negative")
	requireTable(t, table{dims: []int64{1 << 40, 1 << 40, 0}}, must(one.Expand(1<<40, 1<<40, 0)))

	twelve := must(one.Expand(1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1))
	requireTable(t, table{twelve.Shape(), []int64{7, 7, 7, 7}}, twelve)
}

// axisSets calls f with every set of places below n, as a list.
func axisSets(n int, f func(set []int)) {
	for mask := range 1 << n {
		set := []int{}
		for i := range n {
			if mask>>i&1 != 0 {
				set = append(set, i)
			}
		}
		f(set)
	}
}

func TestSqueezeEverySet(t *testing.T) {
	r := random(t)
	for rank := range 6 {
		axisSets(rank, func(ones []int) {
			dims := make([]int64, rank)
			for i := range dims {
				dims[i] = []int64{0, 2, 3}[min(2, r.IntN(8))]
			}
			for _, i := range ones {
				dims[i] = 1
			}
			l := randomLayout(r, dims, 5)
			axisSets(rank, func(set []int) {
				drop := set
				if len(set) == 0 {
					drop = ones
				}
				left, legal := []int64{}, true
				gone := map[int]bool{}
				for _, a := range drop {
					gone[a] = true
					legal = legal && dims[a] == 1
				}
				for i, d := range dims {
					if !gone[i] {
						left = append(left, d)
					}
				}
				r.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
				for i := range set {
					if r.IntN(2) == 0 {
						set[i] -= rank
					}
				}
				got, err := l.Squeeze(set...)
				if !legal {
					refused(t, err, "Squeeze", l.Shape().String(), "not 1")
					require.Equal(t, layout.Layout{}, got)
					return
				}
				require.NoError(t, err)
				requireTable(t, tableOf(l).reshape(left), got, l, set)
			})
		})
	}
}

func TestUnsqueezeEverySet(t *testing.T) {
	r := random(t)
	for rank := range 7 {
		axisSets(rank, func(set []int) {
			l := randomLayout(r, randomShape(r, rank-len(set), 3), 5)
			dims, old := []int64{}, l.Shape()
			for i := range rank {
				one := false
				for _, a := range set {
					one = one || a == i
				}
				if one {
					dims = append(dims, 1)
				} else {
					dims, old = append(dims, old[0]), old[1:]
				}
			}
			for i := range set {
				if r.IntN(2) == 0 {
					set[i] -= rank
				}
			}
			got, err := l.Unsqueeze(set...)
			require.NoError(t, err)
			requireTable(t, tableOf(l).reshape(dims), got, l, set)
		})
	}
}

func TestSqueezeUnsqueezeRefuse(t *testing.T) {
	l := must(layout.Contiguous(1, 3, 1))
	for _, axes := range [][]int{{0, 0}, {0, -3}, {3}, {-4}, {1}, {math.MinInt}} {
		_, err := l.Squeeze(axes...)
		refused(t, err, "Squeeze")
	}
	for _, axes := range [][]int{{0, 0}, {0, -5}, {4}, {-5}, {math.MaxInt}} {
		_, err := l.Unsqueeze(axes...)
		refused(t, err, "Unsqueeze")
	}
}

func TestSqueezeUnsqueezeAcrossTheInlineRank(t *testing.T) {
	l := must(layout.Strided(layout.Shape{2, 3}, []int64{-1, 4}, 9))
	for _, n := range []int{5, 6, 7, 10, layout.MaxRank - 2} {
		places, dims := []int{}, []int64{2}
		for i := range n {
			places = append(places, i+1)
			dims = append(dims, 1)
		}
		dims = append(dims, 3)
		wide, err := l.Unsqueeze(places...)
		require.NoError(t, err)
		requireTable(t, tableOf(l).reshape(dims), wide)
		require.Equal(t, l, must(wide.Squeeze()))
		require.Equal(t, l, must(wide.Squeeze(places...)))
		require.Equal(t, l, wide.Coalesce())
		last := places[n-1]
		_, err = wide.Squeeze(last, last)
		refused(t, err, "Squeeze", "twice")
	}
}

// A view must never write to the axes of the layout it came from, which
// layouts of high rank hold by reference.
func TestViewsLeaveTheirSourceAlone(t *testing.T) {
	for _, rank := range []int{3, 8, 9, 12} {
		dims := make([]int64, rank)
		for i := range dims {
			dims[i] = 1
		}
		dims[0], dims[rank-1] = 4, 6
		l := must(layout.Contiguous(dims...))
		before := l.String()
		l.Reverse()
		must(l.Slice(0, 3, 1, -1))
		must(l.Slice(0, 0, 0, 1))
		must(l.Squeeze())
		must(l.Unsqueeze(0))
		must(l.Reshape(2, 12))
		must(l.Rebase(5))
		l.Coalesce()
		r := l.Reverse()
		simplified(l, r)
		widened(l, l, 4, 64)
		l.Overlaps(&r)
		l.SelfOverlaps()
		l.Shape()[0], l.Strides()[0] = 99, 99
		require.Equal(t, before, l.String())
	}
}

// Slicing many axes one by one copies all of them each time.
func TestSliceAxesOfAHighRank(t *testing.T) {
	const rank = layout.MaxRank
	dims, axes := make([]int64, rank), make([]int, rank)
	starts, ends := make([]int64, rank), make([]int64, rank)
	for i := range dims {
		dims[i], axes[i], ends[i] = 1, i, 1
	}
	l := must(layout.Contiguous(dims...))
	allocs := testing.AllocsPerRun(1, func() { must(l.SliceAxes(axes, starts, ends, nil)) })
	require.LessOrEqual(t, allocs, 2.0)
	require.True(t, l.Equal(new(must(l.SliceAxes(axes, starts, ends, nil)))))
}

// SliceAxes is Slice again and again.
func TestSliceAxesIsSliceRepeated(t *testing.T) {
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 5000 {
		rank := rng.IntN(11)
		dims := make([]int64, rank)
		for i := range dims {
			dims[i] = rng.Int64N(4)
			if rng.IntN(4) > 0 {
				dims[i]++
			}
		}
		l := must(layout.Contiguous(dims...)).Reverse()
		var axes []int
		var starts, ends, steps []int64
		want := l
		for range rng.IntN(4) {
			if rank == 0 {
				break
			}
			axis, start, end, step := rng.IntN(2*rank)-rank, rng.Int64N(9)-4, rng.Int64N(9)-4, rng.Int64N(3)+1
			if rng.IntN(2) == 0 {
				step = -step
			}
			axes, starts, ends, steps = append(axes, axis), append(starts, start), append(ends, end), append(steps, step)
			want = must(want.Slice(axis, start, end, step))
		}
		got, err := l.SliceAxes(axes, starts, ends, steps)
		require.NoError(t, err)
		require.True(t, want.Equal(&got), "seed %d: %v sliced %v %v %v %v: %v, want %v", seed, l, axes, starts, ends, steps, got, want)
	}
}

func TestSliceAxesThatAreNone(t *testing.T) {
	l := must(layout.Contiguous(2, 3))
	for _, c := range []struct {
		axes                []int
		starts, ends, steps []int64
		says                string
	}{
		{[]int{2}, []int64{0}, []int64{1}, nil, "[2,3]: axis 2 is outside [-2,1]"},
		{[]int{0, 1}, []int64{0, 0}, []int64{1, 1}, []int64{1, 0}, "[2,3]: the step on axis 1 is 0"},
		{[]int{0}, nil, []int64{1}, nil, "as many of each"},
		{[]int{0}, []int64{1}, nil, nil, "as many of each"},
		{[]int{0}, []int64{1}, []int64{1}, []int64{}, "as many of each"},
	} {
		got, err := l.SliceAxes(c.axes, c.starts, c.ends, c.steps)
		require.ErrorIs(t, err, layout.ErrInvalid)
		require.ErrorContains(t, err, c.says)
		require.True(t, got.Equal(new(layout.Layout{})))
	}
	_, err := layout.Layout{}.Slice(0, 0, 1, 1)
	require.ErrorContains(t, err, "axis 0 is listed, and rank 0 has none")
}
