package layout_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"
)

var maxInt64 = big.NewInt(math.MaxInt64)

// bigProduct multiplies extents; nil if one is negative.
func bigProduct(dims []int64) *big.Int {
	n := big.NewInt(1)
	for _, d := range dims {
		if d < 0 {
			return nil
		}
		n.Mul(n, big.NewInt(d))
	}
	return n
}

// promised checks what every Layout promises, in arithmetic that cannot
// overflow.
func promised(t testing.TB, l layout.Layout) {
	t.Helper()
	n := bigProduct(l.Shape())
	if n == nil || n.Cmp(maxInt64) > 0 || n.Int64() != l.Count() {
		require.Failf(t, "count", "%v", l)
	}
	lo, hi := big.NewInt(l.Offset()), big.NewInt(l.Offset())
	for i := range l.Rank() {
		if n.Sign() == 0 {
			require.Zero(t, l.Stride(i), "%v", l)
			continue
		}
		reach := new(big.Int).Mul(big.NewInt(l.Dim(i)-1), big.NewInt(l.Stride(i)))
		if reach.Sign() < 0 {
			lo.Add(lo, reach)
		} else {
			hi.Add(hi, reach)
		}
	}
	if lo.Sign() < 0 || hi.Cmp(maxInt64) > 0 {
		require.Failf(t, "positions", "%v: %v to %v", l, lo, hi)
	}
	gotLo, gotHi, ok := l.Extent()
	if ok != (n.Sign() > 0) || ok && (gotLo != lo.Int64() || gotHi != hi.Int64()) {
		require.Failf(t, "Extent", "%v: %d to %d, want %v to %v", l, gotLo, gotHi, lo, hi)
	}
}

var edges = []int64{0, 1, 2, 3, 7, 8, 9, 1 << 31, 1<<31 - 1, 1 << 32, 3037000499, 3037000500, 1 << 60,
	1<<60 - 1, 1 << 62, math.MaxInt64 - 8, math.MaxInt64 - 7, math.MaxInt64 - 1, math.MaxInt64}

func TestCountAndBytes(t *testing.T) {
	r := random(t)
	for range 5000 {
		s := make(layout.Shape, r.IntN(4))
		for i := range s {
			s[i] = edges[r.IntN(len(edges))]
			if r.IntN(40) == 0 {
				s[i] = -s[i]
			}
		}
		want := bigProduct(s)
		n, err := s.Count()
		if want == nil || want.Cmp(maxInt64) > 0 {
			refused(t, err, "Shape", s.String())
			_, err = s.Bytes(layout.Int4)
			refused(t, err, "Shape", s.String())
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want.Int64(), n)
		for _, c := range onnxTypes {
			b, err := s.Bytes(c.t)
			if c.bits == 0 {
				require.ErrorIs(t, err, layout.ErrUnsupported)
				continue
			}
			wantBytes := bigBytes(n, c.bits)
			if wantBytes.Cmp(maxInt64) > 0 {
				refused(t, err, "Shape", s.String(), c.name, "overflows")
				continue
			}
			require.NoError(t, err)
			require.Equal(t, wantBytes.Int64(), b)
		}
	}
}

func bigBytes(n int64, width int) *big.Int {
	b := new(big.Int).Mul(big.NewInt(n), big.NewInt(int64(width)))
	return b.Rsh(b.Add(b, big.NewInt(7)), 3)
}

func TestPackedBytesAtTheEdges(t *testing.T) {
	for _, width := range []int{1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 1 << 20, math.MaxInt} {
		around := append([]int64{0, 64}, edges...)
		// Where n*width/8 crosses 2^63.
		limit := new(big.Int).Lsh(big.NewInt(1), 66)
		limit.Div(limit, big.NewInt(int64(width)))
		if limit.IsInt64() {
			around = append(around, limit.Int64())
		}
		for _, near := range around {
			for n := max(0, near-20); ; n++ {
				want := bigBytes(n, width)
				got, ok := layout.PackedBytes(n, width)
				require.Equal(t, want.Cmp(maxInt64) <= 0, ok, "%d elements of %d bits", n, width)
				if ok {
					require.Equal(t, want.Int64(), got, "%d elements of %d bits", n, width)
				}
				if n-near >= 20 || n == math.MaxInt64 {
					break
				}
			}
		}
	}
	for _, n := range []int64{-1, math.MinInt64} {
		_, ok := layout.PackedBytes(n, 8)
		require.False(t, ok)
	}
}

// String has 0 bits: PackedBytes divided by it.
func TestPackedBytesOfNoWidth(t *testing.T) {
	for _, width := range []int{0, -8, math.MinInt} {
		_, ok := layout.PackedBytes(5, width)
		require.False(t, ok)
	}
}

// The largest tensor of bytes has as many bytes as elements.
func TestPackedBytesOfTheLargestByteTensor(t *testing.T) {
	got, ok := layout.PackedBytes(math.MaxInt64, 8)
	require.True(t, ok)
	require.Equal(t, int64(math.MaxInt64), got)
}

// A type that is none is the caller's mistake, not a limit of ours.
func TestBytesOfAnInvalidType(t *testing.T) {
	for _, bad := range []layout.DType{layout.Invalid, 27, 255} {
		_, err := layout.Shape{2}.Bytes(bad)
		refused(t, err, "Shape")
	}
	_, err := layout.Shape{2}.Bytes(layout.String)
	require.ErrorIs(t, err, layout.ErrUnsupported)
	require.NotErrorIs(t, err, layout.ErrInvalid)
}

func TestShapeValues(t *testing.T) {
	require.Equal(t, "[2,-3,0]", layout.Shape{2, -3, 0}.String())
	require.Equal(t, "[]", layout.Shape{}.String())
	require.Equal(t, "[]", layout.Shape(nil).String())
	require.Equal(t, "[-9223372036854775808]", layout.Shape{math.MinInt64}.String())
	s := layout.Shape{1, 2}
	c := s.Clone()
	c[0] = 9
	require.Equal(t, layout.Shape{1, 2}, s)
	require.True(t, s.Equal(layout.Shape{1, 2}))
	require.False(t, s.Equal(layout.Shape{1, 2, 3}))
	require.False(t, s.Equal(layout.Shape{1, 3}))
	require.True(t, layout.Shape{}.Equal(nil))
}

func TestInferReshapeRules(t *testing.T) {
	type S = layout.Shape
	const M = math.MaxInt64
	for _, c := range []struct {
		in, want S
		copies   bool
		out      S      // nil: refused
		rule     string // in the error
	}{
		{S{2, 3, 4}, S{4, 2, 3}, true, S{4, 2, 3}, ""},
		{S{2, 3, 4}, S{24}, true, S{24}, ""},
		{S{2, 3, 4}, S{2, -1}, true, S{2, 12}, ""},
		{S{2, 3, 4}, S{-1}, false, S{24}, ""},
		{S{2, 3, 4}, S{-1, 2, 3, 4}, true, S{1, 2, 3, 4}, ""},
		{S{2, 3, 4}, S{2, 0, 1, -1}, true, S{2, 3, 1, 4}, ""},
		{S{2, 3, 4}, S{0, 0, -1}, true, S{2, 3, 4}, ""},
		{S{2, 3, 4}, S{-1, 0}, true, S{8, 3}, ""},
		{S{2, 3, 4}, S{-1, -1}, true, nil, "at most one"},
		{S{2, 3, 4}, S{-2, 12}, true, nil, "the least allowed is -1"},
		{S{2, 3, 4}, S{math.MinInt64}, false, nil, "the least allowed is -1"},
		{S{2, 3, 4}, S{5, -1}, true, nil, "no multiple of 5"},
		{S{2, 3, 4}, S{5, 5}, true, nil, "24 elements do not fill 25"},
		{S{2, 3, 4}, S{2, 3, 4, 0}, true, nil, "the input has rank 3"},
		{S{2, 3, 4}, S{0, 3, 4}, false, nil, "24 elements do not fill 0"},
		{S{2, 3, 4}, S{0, -1}, false, nil, "0 as an empty axis"},
		{S{2, 3, 4}, S{-1, 0}, false, nil, "0 as an empty axis"},
		{S{2, 3, 4}, S{}, true, nil, "24 elements do not fill 1"},
		// Scalars.
		{S{}, S{}, true, S{}, ""},
		{nil, nil, true, S{}, ""},
		{S{1, 1}, S{}, false, S{}, ""},
		{S{}, S{1, 1}, true, S{1, 1}, ""},
		{S{}, S{-1}, true, S{1}, ""},
		{S{}, S{0}, true, nil, "the input has rank 0"},
		// Nothing inside.
		{S{0, 3, 4}, S{3, 4, 0}, false, S{3, 4, 0}, ""},
		{S{0, 3, 4}, S{0, 12}, true, S{0, 12}, ""},
		{S{0, 3, 4}, S{3, -1}, true, S{3, 0}, ""},
		{S{0, 3, 4}, S{3, -1}, false, S{3, 0}, ""},
		{S{0, 3, 4}, S{0, -1}, true, nil, "multiply to 0"},
		{S{0, 3, 4}, S{0, -1}, false, nil, "0 as an empty axis"},
		{S{3, 0}, S{0, 0}, true, S{3, 0}, ""},
		{S{3, 0}, S{0, 0}, false, S{0, 0}, ""},
		{S{0}, S{1 << 32, 1 << 32}, false, nil, "overflows"},
		{S{0}, S{1 << 32, 1 << 32, 0}, false, S{1 << 32, 1 << 32, 0}, ""},
		{S{1 << 40, 1 << 40, 0}, S{0}, false, S{0}, ""},
		// Huge.
		{S{M}, S{-1}, true, S{M}, ""},
		{S{1 << 31, 1 << 31}, S{1 << 61, -1}, true, S{1 << 61, 2}, ""},
		{S{1 << 31, 1 << 31}, S{M, M, -1}, true, nil, "overflows"},
		{S{1}, S{M, M}, true, nil, "overflows"},
		{S{M, 2}, S{-1}, true, nil, "input"},
		{S{2, -3}, S{-1}, true, nil, "negative"},
		// Rank above what is inline.
		{S{2, 1, 1, 1, 1, 1, 1, 1, 1, 3}, S{0, 0, 0, 0, 0, 0, 0, 0, 0, -1}, true, S{2, 1, 1, 1, 1, 1, 1, 1, 1, 3}, ""},
	} {
		got, err := layout.InferReshape(nil, "Reshape-14", c.in, c.want, c.copies)
		if c.out == nil {
			refused(t, err, "Reshape-14", "Reshape-14", c.in.String(), c.want.String(), c.rule)
			require.Nil(t, got)
			continue
		}
		require.NoError(t, err, "%v to %v", c.in, c.want)
		require.True(t, c.out.Equal(got), "%v to %v: %v, want %v", c.in, c.want, got, c.out)
		n, err := got.Count()
		require.NoError(t, err)
		require.Equal(t, bigProduct(c.in).Int64(), n)
	}
}

func TestInferReshapeAppends(t *testing.T) {
	buf := append(make([]int64, 0, 8), 7)
	got, err := layout.InferReshape(buf, "op", layout.Shape{2, 3}, layout.Shape{-1, 2}, true)
	require.NoError(t, err)
	require.Equal(t, layout.Shape{7, 3, 2}, got)
	require.Equal(t, []int64{7, 3, 2}, buf[:3], "in place")
	// In place of what it reads.
	want := layout.Shape{0, -1}
	got, err = layout.InferReshape(want[:0], "op", layout.Shape{2, 3}, want, true)
	require.NoError(t, err)
	require.Equal(t, layout.Shape{2, 3}, got)
}

func TestBroadcast(t *testing.T) {
	r := random(t)
	for range 5000 {
		a, b := randomShape(r, r.IntN(4), 3), randomShape(r, r.IntN(4), 3)
		// The oracle aligns on the right by padding with ones.
		rank := max(len(a), len(b))
		pad := func(s []int64) []int64 {
			for len(s) < rank {
				s = append([]int64{1}, s...)
			}
			return s
		}
		x, y, want, ok := pad(clone(a)), pad(clone(b)), make([]int64, rank), true
		for i := range want {
			switch {
			case x[i] == 1:
				want[i] = y[i]
			case y[i] == 1 || x[i] == y[i]:
				want[i] = x[i]
			default:
				ok = false
			}
		}
		got, err := layout.Broadcast(a, b)
		if !ok {
			refused(t, err, "Broadcast", layout.Shape(a).String(), layout.Shape(b).String())
			continue
		}
		require.NoError(t, err)
		require.True(t, layout.Shape(want).Equal(got), "%v %v: %v", a, b, got)
		// What it promises: both sides expand to it.
		promised(t, must(must(layout.Contiguous(a...)).Expand(got...)))
		promised(t, must(must(layout.Contiguous(b...)).Expand(got...)))
	}
	_, err := layout.Broadcast(layout.Shape{1 << 32, 1}, layout.Shape{1, 1 << 32})
	refused(t, err, "Broadcast", "overflows")
	_, err = layout.Broadcast(layout.Shape{-2}, layout.Shape{1})
	refused(t, err, "Broadcast", "negative")
	a := layout.Shape{2}
	got, err := layout.Broadcast(a, layout.Shape{2})
	require.NoError(t, err)
	got[0] = 9
	require.Equal(t, int64(2), a[0], "the result is a copy")
}

func TestAxis(t *testing.T) {
	for rank := range 5 {
		for axis := -7; axis <= 7; axis++ {
			got, err := layout.Axis("Gather", axis, rank)
			if axis < -rank || axis >= rank {
				refused(t, err, "Gather")
				continue
			}
			require.NoError(t, err)
			require.Equal(t, (axis+rank)%rank, got)
		}
	}
	for _, axis := range []int{math.MinInt, math.MaxInt} {
		_, err := layout.Axis("Gather", axis, 3)
		refused(t, err, "Gather", "[-3,2]")
	}
}
