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

func TestIota(t *testing.T) {
	for _, open := range streams {
		s := open(t)
		for axis := range 3 {
			want := ndarray.Each([]int64{2, 3, 4}, func(i []int64) string { return string([]byte{byte(i[axis]), 0}) })
			requireIs(t, want, keep(t)(tensor.Iota(s, layout.Int16, axis-3, 2, 3, 4)), axis)
		}
		for _, of := range layout.DTypes() {
			if of == layout.Bool || of == layout.String || of == layout.Complex64 || of == layout.Complex128 {
				continue
			}
			y := keep(t)(keep(t)(tensor.Iota(s, of, 0, 2)).Cast(layout.Float32, device.Rounding{}))
			got, err := tensor.Values[float32](y)
			require.NoError(t, err)
			want := []float32{0, 1}
			if of == layout.Float8E8M0 { // which has no 0
				want[0] = got[0]
			}
			require.Equal(t, want, got, of)
		}
		require.Zero(t, keep(t)(tensor.Iota(s, layout.Uint2, 0, 0)).Count())
		require.EqualValues(t, 4, keep(t)(tensor.Iota(s, layout.Uint2, 1, 1<<40, 4)).Dim(1), "rows cost nothing")
	}
	s := openCPU(t)
	for says, err := range map[string]error{
		"Iota of uint2: uint2 does not hold 4":              iota1(s, layout.Uint2, 0, 5),
		"int2 does not hold 2":                              iota1(s, layout.Int2, 0, 3),
		"uint8 does not hold 256":                           iota1(s, layout.Uint8, 1, 2, 257),
		"bool is not a type of numbers":                     iota1(s, layout.Bool, 0, 2),
		"Iota of int32: axis 1 is outside [-1,0] of rank 1": iota1(s, layout.Int32, 1, 2),
		"of rank 0":              iota1(s, layout.Int32, 0),
		"extent -1 of axis 0 is": iota1(s, layout.Int32, 0, -1),
	} {
		require.Error(t, err, says)
		require.ErrorContains(t, err, says)
	}
	require.ErrorIs(t, iota1(s, layout.Int64, 0, 1<<55), device.ErrOutOfMemory)
}

func iota1(s *tensor.Stream, of layout.DType, axis int, dims ...int64) error {
	_, err := tensor.Iota(s, of, axis, dims...)
	return err
}

// The index of each element along an axis.
func ExampleIota() {
	x, _ := tensor.Iota(tensor.Host(), layout.Int32, 1, 2, 3)
	defer x.Release()
	fmt.Println(x)
	// Output:
	// int32[2,3] on cpu:
	// [[0 1 2]
	//  [0 1 2]]
}
