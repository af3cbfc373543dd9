package tensor_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestNil: what is nil is an error wherever one is returned, not a panic.
func TestNil(t *testing.T) {
	s := openCPU(t)
	x := keep(t)(tensor.FromSlice(s, []float32{1, 2}))
	indices := keep(t)(tensor.FromSlice(s, []int64{0}))
	l := x.Layout()
	var none *tensor.Tensor
	var nowhere *tensor.Stream
	only := func(_ any, err error) error { return err }
	for name, call := range map[string]func() error{
		"NewStream":          func() error { return only(tensor.NewStream(nil)) },
		"New":                func() error { return only(tensor.New(nil, layout.Int8, 1)) },
		"New of strings":     func() error { return only(tensor.New(nil, layout.String, 1)) },
		"Empty":              func() error { return only(tensor.Empty(nil, layout.Int8, 1)) },
		"FromSlice":          func() error { return only(tensor.FromSlice(nil, []int8{1})) },
		"FromBytes":          func() error { return only(tensor.FromBytes(nil, layout.Int8, []byte{1})) },
		"BorrowBuffer":       func() error { return only(tensor.BorrowBuffer(nil, x.Buffer(), layout.Float32, l)) },
		"OwnBuffer, buffer":  func() error { return only(tensor.OwnBuffer(s, nil, layout.Float32, l)) },
		"Assemble":           func() error { return only(tensor.Assemble(nil, "op", layout.Int8, []int64{1}, tensor.Part{})) },
		"Stream.Wait":        func() error { return nowhere.Wait() },
		"Stream.WaitContext": func() error { return nowhere.WaitContext(context.Background()) },
		"Iota":               func() error { return only(tensor.Iota(nil, layout.Int8, 0, 1)) },
		"nil.PermuteInPlace": func() error { return only(none.PermuteInPlace(0)) },
		"Stream.Launch":      func() error { return nowhere.Launch(nil, device.Dim3{}, device.Dim3{}) },
		"Stream.Close":       func() error { return nowhere.Close() },

		"To":               func() error { return only(x.To(nil)) },
		"CopyFrom":         func() error { return x.CopyFrom(nil) },
		"Gather":           func() error { return only(x.Gather(0, nil, layout.OutOfRangeError)) },
		"TakeAlong":        func() error { return only(x.TakeAlong(0, nil, layout.OutOfRangeError)) },
		"GatherND":         func() error { return only(x.GatherND(0, nil, layout.OutOfRangeError)) },
		"ReadInto":         func() error { return x.ReadInto(nil) },
		"nil.Values":       func() error { return only(tensor.Values[float32](nil)) },
		"nil.Transpose":    func() error { return only(none.Transpose()) },
		"nil.Transpose, 1": func() error { return only(none.Transpose(0)) },
		"nil.Slice":        func() error { return only(none.Slice(0, 0, 1, 1)) },
		"nil.Expand":       func() error { return only(none.Expand(1)) },
		"nil.Squeeze":      func() error { return only(none.Squeeze()) },
		"nil.Unsqueeze":    func() error { return only(none.Unsqueeze(0)) },
		"nil.Alias":        func() error { return only(none.Alias()) },
		"nil.Reshape":      func() error { return only(none.Reshape(1)) },
		"nil.Reshape, -1":  func() error { return only(none.Reshape(-1)) },
		"nil.Flatten":      func() error { return only(none.Flatten(0)) },
		"nil.Contiguous":   func() error { return only(none.Contiguous()) },
		"nil.Clone":        func() error { return only(none.Clone()) },
		"nil.WithLayout":   func() error { return only(none.WithLayout("op", l)) },
		"nil.Unpack":       func() error { return only(none.Unpack()) },
		"nil.Pack":         func() error { return only(none.Pack(layout.Int4)) },
		"nil.Cast":         func() error { return only(none.Cast(layout.Int8, device.Rounding{})) },
		"Concat":           func() error { return only(tensor.Concat(0, x, nil)) },
		"Stack":            func() error { return only(tensor.Stack(0, x, nil)) },
		"nil.Split":        func() error { return only(none.Split(0, 1)) },
		"nil.Flip":         func() error { return only(none.Flip()) },
		"nil.Tile":         func() error { return only(none.Tile(1)) },
		"nil.Repeat":       func() error { return only(none.Repeat(0, 1)) },
		"nil.Pad":          func() error { return only(none.Pad(tensor.PadConstant, nil, tensor.Padding{})) },
		"nil.Bitcast":      func() error { return only(none.Bitcast(layout.Int32)) },
		"nil.To":           func() error { return only(none.To(s)) },
		"nil.CopyFrom":     func() error { return none.CopyFrom(x) },
		"nil.Gather":       func() error { return only(none.Gather(0, indices, layout.OutOfRangeError)) },
		"nil.TakeAlong":    func() error { return only(none.TakeAlong(0, indices, layout.OutOfRangeError)) },
		"nil.GatherND":     func() error { return only(none.GatherND(0, indices, layout.OutOfRangeError)) },
		"nil.ReadInto":     func() error { return none.ReadInto(make([]float32, 2)) },
		"nil.Bytes":        func() error { return only(none.Bytes()) },
		"nil.AppendInts":   func() error { return only(none.AppendInts(nil)) },
		"nil.Overwrite":    func() error { return only(none.Overwrite("op", tensor.Part{})) },
		"WriteTo":          func() error { return only(x.WriteTo(nil)) },
		"nil.WriteTo":      func() error { return only(none.WriteTo(io.Discard)) },
		"nil.Strings": func() (last error) {
			for _, err := range none.Strings() {
				last = err
			}
			return last
		},
		"nil.Format": func() error { return only(none.Format()) },

		"nil.Dequantize":     func() error { return only(none.Dequantize(layout.Float32, tensor.Scaling{Scale: x})) },
		"nil.DequantizeInto": func() error { return none.DequantizeInto(x, tensor.Scaling{Scale: x}) },
		"DequantizeInto":     func() error { return x.DequantizeInto(nil, tensor.Scaling{Scale: x}) },
		"nil.QuantizeBlocks": func() error {
			codes, _, err := none.QuantizeBlocks(layout.Int8, layout.Float16, 1)
			return only(codes, err)
		},
		"nil.Quantize":     func() error { return only(none.Quantize(layout.Int8, tensor.Quantization{Scale: x})) },
		"nil.QuantizeInto": func() error { return none.QuantizeInto(x, tensor.Quantization{Scale: x}) },
		"QuantizeInto":     func() error { return x.QuantizeInto(nil, tensor.Quantization{Scale: x}) },
	} {
		assert.NotPanics(t, func() {
			err := call()
			assert.ErrorIs(t, err, device.ErrInvalid, name)
		}, name)
	}
	require.Nil(t, tensor.Adopt(nil, s.Queue()))
	require.Nil(t, tensor.Adopt(s.Device(), nil))
	require.NoError(t, none.Release())
	require.Equal(t, "<nil>", none.String())
}
