package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestBits: a stream of codes of 3 bits becomes bytes, and bytes a stream.
func TestBits(t *testing.T) {
	s, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	const n = 40
	codes, stream := make([]byte, n), make([]byte, n*3/8)
	for i := range n {
		codes[i] = byte(i*5) & 7
		for k := range 3 {
			stream[(3*i+k)/8] |= codes[i] >> k & 1 << ((3*i + k) % 8)
		}
	}
	must := func(x *tensor.Tensor, err error) *tensor.Tensor {
		require.NoError(t, err)
		return x
	}
	low := func(x *tensor.Tensor) *tensor.Tensor {
		return must(must(x.Bitcast(layout.Bit)).Slice(1, 0, 3, 1))
	}
	packed := must(tensor.FromBytes(s, layout.Bit, stream, n, 3))
	wide := must(tensor.New(s, layout.Uint8, n))
	require.NoError(t, low(wide).CopyFrom(packed))
	got, err := wide.Bytes()
	require.NoError(t, err)
	assert.Equal(t, codes, got)

	back := must(tensor.New(s, layout.Bit, n, 3))
	require.NoError(t, back.CopyFrom(low(wide)))
	got, err = back.Bytes()
	require.NoError(t, err)
	assert.Equal(t, stream, got)
	assert.Contains(t, must(tensor.FromBytes(s, layout.Bit, []byte{5}, 3)).String(), "[1 0 1]")

	_, err = packed.Cast(layout.Uint8, device.Rounding{})
	require.ErrorIs(t, err, device.ErrUnsupported)
	_, err = wide.Cast(layout.Bit, device.Rounding{})
	require.ErrorIs(t, err, device.ErrUnsupported)
	index := must(tensor.FromSlice(s, []int32{1, 0}, 2))
	_, err = packed.Gather(0, index, layout.OutOfRangeError)
	require.ErrorIs(t, err, device.ErrUnsupported)
}
