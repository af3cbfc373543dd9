package tensor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// An array is what a tensor must be: its elements in row-major order, each as
// the bytes of one element (or as the string). Its operations walk every index.
type array struct {
	dims  []int64
	elems []string
}

// each calls visit with every index of the extents, in row-major order. The
// index is visit's to keep.
func each(dims []int64, visit func(index []int64)) {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	for i := range n {
		index := make([]int64, len(dims))
		for axis := len(dims) - 1; axis >= 0; axis-- {
			index[axis] = i % dims[axis]
			i /= dims[axis]
		}
		visit(index)
	}
}

func (a array) at(index []int64) string {
	p := int64(0)
	for axis, i := range index {
		p = p*a.dims[axis] + i
	}
	return a.elems[p]
}

// gather makes an array whose element at an index is a's at from(index).
func (a array) gather(dims []int64, from func(index []int64) []int64) array {
	out := array{dims: dims}
	each(dims, func(index []int64) { out.elems = append(out.elems, a.at(from(index))) })
	return out
}

func (a array) transpose(perm []int) array {
	dims := make([]int64, len(perm))
	for i, p := range perm {
		dims[i] = a.dims[p]
	}
	return a.gather(dims, func(index []int64) []int64 {
		from := make([]int64, len(perm))
		for i, p := range perm {
			from[p] = index[i]
		}
		return from
	})
}

// slice takes the steps of Python's range over an axis.
func (a array) slice(axis int, start, end, step int64) array {
	dim := a.dims[axis]
	if start < 0 {
		start += dim
	}
	if end < 0 {
		end += dim
	}
	var taken []int64
	if step > 0 {
		for i := max(start, 0); i < min(end, dim); i += step {
			taken = append(taken, i)
		}
	} else {
		for i := min(start, dim-1); i > max(end, -1); i += step {
			taken = append(taken, i)
		}
	}
	dims := append([]int64{}, a.dims...)
	dims[axis] = int64(len(taken))
	return a.gather(dims, func(index []int64) []int64 {
		index[axis] = taken[index[axis]]
		return index
	})
}

func (a array) expand(dims []int64) array {
	lead := len(dims) - len(a.dims)
	return a.gather(dims, func(index []int64) []int64 {
		index = index[lead:]
		for i, d := range a.dims {
			if d == 1 {
				index[i] = 0
			}
		}
		return index
	})
}

func (a array) reshape(dims []int64) array { return array{dims, a.elems} }

// fill makes a tensor and the array that it must be.
func fill(t *testing.T, s *tensor.Stream, of layout.DType, seed uint64, dims ...int64) (*tensor.Tensor, array) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, uint64(of)))
	n, err := layout.Shape(dims).Count()
	require.NoError(t, err)
	a := array{dims: append([]int64{}, dims...)}
	if of == layout.String {
		strs := make([]string, n)
		for i := range strs {
			strs[i] = fmt.Sprintf("%c%d", 'a'+rng.IntN(26), i)
		}
		a.elems = strs
		if dims == nil {
			dims = []int64{}
		}
		return keep(t)(tensor.FromSlice(s, strs, dims...)), a
	}
	size, err := layout.Shape(dims).Bytes(of)
	require.NoError(t, err)
	packed := make([]byte, size)
	for i := range packed {
		packed[i] = byte(rng.Uint32())
		if of == layout.Bool {
			packed[i] &= 1
		}
	}
	a.elems = unpack(packed, of, n)
	return keep(t)(tensor.FromBytes(s, of, packed, dims...)), a
}

// unpack splits packed elements.
func unpack(packed []byte, of layout.DType, n int64) []string {
	var elems []string
	width := int64(of.Bits())
	for i := range n {
		if width >= 8 {
			elems = append(elems, string(packed[i*width/8:(i+1)*width/8]))
			continue
		}
		b := packed[i*width/8] >> (i * width % 8) & (1<<width - 1)
		elems = append(elems, string([]byte{b}))
	}
	return elems
}

// contents reads a tensor.
func contents(t *testing.T, x *tensor.Tensor) array {
	t.Helper()
	a := array{dims: append([]int64{}, x.Shape()...)}
	if x.DType() == layout.String {
		strs, err := tensor.Values[string](x)
		require.NoError(t, err)
		a.elems = append(a.elems, strs...)
		return a
	}
	packed, err := x.Bytes()
	require.NoError(t, err)
	if used := x.Count() * int64(x.DType().Bits()) % 8; used != 0 {
		require.Zero(t, packed[len(packed)-1]>>used, "bits after the last element")
	}
	a.elems = unpack(packed, x.DType(), x.Count())
	return a
}

func requireIs(t *testing.T, want array, x *tensor.Tensor, args ...any) {
	t.Helper()
	got := contents(t, x)
	require.Equal(t, fmt.Sprint(want.dims), fmt.Sprint(got.dims), args...)
	require.Equal(t, append([]string{}, want.elems...), append([]string{}, got.elems...), args...)
}

// keep passes on a tensor that a call must have made, and releases it when the
// test ends.
func keep(t *testing.T) func(*tensor.Tensor, error) *tensor.Tensor {
	t.Helper()
	return func(x *tensor.Tensor, err error) *tensor.Tensor {
		t.Helper()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, x.Release()) })
		return x
	}
}
