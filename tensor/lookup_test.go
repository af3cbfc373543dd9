package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func TestMap(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			codes := keep(t)(tensor.FromBytes(s, layout.Uint4, []byte{0x10, 0x32, 0xfe}, 2, 3))
			levels := make([]float32, 32)
			for i := range levels {
				levels[i] = float32(i) / 2
			}
			table := keep(t)(tensor.FromSlice(s, levels))
			every := keep(t)(table.Slice(0, 0, 32, 2)) // a table with gaps is made contiguous
			y := keep(t)(keep(t)(codes.Transpose()).Lookup(every))
			require.Equal(t, "[3,2]", y.Shape().String())
			require.Equal(t, tensor.Verdict{Kind: tensor.Copy, Bytes: 24, Class: "map"}, y.Verdict())
			got, err := tensor.Values[float32](y)
			require.NoError(t, err)
			require.Equal(t, []float32{0, 3, 1, 14, 2, 15}, got)

			flips := make([]byte, 256)
			for i := range flips {
				flips[i] = byte(i) ^ 0x88
			}
			signed := keep(t)(tensor.FromSlice(s, []int8{-1, 0, 17}))
			back, err := tensor.Values[uint8](keep(t)(signed.Lookup(keep(t)(tensor.FromSlice(s, flips)))))
			require.NoError(t, err)
			require.Equal(t, []uint8{0x77, 0x88, 0x99}, back)
		})
	}
}

func TestMapErrors(t *testing.T) {
	s, other := openCPU(t), openFake(t)
	x := keep(t)(tensor.FromSlice(s, []uint8{1, 2}))
	wide := keep(t)(tensor.FromSlice(s, []int16{1, 2}))
	table := keep(t)(tensor.New(s, layout.Float32, 256))
	for _, c := range []struct {
		x, table *tensor.Tensor
		says     string
	}{
		{wide, table, "elements have 16 bits; a table is for 2 to 8"},
		{x, keep(t)(tensor.New(s, layout.Float32, 16)), "for elements of 8 bits it has the shape [256]"},
		{x, keep(t)(tensor.New(s, layout.Float64, 256)), "a table has elements of 2 to 32 bits"},
		{x, keep(t)(tensor.New(other, layout.Float32, 256)), "To brings it there"},
		{x, nil, "there is no table"},
		{nil, table, "the tensor is nil"},
	} {
		_, err := c.x.Lookup(c.table)
		require.ErrorIs(t, err, device.ErrInvalid, c.says)
		require.ErrorContains(t, err, c.says)
	}
}
