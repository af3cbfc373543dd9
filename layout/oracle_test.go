package layout_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"
)

// table is the oracle of these tests: a tensor spelled out, the position of
// every element in row-major order. It knows nothing of strides.
type table struct {
	dims []int64
	at   []int64
}

// walk calls f with every index of a shape in row-major order. The index is
// reused.
func walk(dims []int64, f func(index []int64)) {
	for _, d := range dims {
		if d == 0 {
			return // the others may be huge
		}
	}
	index := make([]int64, len(dims))
	var loop func(axis int)
	loop = func(axis int) {
		if axis == len(dims) {
			f(index)
			return
		}
		for index[axis] = 0; index[axis] < dims[axis]; index[axis]++ {
			loop(axis + 1)
		}
	}
	loop(0)
}

// spread computes a table from the definition of a layout.
func spread(dims, strides []int64, offset int64) table {
	t := table{dims: clone(dims)}
	walk(dims, func(index []int64) {
		p := offset
		for i := range index {
			p += index[i] * strides[i]
		}
		t.at = append(t.at, p)
	})
	return t
}

func tableOf(l layout.Layout) table { return spread(l.Shape(), l.Strides(), l.Offset()) }

// get finds an index by counting.
func (t table) get(index []int64) int64 {
	n := int64(0)
	for i, x := range index {
		n = n*t.dims[i] + x
	}
	return t.at[n]
}

// gather makes a table of the given extents whose element i comes from index
// from(i).
func (t table) gather(dims []int64, from func(index []int64) []int64) table {
	out := table{dims: clone(dims)}
	walk(dims, func(index []int64) { out.at = append(out.at, t.get(from(index))) })
	return out
}

func (t table) permute(perm []int) table {
	dims := make([]int64, len(perm))
	for i, p := range perm {
		dims[i] = t.dims[p]
	}
	return t.gather(dims, func(index []int64) []int64 {
		old := make([]int64, len(index))
		for i, p := range perm {
			old[p] = index[i]
		}
		return old
	})
}

// pick keeps the listed indices of an axis.
func (t table) pick(axis int, list []int64) table {
	dims := clone(t.dims)
	dims[axis] = int64(len(list))
	return t.gather(dims, func(index []int64) []int64 {
		old := clone(index)
		old[axis] = list[index[axis]]
		return old
	})
}

// expand returns false if the rule of broadcasting forbids it.
func (t table) expand(dims []int64) (table, bool) {
	lead := len(dims) - len(t.dims)
	if lead < 0 {
		return table{}, false
	}
	for i, d := range t.dims {
		if d != 1 && d != dims[lead+i] {
			return table{}, false
		}
	}
	return t.gather(dims, func(index []int64) []int64 {
		old := clone(index[lead:])
		for i, d := range t.dims {
			if d == 1 {
				old[i] = 0
			}
		}
		return old
	}), true
}

// reshape only renames the indices.
// repeats reports whether two indices have the same element.
func (t table) repeats() bool {
	seen := map[int64]bool{}
	for _, x := range t.at {
		if seen[x] {
			return true
		}
		seen[x] = true
	}
	return false
}

func (t table) reshape(dims []int64) table { return table{clone(dims), t.at} }

// strides decides whether any strides at all reach the table's positions: the
// element with index 1 on one axis, 0 elsewhere, fixes that axis's stride; then
// every element must agree.
func (t table) strides() ([]int64, bool) {
	strides := make([]int64, len(t.dims))
	if len(t.at) == 0 {
		return strides, true
	}
	for i, d := range t.dims {
		if d > 1 {
			unit := make([]int64, len(t.dims))
			unit[i] = 1
			strides[i] = t.get(unit) - t.at[0]
		}
	}
	ok, n := true, 0
	walk(t.dims, func(index []int64) {
		p := t.at[0]
		for i := range index {
			p += index[i] * strides[i]
		}
		ok = ok && p == t.at[n]
		n++
	})
	return strides, ok
}

// requireTable checks a layout element by element, and the promise about empty
// layouts.
func requireTable(t *testing.T, want table, got layout.Layout, msg ...any) {
	t.Helper()
	require.Equal(t, clone(want.dims), []int64(got.Shape()), msg...)
	require.Equal(t, int64(len(want.at)), got.Count(), msg...)
	at := make([]int64, 0, len(want.at))
	walk(want.dims, func(index []int64) { at = append(at, got.At(index...)) })
	if len(at) == 0 {
		require.Equal(t, make([]int64, got.Rank()), got.Strides(), msg...)
		require.GreaterOrEqual(t, got.Offset(), int64(0), msg...)
		return
	}
	require.Equal(t, want.at, at, msg...)
}

// refused checks that an error is an *Error of the invalid kind that names the
// operation.
func refused(t *testing.T, err error, op string, parts ...string) {
	t.Helper()
	require.Error(t, err)
	require.ErrorIs(t, err, layout.ErrInvalid)
	var e *layout.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, op, e.Op)
	for _, part := range parts {
		require.Contains(t, err.Error(), part)
	}
}

func must(l layout.Layout, err error) layout.Layout {
	if err != nil {
		panic(err)
	}
	return l
}

func clone[T any](s []T) []T { return append(make([]T, 0, len(s)), s...) }

// random returns a generator whose seed is printed when the test fails;
// RESTRIDE_SEED repeats a run.
func random(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	if s := os.Getenv("RESTRIDE_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("RESTRIDE_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// randomShape makes extents 0 to top; 0 is rare.
func randomShape(r *rand.Rand, rank int, top int64) []int64 {
	dims := make([]int64, rank)
	for i := range dims {
		dims[i] = 1 + r.Int64N(top)
		if r.IntN(25) == 0 {
			dims[i] = 0
		}
	}
	return dims
}

// randomLayout has the given extents and arbitrary small strides: negative,
// zero, not nested.
func randomLayout(r *rand.Rand, dims []int64, reach int64) layout.Layout {
	strides := make([]int64, len(dims))
	offset := r.Int64N(8)
	for i, d := range dims {
		strides[i] = r.Int64N(2*reach+1) - reach
		if d > 0 {
			offset += max(0, -strides[i]*(d-1))
		}
	}
	return must(layout.Strided(dims, strides, offset))
}

// randomView is what users have: a few view operations on a contiguous tensor.
func randomView(r *rand.Rand, rank int, top int64) layout.Layout {
	l := must(layout.Contiguous(randomShape(r, rank, top)...))
	for range r.IntN(4) {
		switch n := l.Rank(); r.IntN(4) {
		case 0:
			l = must(l.Permute(r.Perm(n)...))
		case 1, 2:
			if n > 0 {
				step := []int64{1, 1, 2, 3, -1, -2}[r.IntN(6)]
				l = must(l.Slice(r.IntN(n), r.Int64N(2*top)-top, r.Int64N(2*top)-top, step))
			}
		case 3:
			dims := l.Shape()
			for i, d := range dims {
				if d == 1 && r.IntN(2) == 0 {
					dims[i] = 1 + r.Int64N(top)
				}
			}
			l = must(l.Expand(dims...))
		}
	}
	return l
}

// permutations calls f with every permutation of 0..n-1.
func permutations(n int, f func(perm []int)) {
	perm := make([]int, 0, n)
	var rec func()
	rec = func() {
		if len(perm) == n {
			f(clone(perm))
			return
		}
	next:
		for x := range n {
			for _, p := range perm {
				if p == x {
					continue next
				}
			}
			perm = append(perm, x)
			rec()
			perm = perm[:len(perm)-1]
		}
	}
	rec()
}

// factorings calls f with every shape of the given rank that has n elements,
// extents of 1 included.
func factorings(n int64, rank int, f func(dims []int64)) {
	if rank == 0 {
		if n == 1 {
			f([]int64{})
		}
		return
	}
	for d := int64(1); d <= n; d++ {
		if n%d == 0 {
			factorings(n/d, rank-1, func(rest []int64) { f(append([]int64{d}, rest...)) })
		}
	}
}

// simplified is Simplify of copies.
func simplified(dst, src layout.Layout) (d, s layout.Layout) {
	layout.Simplify(&dst, &src)
	return dst, src
}

// widened is Widen of copies.
func widened(dst, src layout.Layout, width, limit int) (d, s layout.Layout, wide int) {
	wide = layout.Widen(width, limit, &dst, &src)
	return dst, src, wide
}
