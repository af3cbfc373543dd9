package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "Identity", versions: []onnx.Opset{1, 13, 14, 16, 19, 21, 23, 24, 25},
		note:  "sequences from 14, optionals from 16",
		types: typesSince{1, 1, 1, 13, 19, 21, 23, 24, 25},
		form:  func(onnx.Opset) (onnx.Attrs, [][]int64) { return nil, nil },
		want:  func(a array) array { return a },
	})
}

// TestIdentityOfContainers: sequences from opset 14, optionals from 16, both of
// the types of opset 5 only, at every version.
func TestIdentityOfContainers(t *testing.T) {
	for _, typ := range layout.DTypes() {
		s := open(t)
		a, b := numbered(typ, 2, 3), numbered(typ, 4)
		x, y := upload(t, a, s, typ), upload(t, b, s, typ)
		seq := &onnx.Sequence{Elem: typ, Items: []onnx.Value{x, y}}
		for v := onnx.Opset(1); v <= onnx.MaxOpset; v++ {
			for _, c := range []struct {
				v     onnx.Value
				first onnx.Opset
			}{
				{seq, 14},
				{&onnx.Sequence{Elem: typ}, 14},
				{&onnx.Optional{Elem: typ, Value: x}, 16},
				{&onnx.Optional{Elem: typ, Value: seq}, 16},
				{&onnx.Optional{Elem: typ}, 16},
			} {
				out, err := onnx.Run("Identity", v, nil, c.v)
				switch {
				case v < c.first:
					require.ErrorIs(t, err, device.ErrInvalid)
					require.ErrorContains(t, err, "Identity allows it from opset")
				case typesSince{1, 1, 1, 13, 19, 21, 23, 24, 25}.of(typ) > 1:
					require.ErrorIs(t, err, device.ErrInvalid)
					require.ErrorContains(t, err, "ONNX takes tensors only")
				default:
					require.NoError(t, err)
					require.IsType(t, c.v, out[0])
					switch o := out[0].(type) {
					case *onnx.Sequence:
						require.Len(t, o.Items, len(c.v.(*onnx.Sequence).Items))
						for i, item := range o.Items {
							same(t, typ, []array{a, b}[i], item.(*tensor.Tensor))
						}
					case *onnx.Optional:
						if x, ok := o.Value.(*tensor.Tensor); ok {
							same(t, typ, a, x)
						}
						require.Equal(t, c.v.(*onnx.Optional).Value == nil, o.Value == nil)
					}
					require.NoError(t, out[0].Release())
				}
			}
		}
	}
}

// A container's items that were released give an error, and no half is kept.
func TestIdentityOfReleasedItems(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 2))
	gone, err := x.Alias()
	require.NoError(t, err)
	require.NoError(t, gone.Release())
	_, err = onnx.Run("Identity", 14, nil, &onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{x, gone}})
	require.ErrorIs(t, err, tensor.ErrReleased)
}
