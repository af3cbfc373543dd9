package ndarray

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Upload returns a contiguous tensor with the elements of a. Strings are on [tensor.Host] if
// the device does not hold strings, like in a session.
func (a Array) Upload(s *tensor.Stream, t layout.DType) (*tensor.Tensor, error) {
	if t == layout.String {
		if !s.Device().Info().Strings {
			s = tensor.Host()
		}
		return tensor.FromSlice(s, a.Elems, append([]int64{}, a.Dims...)...)
	}
	return tensor.FromBytes(s, t, a.Bytes(t), a.Dims...)
}

// Views are the memory layouts for UploadAs.
var Views = []string{"contiguous", "transposed", "strided"}

// UploadAs returns a tensor with the elements of a in the given memory layout.
func (a Array) UploadAs(s *tensor.Stream, t layout.DType, view string) (*tensor.Tensor, error) {
	rank := len(a.Dims)
	switch {
	case view == "transposed":
		reverse := make([]int64, rank)
		for i := range reverse {
			reverse[i] = int64(rank - 1 - i)
		}
		return viewed(a.Transpose(reverse...), s, t, func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Transpose() })
	case view == "strided" && rank > 0:
		// The last axis backwards, with other elements before and between.
		n := a.Dims[rank-1]
		wide := slices.Clone(a.Dims)
		wide[rank-1] = 2*n + 1
		padded := Numbered(t, wide...)
		if n == 0 {
			return viewed(padded, s, t, func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Slice(rank-1, 1, 1, 1) })
		}
		padded = a.From(wide, func(index, of []int64) {
			copy(of, index)
			of[rank-1] = max(n-1-index[rank-1]/2, 0)
		})
		return viewed(padded, s, t, func(x *tensor.Tensor) (*tensor.Tensor, error) {
			return x.Slice(rank-1, 2*n-2, math.MinInt64, -2)
		})
	}
	return a.Upload(s, t)
}

// viewed is a view of an array's tensor.
func viewed(a Array, s *tensor.Stream, t layout.DType, view func(*tensor.Tensor) (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	x, err := a.Upload(s, t)
	if err != nil {
		return nil, err
	}
	y, err := view(x)
	return y, errors.Join(err, x.Release())
}

// Download reads a tensor of any layout.
func Download(x *tensor.Tensor) (Array, error) {
	a := Array{Dims: x.Shape()}
	t := x.DType()
	if t == layout.String {
		var err error
		a.Elems, err = tensor.Values[string](x)
		return a, err
	}
	raw, err := x.Bytes()
	if err != nil {
		return a, err
	}
	used := Count(a.Dims) * int64(t.Bits())
	if want := (used + 7) / 8; int64(len(raw)) != want {
		return a, fmt.Errorf("%d bytes of %v%v, want %d", len(raw), t, a.Dims, want)
	}
	if used%8 != 0 && raw[len(raw)-1]>>(used%8) != 0 {
		return a, fmt.Errorf("bits after the last element of %v%v", t, a.Dims)
	}
	return OfBytes(t, raw, a.Dims...), nil
}

// Compare returns an error unless a tensor has type, extents and elements of a.
func (a Array) Compare(t layout.DType, x *tensor.Tensor) error {
	if x.DType() != t {
		return fmt.Errorf("type %v, want %v", x.DType(), t)
	}
	if !slices.Equal(x.Shape(), a.Dims) {
		return fmt.Errorf("shape %v, want %v", x.Shape(), a.Dims)
	}
	got, err := Download(x)
	if err != nil {
		return err
	}
	if len(got.Elems) != len(a.Elems) {
		return fmt.Errorf("%d elements, want %d", len(got.Elems), len(a.Elems))
	}
	for i, want := range a.Elems {
		if got.Elems[i] != want {
			return fmt.Errorf("%v%v: element %d is %q, want %q", t, a.Dims, i, got.Elems[i], want)
		}
	}
	return nil
}
