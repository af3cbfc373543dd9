package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestDequantize: codes of 4 bits in blocks of four along the last axis, and a scale,
// a zero point and a minimum for each block.
func TestDequantize(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			keep := keep(t)
			codes := keep(tensor.FromBytes(s, layout.Uint4, []byte{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe}, 2, 2, 4))
			scale := keep(tensor.FromSlice(s, []float32{1, 2, .5, -1}, 2, 2, 1))
			zero := keep(tensor.FromBytes(s, layout.Uint4, []byte{0x21, 0x08}, 2, 2, 1))
			least := keep(tensor.FromSlice(s, []float32{10, 20}, 2, 1, 1))

			out := keep(codes.Dequantize(layout.Float32, tensor.Scaling{Scale: scale, Zero: zero}))
			require.Equal(t, tensor.Verdict{Kind: tensor.Copy, Bytes: 64, Class: "scale"}, out.Verdict())
			got, err := tensor.Values[float32](out)
			require.NoError(t, err)
			require.Equal(t, []float32{-1, 0, 1, 2, 4, 6, 8, 10, 0, .5, 1, 1.5, -12, -13, -14, -15}, got)
			out = keep(codes.Dequantize(layout.Float32, tensor.Scaling{Scale: scale, Add: least, Subtract: true}))
			got, err = tensor.Values[float32](out)
			require.NoError(t, err)
			require.Equal(t, []float32{-10, -9, -8, -7, -2, 0, 2, 4, -16, -15.5, -15, -14.5, -32, -33, -34, -35}, got)

			// And back, to codes in the places of others.
			whole := keep(tensor.New(s, layout.Uint4, 2, 2, 8))
			part := keep(whole.Slice(2, 2, 6, 1))
			values := keep(codes.Dequantize(layout.Float16, tensor.Scaling{Scale: scale, Zero: zero}))
			require.NoError(t, values.QuantizeInto(part, tensor.Quantization{Scale: scale, Zero: zero}))
			raw, err := whole.Bytes()
			require.NoError(t, err)
			require.Equal(t, []byte{0, 0x10, 0x32, 0, 0, 0x54, 0x76, 0, 0, 0x98, 0xba, 0, 0, 0xdc, 0xfe, 0}, raw)

			// What is out of range is the nearest code; halves are rounded to even ones.
			floats := keep(tensor.FromSlice(s, []float32{-3, .5, 1.5, 2.5, 99, 14.6}, 6))
			one := keep(tensor.FromSlice(s, []float32{1}))
			q := keep(floats.Quantize(layout.Uint4, tensor.Quantization{Scale: one}))
			raw, err = q.Bytes()
			require.NoError(t, err)
			require.Equal(t, []byte{0x00, 0x22, 0xff}, raw)
		})
	}
}

// TestBlocks: blocks along any axis, with elements at their end that fill none, are what
// each of their elements with a term of its own is.
func TestBlocks(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			keep := keep(t)
			for _, size := range []int64{1, 2, 3, 5, 7, 8} {
				for axis := range 3 {
					dims := []int64{3, 7, 4}
					n := (dims[axis] + size - 1) / size
					few := append([]int64(nil), dims...)
					few[axis] = n
					codes, _ := fill(t, s, layout.Int8, uint64(size), dims...)
					scale, _ := fill(t, s, layout.Float16, 2, few...)
					least, _ := fill(t, s, layout.BFloat16, 3, few...)
					got := keep(codes.Dequantize(layout.Float32, tensor.Scaling{Scale: scale, Add: least, Blocks: tensor.Blocks{Axis: axis - 3, Size: size}}))
					each := make([]int64, dims[axis])
					for i := range each {
						each[i] = int64(i) / size
					}
					at := keep(tensor.FromSlice(s, each))
					want := keep(codes.Dequantize(layout.Float32, tensor.Scaling{Scale: keep(scale.Gather(axis, at, layout.OutOfRangeError)), Add: keep(least.Gather(axis, at, layout.OutOfRangeError))}))
					requireIs(t, contents(t, want), got, "axis %d, size %d", axis, size)
					back := tensor.Quantization{Scale: scale, Blocks: tensor.Blocks{Axis: axis, Size: size}}
					for _, x := range []*tensor.Tensor{codes, scale, least} {
						require.NoError(t, x.Release())
					}
					_, err := got.Quantize(layout.Int4, back)
					require.ErrorIs(t, err, tensor.ErrReleased)
				}
			}
			x := keep(tensor.New(s, layout.Int8, 4, 6))
			one := keep(tensor.New(s, layout.Float32, 4, 2))
			for says, blocks := range map[string]tensor.Blocks{
				"the scale has the shape [4,2], which does not expand to [4,3]": {Axis: 1, Size: 2},
				"blocks of -1 elements": {Axis: 1, Size: -1},
				"axis 2 is outside":     {Axis: 2, Size: 3},
			} {
				_, err := x.Dequantize(layout.Float32, tensor.Scaling{Scale: one, Blocks: blocks})
				require.ErrorIs(t, err, device.ErrInvalid)
				require.ErrorContains(t, err, says)
			}
			empty := keep(tensor.New(s, layout.Int8, 4, 0))
			none := keep(tensor.New(s, layout.Float32, 4, 0))
			require.Zero(t, keep(empty.Dequantize(layout.Float32, tensor.Scaling{Scale: none, Blocks: tensor.Blocks{Axis: 1, Size: 2}})).Count())
		})
	}
}

func TestDequantizeErrors(t *testing.T) {
	s, other := openCPU(t), openFake(t)
	keep := keep(t)
	codes := keep(tensor.New(s, layout.Int8, 2, 6))
	scale := keep(tensor.New(s, layout.Float32, 2, 1))
	there := keep(tensor.New(other, layout.Float32, 2, 1))
	long := keep(tensor.New(s, layout.Float32, 2, 3))
	wide := keep(tensor.New(s, layout.Float32, 3, 2, 6))
	text := keep(tensor.New(s, layout.String, 2, 6))
	for _, c := range []struct {
		to   layout.DType
		by   tensor.Scaling
		want string
	}{
		{layout.Float32, tensor.Scaling{}, "there is no scale"},
		{layout.Float32, tensor.Scaling{Scale: long}, "the scale has the shape [2,3], which does not expand to [2,6]"},
		{layout.Float32, tensor.Scaling{Scale: wide}, "the scale has the shape [3,2,6]"},
		{layout.Float32, tensor.Scaling{Scale: scale, Zero: long}, "the zero point has the shape"},
		{layout.Float32, tensor.Scaling{Scale: there}, "the scale on device fake:3, the result on cpu: To brings them there"},
		{layout.Float32, tensor.Scaling{Scale: codes}, "which is no type for it"},
		{layout.Int8, tensor.Scaling{Scale: scale}, "the result must be float16, bfloat16, float or double"},
		{layout.String, tensor.Scaling{Scale: scale}, "string is no type of numbers"},
		{layout.Invalid, tensor.Scaling{Scale: scale}, "is no type of numbers"},
	} {
		_, err := codes.Dequantize(c.to, c.by)
		require.ErrorIs(t, err, device.ErrInvalid)
		assert.ErrorContains(t, err, "Dequantize of int8[2,6]")
		assert.ErrorContains(t, err, c.want)
	}
	_, err := text.Dequantize(layout.Float32, tensor.Scaling{Scale: scale})
	require.ErrorIs(t, err, device.ErrInvalid)
	require.ErrorContains(t, codes.DequantizeInto(long, tensor.Scaling{Scale: scale}), "the shapes differ")
	require.NoError(t, scale.Release())
	_, err = codes.Dequantize(layout.Float32, tensor.Scaling{Scale: scale})
	require.ErrorIs(t, err, tensor.ErrReleased)
}
