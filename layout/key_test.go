package layout_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
)

// randomPair makes two layouts of one shape.
func randomPair(r *rand.Rand, most int) (dst, src layout.Layout) {
	dims := make([]int64, r.IntN(most+1))
	for i := range dims {
		dims[i] = []int64{0, 1, 2, 2, 3, 4, 4, 8}[1-min(r.IntN(60), 1)+r.IntN(7)]
	}
	side := func() layout.Layout {
		perm := r.Perm(len(dims))
		shape := make([]int64, len(dims))
		for i, p := range perm {
			shape[i] = dims[p]
		}
		back := make([]int, len(perm))
		for i, p := range perm {
			back[p] = i
		}
		l := must(must(layout.Contiguous(shape...)).Permute(back...))
		if axis := 0; len(dims) > 0 && r.IntN(3) == 0 {
			axis = r.IntN(len(dims))
			l = must(l.Slice(axis, dims[axis]-1, -dims[axis]-1, -1))
		}
		return must(l.Rebase(l.Offset() + r.Int64N(200)))
	}
	return side(), side()
}

// Reduce is Simplify and Widen, and leaves what it is given alone.
func TestReduce(t *testing.T) {
	r := random(t)
	for range 20000 {
		dst, src := randomPair(r, 10)
		width, limit := 1<<(1+r.IntN(6)), 1<<(1+r.IntN(7))
		d, s := layout.Simplify(dst, src)
		d, s, wide := layout.Widen(d, s, width, limit)
		gotD, gotS := must(layout.Contiguous(7, 7)), must(layout.Contiguous(2))
		asDst, asSrc := dst.String(), src.String()
		require.Equal(t, wide, layout.Reduce(&gotD, &gotS, &dst, &src, width, limit))
		require.Equal(t, d.String(), gotD.String())
		require.Equal(t, s.String(), gotS.String())
		require.Equal(t, asDst, dst.String())
		require.Equal(t, asSrc, src.String())
	}
}

// Pairs of a key become the same pair, but for offsets.
func TestPairKey(t *testing.T) {
	r := random(t)
	same, others := 0, 0
	for range 20000 {
		dst, src := randomPair(r, 8)
		var k layout.PairKey
		require.True(t, k.Set(&dst, &src))
		require.True(t, k.Is(&dst, &src))
		hash := layout.HashPair(&dst, &src)

		dBy, sBy := layout.KeyPeriod*r.Int64N(5), layout.KeyPeriod*r.Int64N(1<<40)
		d2, s2 := must(dst.Rebase(dst.Offset()+dBy)), must(src.Rebase(src.Offset()+sBy))
		require.True(t, k.Is(&d2, &s2), "%v %v", d2, s2)
		require.Equal(t, hash, layout.HashPair(&d2, &s2))
		width, limit := 1<<(1+r.IntN(6)), 1<<(1+r.IntN(7))
		var a, b, c, d layout.Layout
		wide := layout.Reduce(&a, &b, &dst, &src, width, limit)
		require.Equal(t, wide, layout.Reduce(&c, &d, &d2, &s2, width, limit))
		part := int64(wide / width)
		require.Equal(t, must(a.Rebase(a.Offset()+dBy/part)).String(), c.String())
		require.Equal(t, must(b.Rebase(b.Offset()+sBy/part)).String(), d.String())

		// And no others do.
		d2, s2 = randomPair(r, 8)
		if r.IntN(2) == 0 {
			d2, s2 = dst, must(src.Rebase(src.Offset()+r.Int64N(130)))
		}
		is := slices.Equal(dst.Shape(), d2.Shape()) && slices.Equal(src.Shape(), s2.Shape()) &&
			slices.Equal(dst.Strides(), d2.Strides()) && slices.Equal(src.Strides(), s2.Strides()) &&
			(dst.Offset()-d2.Offset())%layout.KeyPeriod == 0 && (src.Offset()-s2.Offset())%layout.KeyPeriod == 0
		require.Equal(t, is, k.Is(&d2, &s2), "%v %v and %v %v", dst, src, d2, s2)
		if is {
			same++
		} else {
			others++
		}
	}
	require.Greater(t, same, 100)
	require.Greater(t, others, 1000)

	nine := must(layout.Contiguous(1, 1, 1, 1, 1, 1, 1, 1, 1))
	var k layout.PairKey
	require.False(t, k.Set(&nine, &nine))
	require.False(t, k.Is(&nine, &nine))
	// Shapes that differ have no key.
	dst, src := must(layout.Contiguous(4, 3)), must(layout.Contiguous(4, 3))
	require.True(t, k.Set(&dst, &src))
	for _, other := range []layout.Layout{must(layout.Contiguous(4, 2)), must(layout.Contiguous(12)), must(layout.Contiguous(4, 3, 1)), nine} {
		require.False(t, k.Is(&dst, &other))
		require.False(t, k.Is(&other, &src))
	}
}

// Hashes spread the pairs that a program has.
func TestHashPairSpreads(t *testing.T) {
	var sets [16]int
	n := 0
	for rows := int64(1); rows < 40; rows++ {
		for cols := int64(1); cols < 40; cols++ {
			l := must(layout.Contiguous(rows, cols))
			m := must(must(layout.Contiguous(cols, rows)).Permute(1, 0))
			sets[layout.HashPair(&l, &m)>>60]++
			n++
		}
	}
	for set, have := range sets {
		require.InDelta(t, n/16, have, float64(n)/16/2, "set %d", set)
	}
}
