package tensor_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestBitcast: the bytes of a contiguous tensor are the same as any type, and nothing
// moves.
func TestBitcast(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			x, _ := fill(t, s, layout.Int32, 1, 3, 5)
			packed, err := x.Bytes()
			require.NoError(t, err)
			for _, to := range layout.DTypes() {
				if to == layout.String || to == layout.Bool || to.Bits() > 32 {
					continue
				}
				before := s.Device().Stats()
				y := keep(t)(x.Bitcast(to))
				require.Equal(t, tensor.View, y.Verdict().Kind)
				require.Equal(t, before, s.Device().Stats())
				dims := []int64{3, 5}
				if n := int64(32 / to.Bits()); n > 1 {
					dims = append(dims, n)
				}
				requireIs(t, ndarray.OfBytes(to, packed, dims...), y, to)
				requireIs(t, ndarray.OfBytes(layout.Int32, packed, 3, 5), keep(t)(y.Bitcast(layout.Int32)), to)
			}
			// Columns of words are nibbles at other strides, and back.
			columns := keep(t)(keep(t)(x.Slice(1, 1, 5, 2)).Transpose())
			nibbles := keep(t)(columns.Bitcast(layout.Uint4))
			require.Equal(t, "[2,3,8]:{16,40,1}+8", nibbles.Layout().String())
			requireIs(t, contents(t, columns), keep(t)(nibbles.Bitcast(layout.Int32)))
		})
	}
}

func TestBitcastToTheSameWidth(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			x := keep(t)(tensor.FromSlice(open(t), []float32{1, -2.5, 3.75, 0}, 2, 2))
			y := keep(t)(keep(t)(x.Transpose()).Bitcast(layout.Int32))
			require.Equal(t, tensor.View, y.Verdict().Kind)
			require.Equal(t, layout.Int32, y.DType())
			got, err := tensor.Values[int32](y)
			require.NoError(t, err)
			require.Equal(t, []int32{0x3f800000, 0x40700000, -0x3fe00000, 0}, got)
			for _, to := range []layout.DType{layout.Complex128, layout.String, layout.Invalid, 99} {
				_, err := x.Bitcast(to)
				require.ErrorIs(t, err, device.ErrInvalid, "%v", to)
			}
		})
	}
}

func TestBitcastErrors(t *testing.T) {
	s := openCPU(t)
	x := keep(t)(tensor.New(s, layout.Uint4, 4, 8))
	words := keep(t)(tensor.New(s, layout.Int32, 3))
	strs := keep(t)(tensor.New(s, layout.String, 2))
	reversed := keep(t)(x.Flip(1))
	for _, c := range []struct {
		x    *tensor.Tensor
		to   layout.DType
		kind error
		says string
	}{
		{x, layout.Int64, device.ErrInvalid, "Bitcast of uint4[4,8]: [4,8]: the last axis must have extent 16, the parts of a wider element"},
		{words, layout.Int64, device.ErrInvalid, "the last axis must have extent 2"},
		{reversed, layout.Int32, device.ErrUnsupported, "a contiguous copy has them"},
		{x, layout.String, device.ErrInvalid, "to string: strings have no bits to share"},
		{strs, layout.Int8, device.ErrInvalid, "strings have no bits to share"},
		{x, 77, device.ErrInvalid, "dtype(77) is not an element type"},
	} {
		_, err := c.x.Bitcast(c.to)
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, c.says)
	}
	keep(t)(keep(t)(reversed.Contiguous()).Bitcast(layout.Int32))
}

// Words of packed weights as the nibbles in them: no bytes move.
func ExampleTensor_Bitcast() {
	x, _ := tensor.FromSlice(tensor.Host(), []int32{0x76543210, 0x01234567}, 1, 2)
	defer x.Release()
	y, _ := x.Bitcast(layout.Uint4)
	defer y.Release()
	fmt.Println(y.Verdict(), y)
	// Output:
	// view uint4[1,2,8] on cpu:
	// [[[0 1 2 3 4 5 6 7]
	//   [7 6 5 4 3 2 1 0]]]
}
