package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestForbidCopies: what copies silently is refused, and takes no memory; what
// moves elements by name is not.
func TestForbidCopies(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s, other := open(t), openCPU(t)
			x, _ := fill(t, s, layout.Int32, 1, 4, 6)
			strided := keep(t)(x.Transpose())
			ints := keep(t)(keep(t)(x.Slice(0, 0, 1, 1)).Reshape(6))
			everySecond := keep(t)(ints.Slice(0, 0, 6, 2))
			nibbles, _ := fill(t, s, layout.Int4, 1, 9)
			odd := keep(t)(nibbles.Slice(0, 3, 8, 1))
			bytes, _ := fill(t, s, layout.Int8, 1, 4)
			s.ForbidCopies(true)

			type calls map[string]func() (*tensor.Tensor, error)
			nothing := func(err error) (*tensor.Tensor, error) { return nil, err }
			for name, call := range (calls{
				"Reshape":      func() (*tensor.Tensor, error) { return strided.Reshape(-1) },
				"Flatten":      func() (*tensor.Tensor, error) { return strided.Flatten(0) },
				"Contiguous":   func() (*tensor.Tensor, error) { return strided.Contiguous() },
				"To":           func() (*tensor.Tensor, error) { return strided.To(other) },
				"To of odd":    func() (*tensor.Tensor, error) { return odd.To(other) },
				"ReadInto":     func() (*tensor.Tensor, error) { return nothing(strided.ReadInto(make([]int32, 24))) },
				"Bytes":        func() (*tensor.Tensor, error) { _, err := strided.Bytes(); return nil, err },
				"Bytes of odd": func() (*tensor.Tensor, error) { _, err := odd.Bytes(); return nil, err },
				"Values":       func() (*tensor.Tensor, error) { _, err := tensor.Values[int32](strided); return nil, err },
			}) {
				before, beforeOther := s.Device().Stats(), other.Device().Stats()
				y, err := call()
				require.ErrorIs(t, err, tensor.ErrCopy, name)
				require.ErrorIs(t, err, device.ErrUnsupported, name)
				require.NotErrorIs(t, err, device.ErrInvalid, name)
				require.Nil(t, y, name)
				require.Equal(t, before, s.Device().Stats(), name)
				require.Equal(t, beforeOther, other.Device().Stats(), name)
			}
			_, err := strided.Reshape(24)
			require.EqualError(t, err, "Reshape of int32[6,4]: [6,4]:{1,6}+0 to [24] cannot be a view, and copies are forbidden on this stream")

			for name, call := range (calls{
				"FromSlice":    func() (*tensor.Tensor, error) { return tensor.FromSlice(s, []int8{1}) },
				"FromBytes":    func() (*tensor.Tensor, error) { return tensor.FromBytes(s, layout.Int8, []byte{1}, 1) },
				"New":          func() (*tensor.Tensor, error) { return tensor.New(s, layout.Int8, 1) },
				"Empty":        func() (*tensor.Tensor, error) { return tensor.Empty(s, layout.Int8, 1) },
				"Clone":        func() (*tensor.Tensor, error) { return strided.Clone() },
				"Unpack":       func() (*tensor.Tensor, error) { return odd.Unpack() },
				"Pack":         func() (*tensor.Tensor, error) { return bytes.Pack(layout.Int2) },
				"To":           func() (*tensor.Tensor, error) { return x.To(other) },
				"To, a view":   func() (*tensor.Tensor, error) { return strided.To(s) },
				"ReadInto":     func() (*tensor.Tensor, error) { return nothing(x.ReadInto(make([]int32, 24))) },
				"Bytes":        func() (*tensor.Tensor, error) { _, err := x.Bytes(); return nil, err },
				"Values":       func() (*tensor.Tensor, error) { _, err := tensor.Values[int32](x); return nil, err },
				"AppendInts":   func() (*tensor.Tensor, error) { _, err := ints.AppendInts(nil); return nil, err },
				"String":       func() (*tensor.Tensor, error) { _ = strided.String(); return nil, nil },
				"Reshape":      func() (*tensor.Tensor, error) { return x.Reshape(-1) },
				"Contiguous":   func() (*tensor.Tensor, error) { return x.Contiguous() },
				"Contiguous 2": func() (*tensor.Tensor, error) { return odd.Contiguous() },
				"Transpose":    func() (*tensor.Tensor, error) { return x.Transpose() },
			}) {
				y, err := call()
				require.NoError(t, err, name)
				require.NoError(t, y.Release(), name)
			}
			require.NoError(t, everySecond.CopyFrom(keep(t)(ints.Slice(0, 1, 6, 2))))
			_, err = everySecond.AppendInts(nil)
			if s.IsHost() {
				require.NoError(t, err, "read in place")
			} else {
				require.ErrorIs(t, err, tensor.ErrCopy)
			}

			s.ForbidCopies(false)
			keep(t)(strided.Reshape(-1))
		})
	}
}
