package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestErrors: an error names the operator, the type, the shapes and the rule;
// nothing is taken up for it.
func TestErrors(t *testing.T) {
	for _, open := range streams {
		s := open(t)
		x := keep(t)(tensor.New(s, layout.Float32, 2, 3, 4))
		none := keep(t)(tensor.New(s, layout.Int4, 0, 3))
		before := s.Device().Stats()
		const huge = 1 << 40
		for _, c := range []struct {
			call func() (*tensor.Tensor, error)
			says []string
		}{
			{func() (*tensor.Tensor, error) { return tensor.FromSlice(s, []int8{1, 2}, 3) }, []string{"FromSlice of int8: ", "2 elements", "[3]"}},
			{func() (*tensor.Tensor, error) { return tensor.FromSlice(s, []int8{1, 2}, []int64{}...) }, []string{"FromSlice of int8: ", "2 elements", "[]"}},
			{func() (*tensor.Tensor, error) { return tensor.FromSlice(s, []int8{1}, huge, huge) }, []string{"FromSlice of int8: ", "[1099511627776,1099511627776]", "overflow"}},
			{func() (*tensor.Tensor, error) { return tensor.FromSlice(s, []int8{1}, huge, 2) }, []string{"FromSlice of int8: ", "1 elements"}},
			{func() (*tensor.Tensor, error) { return tensor.FromSlice(s, []int8{}, 0, huge, huge) }, []string{}},
			{func() (*tensor.Tensor, error) { return tensor.FromSlice(s, []int8{1}, -1) }, []string{"FromSlice of int8: ", "[-1]"}},
			{func() (*tensor.Tensor, error) { return tensor.FromSlice(s, []int8{1}, -1, -1) }, []string{"FromSlice of int8: ", "[-1,-1]"}},
			{func() (*tensor.Tensor, error) { return tensor.FromBytes(s, layout.Int4, []byte{1}, 3) }, []string{"FromBytes of int4: ", "1 bytes", "[3] takes 2"}},
			{func() (*tensor.Tensor, error) { return tensor.FromBytes(s, layout.Int4, []byte{1}, huge, huge) }, []string{"FromBytes of int4: ", "overflow"}},
			{func() (*tensor.Tensor, error) { return tensor.FromBytes(s, 77, []byte{1}, 1) }, []string{"FromBytes of dtype(77): "}},
			{func() (*tensor.Tensor, error) { return tensor.New(s, layout.Complex128, math.MaxInt64) }, []string{"New of complex128: ", "overflow"}},
			{func() (*tensor.Tensor, error) { return tensor.New(s, layout.Int8, 2, -2) }, []string{"New of int8: ", "[2,-2]"}},
			{func() (*tensor.Tensor, error) { return tensor.Empty(s, layout.Invalid, 2) }, []string{"Empty of dtype(0): "}},
			{func() (*tensor.Tensor, error) { return x.Reshape(5) }, []string{"Reshape of float[2,3,4]: ", "[5]", "24"}},
			{func() (*tensor.Tensor, error) { return x.Reshape() }, []string{"Reshape of float[2,3,4]: ", "[]"}},
			{func() (*tensor.Tensor, error) { return x.Reshape(-1, 2, -1) }, []string{"Reshape of float[2,3,4]: ", "[-1,2,-1]", "at most one"}},
			{func() (*tensor.Tensor, error) { return x.Reshape(-1, 5) }, []string{"Reshape of float[2,3,4]: ", "no multiple of 5"}},
			{func() (*tensor.Tensor, error) { return x.Reshape(-2, 12) }, []string{"Reshape of float[2,3,4]: ", "-2"}},
			{func() (*tensor.Tensor, error) { return none.Reshape(0, -1) }, []string{"Reshape of int4[0,3]: ", "-1"}},
			{func() (*tensor.Tensor, error) { return x.Reshape(huge, huge) }, []string{"Reshape of float[2,3,4]: ", "overflow"}},
			{func() (*tensor.Tensor, error) { return none.Reshape(1<<32, 1<<32) }, []string{"Reshape of int4[0,3]: ", "overflow"}},
			{func() (*tensor.Tensor, error) { return x.Reshape(-2) }, []string{"Reshape of float[2,3,4]: "}},
			{func() (*tensor.Tensor, error) { return x.Flatten(4) }, []string{"Flatten of float[2,3,4]: ", "axis 4", "[-3,3]"}},
			{func() (*tensor.Tensor, error) { return x.Transpose(0, 1) }, []string{"Transpose of float[2,3,4]: ", "each of the 3 axes once"}},
			{func() (*tensor.Tensor, error) { return x.Transpose(0, 1, 1) }, []string{"Transpose of float[2,3,4]: ", "axis 1 is listed twice"}},
			{func() (*tensor.Tensor, error) { return x.Transpose(0, 1, 3) }, []string{"Transpose of float[2,3,4]: ", "axis 3"}},
			{func() (*tensor.Tensor, error) { return x.Slice(3, 0, 1, 1) }, []string{"Slice of float[2,3,4]: ", "axis 3"}},
			{func() (*tensor.Tensor, error) { return x.Slice(0, 0, 1, 0) }, []string{"Slice of float[2,3,4]: ", "step"}},
			{func() (*tensor.Tensor, error) { return x.Expand(3, 3, 4) }, []string{"Expand of float[2,3,4]: ", "[3,3,4]"}},
			{func() (*tensor.Tensor, error) { return x.Expand(4) }, []string{"Expand of float[2,3,4]: ", "rank"}},
			{func() (*tensor.Tensor, error) { return x.Expand(huge, huge, 2, 3, 4) }, []string{"Expand of float[2,3,4]: ", "overflow"}},
			{func() (*tensor.Tensor, error) { return x.Squeeze(0) }, []string{"Squeeze of float[2,3,4]: ", "extent 2"}},
			{func() (*tensor.Tensor, error) { return x.Unsqueeze(5) }, []string{"Unsqueeze of float[2,3,4]: ", "axis 5"}},
			{func() (*tensor.Tensor, error) { return x.WithLayout("Identity", must(layout.Contiguous(25))) }, []string{"Identity of float[2,3,4]: ", "96"}},
			{func() (*tensor.Tensor, error) { return nil, x.ReadInto(make([]float32, 23)) }, []string{"ReadInto of float[2,3,4]: ", "92 bytes", "96"}},
			{func() (*tensor.Tensor, error) { return nil, x.ReadInto(make([]int32, 24)) }, []string{"ReadInto of float[2,3,4]: ", "[]int32"}},
			{func() (*tensor.Tensor, error) { return nil, x.ReadInto(make([]string, 24)) }, []string{"ReadInto of float[2,3,4]: ", "[]string"}},
			{func() (*tensor.Tensor, error) { return nil, x.ReadInto([24]float32{}) }, []string{"ReadInto of float[2,3,4]: ", "[24]float32"}},
			{func() (*tensor.Tensor, error) { return nil, x.ReadInto(nil) }, []string{"ReadInto of float[2,3,4]: ", "<nil>"}},
			{func() (*tensor.Tensor, error) { _, err := tensor.Values[int32](x); return nil, err }, []string{"Values of float[2,3,4]: ", "int32"}},
		} {
			y, err := c.call()
			if len(c.says) == 0 { // the exception
				require.NoError(t, err)
				require.NoError(t, y.Release())
				before.Uploads, before.Buffers = s.Device().Stats().Uploads, s.Device().Stats().Buffers
				continue
			}
			require.ErrorIs(t, err, device.ErrInvalid)
			for _, words := range c.says {
				require.ErrorContains(t, err, words)
			}
			require.Nil(t, y, err)
		}
		after := s.Device().Stats()
		require.Equal(t, before.Live, after.Live)
		require.Equal(t, before.Peak, after.Peak, "nothing was allocated, not even for a moment")
		require.Equal(t, before.Buffers, after.Buffers)
	}
	words := keep(t)(tensor.FromSlice(openCPU(t), []string{"a"}))
	require.ErrorIs(t, words.ReadInto(make([]byte, 1)), device.ErrInvalid)
	require.ErrorContains(t, words.ReadInto(make([]string, 2)), "ReadInto of string[1]: 2 strings of room are given; 1 are needed")
	_, err := words.Bytes()
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "Bytes of string[1]: ")
}

// TestAbsurdSizes: what asks for more than any machine has is an error, not a
// crash; also where only a broadcast makes it so large.
func TestAbsurdSizes(t *testing.T) {
	for _, open := range streams {
		s := open(t)
		for _, of := range []layout.DType{layout.Int8, layout.Int4, layout.String} {
			_, err := tensor.New(s, of, 1<<61)
			require.Error(t, err)
			require.ErrorContains(t, err, "New of "+of.String())
			if of != layout.String || s.IsHost() {
				require.ErrorIs(t, err, device.ErrOutOfMemory)
			}
		}
		x := keep(t)(keep(t)(tensor.FromSlice(s, []int8{1})).Expand(1 << 61))
		for name, call := range map[string]func() error{
			"Bytes":      func() error { _, err := x.Bytes(); return err },
			"Values":     func() error { _, err := tensor.Values[int8](x); return err },
			"Clone":      func() error { _, err := x.Clone(); return err },
			"Contiguous": func() error { _, err := x.Contiguous(); return err },
			"To":         func() error { _, err := x.To(openCPU(t)); return err },
			"Pack":       func() error { _, err := x.Pack(layout.Int2); return err },
		} {
			err := call()
			require.ErrorIs(t, err, device.ErrOutOfMemory, name)
			require.ErrorContains(t, err, name+" of int", name)
		}
		if s.IsHost() {
			w := keep(t)(keep(t)(tensor.FromSlice(s, []string{"a"})).Expand(1 << 61))
			_, err := tensor.Values[string](w)
			require.ErrorIs(t, err, device.ErrOutOfMemory)
		}
	}
}
