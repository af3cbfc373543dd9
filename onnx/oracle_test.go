package onnx_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// array is the oracle's tensor: the elements in row-major order, each as its
// bytes (below a byte: its bits, low in one byte). It knows nothing of strides.
type array struct {
	dims  []int64
	elems []string
}

func count(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// numbered returns an array whose elements differ from their neighbours, as far
// as the type has room.
func numbered(t layout.DType, dims ...int64) array {
	a := array{dims: dims}
	for i := range count(dims) {
		var e []byte
		switch bits := t.Bits(); {
		case t == layout.String:
			e = fmt.Appendf(nil, "s%d", i)
		case t == layout.Bool:
			e = []byte{byte(i * 5 / 3 % 2)}
		case bits < 8:
			e = []byte{byte(i*7/3+1) & (1<<bits - 1)}
		default:
			for k := range bits / 8 {
				e = append(e, byte(int(i)*3+k*17+1))
			}
		}
		a.elems = append(a.elems, string(e))
	}
	return a
}

// numbers returns an int64 array.
func numbers(values ...int64) array {
	a := array{dims: []int64{int64(len(values))}}
	for _, v := range values {
		var e [8]byte
		for k := range e {
			e[k] = byte(v >> (8 * k))
		}
		a.elems = append(a.elems, string(e[:]))
	}
	return a
}

// upload returns a contiguous tensor with the elements of a. Strings are on
// tensor.Host where the device holds none.
func (a array) upload(tb testing.TB, s *tensor.Stream, t layout.DType) *tensor.Tensor {
	tb.Helper()
	if t == layout.String {
		if !s.Device().Info().Strings {
			s = tensor.Host() // as in a session
		}
		return held(tb)(tensor.FromSlice(s, a.elems, append([]int64{}, a.dims...)...))
	}
	var raw []byte
	if bits := t.Bits(); bits < 8 {
		raw = make([]byte, (len(a.elems)*bits+7)/8)
		for i, e := range a.elems {
			raw[i*bits/8] |= e[0] << (i * bits % 8)
		}
	} else {
		for _, e := range a.elems {
			raw = append(raw, e...)
		}
	}
	return held(tb)(tensor.FromBytes(s, t, raw, a.dims...))
}

// download reads a tensor of any layout.
func download(tb testing.TB, x *tensor.Tensor) array {
	tb.Helper()
	a := array{dims: x.Shape()}
	n, t := int(x.Count()), x.DType()
	if t == layout.String {
		var err error
		a.elems, err = tensor.Values[string](x)
		require.NoError(tb, err)
		return a
	}
	raw, err := x.Bytes()
	require.NoError(tb, err)
	bits := t.Bits()
	require.Len(tb, raw, (n*bits+7)/8)
	for i := range n {
		if bits < 8 {
			a.elems = append(a.elems, string([]byte{raw[i*bits/8] >> (i * bits % 8) & (1<<bits - 1)}))
		} else {
			a.elems = append(a.elems, string(raw[i*bits/8:][:bits/8]))
		}
	}
	return a
}

// same checks type, shape and every element.
func same(tb testing.TB, t layout.DType, want array, got *tensor.Tensor) {
	tb.Helper()
	require.Equal(tb, t, got.DType())
	have := download(tb, got)
	require.Equal(tb, fmt.Sprint(want.dims), fmt.Sprint([]int64(have.dims)))
	require.Equal(tb, len(want.elems), len(have.elems))
	if len(want.elems) > 0 {
		require.Equal(tb, want.elems, have.elems)
	}
}

// at returns an array of the given dims whose element at an index is a's at the
// index that from gives.
func (a array) at(dims []int64, from func(index, of []int64)) array {
	out := array{dims: dims}
	index, of := make([]int64, len(dims)), make([]int64, len(a.dims))
	for range count(dims) {
		from(index, of)
		at := int64(0)
		for i, d := range a.dims {
			at = at*d + of[i]
		}
		out.elems = append(out.elems, a.elems[at])
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < dims[i] {
				break
			}
			index[i] = 0
		}
	}
	return out
}

func (a array) reshape(dims ...int64) array { return array{dims, a.elems} }

func (a array) transpose(perm ...int64) array {
	dims := make([]int64, len(perm))
	for i, p := range perm {
		dims[i] = a.dims[p]
	}
	return a.at(dims, func(index, of []int64) {
		for i, p := range perm {
			of[p] = index[i]
		}
	})
}

// take keeps the listed indices of an axis.
func (a array) take(axis int, keep []int64) array {
	dims := append([]int64{}, a.dims...)
	dims[axis] = int64(len(keep))
	return a.at(dims, func(index, of []int64) {
		copy(of, index)
		of[axis] = keep[index[axis]]
	})
}

// views are the ways in which a test's input lies in memory.
var views = []string{"contiguous", "transposed", "strided"}

// uploadAs returns a tensor with the elements of a that lies in memory as said.
func (a array) uploadAs(tb testing.TB, s *tensor.Stream, t layout.DType, view string) *tensor.Tensor {
	tb.Helper()
	rank := len(a.dims)
	switch {
	case view == "transposed":
		reverse := make([]int64, rank)
		for i := range reverse {
			reverse[i] = int64(rank - 1 - i)
		}
		return held(tb)(a.transpose(reverse...).upload(tb, s, t).Transpose())
	case view == "strided" && rank > 0:
		// The last axis backwards, with something before and between.
		n := a.dims[rank-1]
		wide := append([]int64{}, a.dims...)
		wide[rank-1] = 2*n + 1
		padded := numbered(t, wide...)
		if n > 0 {
			padded = a.at(wide, func(index, of []int64) {
				copy(of, index)
				of[rank-1] = max(n-1-index[rank-1]/2, 0)
			})
		}
		x := padded.upload(tb, s, t)
		if n == 0 {
			return held(tb)(x.Slice(rank-1, 1, 1, 1))
		}
		return held(tb)(x.Slice(rank-1, 2*n-2, math.MinInt64, -2))
	}
	return a.upload(tb, s, t)
}
