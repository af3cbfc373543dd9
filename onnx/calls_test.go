package onnx_test

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// Operators by name, with Go arguments. An input that is a list, or a number, is on
// tensor.Host; a nil one is left out.

func call(op string, v onnx.Opset, attrs onnx.Attrs, inputs ...any) (*tensor.Tensor, error) {
	out, err := calls(op, v, attrs, inputs...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

func calls(op string, v onnx.Opset, attrs onnx.Attrs, inputs ...any) ([]*tensor.Tensor, error) {
	var in []onnx.Value
	given := 0
	for i, x := range inputs {
		var list *tensor.Tensor
		var err error
		switch x := x.(type) {
		case *tensor.Tensor:
			in = append(in, x)
			if x != nil || i == 0 {
				given = i + 1
			}
			continue
		case []int64:
			if x == nil {
				in = append(in, nil)
				continue
			}
			list, err = tensor.FromHost(x)
		case []bool:
			list, err = tensor.FromHost(x, int64(len(x)))
		case int64:
			list, err = tensor.FromHost([]int64{x})
		}
		if err != nil {
			return nil, err
		}
		defer list.Release()
		in, given = append(in, list), i+1
	}
	out, err := onnx.Run(op, v, attrs, in[:given]...)
	if err != nil {
		return nil, err
	}
	var xs []*tensor.Tensor
	for _, y := range out {
		xs = append(xs, y.(*tensor.Tensor))
	}
	return xs, nil
}

func runBitCast(x *tensor.Tensor, v onnx.Opset, to layout.DType) (*tensor.Tensor, error) {
	return call("BitCast", v, onnx.Attrs{onnx.Int("to", int64(to))}, x)
}

func runCast(x *tensor.Tensor, v onnx.Opset, to layout.DType, attrs ...onnx.Attr) (*tensor.Tensor, error) {
	return call("Cast", v, append(onnx.Attrs{onnx.Int("to", int64(to))}, attrs...), x)
}

func runCastLike(x, like *tensor.Tensor, v onnx.Opset, attrs ...onnx.Attr) (*tensor.Tensor, error) {
	return call("CastLike", v, attrs, x, like)
}

func runCenterCropPad(x *tensor.Tensor, v onnx.Opset, shape, axes []int64) (*tensor.Tensor, error) {
	return call("CenterCropPad", v, onnx.Attrs{onnx.Ints("axes", axes...)}, x, append([]int64{}, shape...))
}

func runCompress(x *tensor.Tensor, v onnx.Opset, conditions []bool, axis *int64) (*tensor.Tensor, error) {
	var attrs onnx.Attrs
	if axis != nil {
		attrs = onnx.Attrs{onnx.Int("axis", *axis)}
	}
	return call("Compress", v, attrs, x, conditions)
}

func runConcat(v onnx.Opset, axis int64, xs ...*tensor.Tensor) (*tensor.Tensor, error) {
	in := make([]onnx.Value, len(xs))
	for i, x := range xs {
		in[i] = x
	}
	out, err := onnx.Run("Concat", v, onnx.Attrs{onnx.Int("axis", axis)}, in...)
	if err != nil {
		return nil, err
	}
	return out[0].(*tensor.Tensor), nil
}

func runConstantOfShape(v onnx.Opset, shape []int64, value *model.Tensor) (*tensor.Tensor, error) {
	var attrs onnx.Attrs
	if value != nil {
		attrs = onnx.Attrs{{Name: "value", Value: value}}
	}
	return call("ConstantOfShape", v, attrs, append([]int64{}, shape...))
}

func runDepthToSpace(x *tensor.Tensor, v onnx.Opset, blocksize int64, mode string) (*tensor.Tensor, error) {
	return call("DepthToSpace", v, blockAttrs(blocksize, mode), x)
}

func runSpaceToDepth(x *tensor.Tensor, v onnx.Opset, blocksize int64, mode string) (*tensor.Tensor, error) {
	return call("SpaceToDepth", v, blockAttrs(blocksize, mode), x)
}

func blockAttrs(blocksize int64, mode string) onnx.Attrs {
	attrs := onnx.Attrs{onnx.Int("blocksize", blocksize)}
	if mode != "" {
		attrs = append(attrs, str("mode", mode))
	}
	return attrs
}

func runDequantizeLinear(x *tensor.Tensor, v onnx.Opset, scale, zero *tensor.Tensor, attrs ...onnx.Attr) (*tensor.Tensor, error) {
	return call("DequantizeLinear", v, attrs, x, scale, zero)
}

func runQuantizeLinear(x *tensor.Tensor, v onnx.Opset, scale, zero *tensor.Tensor, attrs ...onnx.Attr) (*tensor.Tensor, error) {
	return call("QuantizeLinear", v, attrs, x, scale, zero)
}

func runExpand(x *tensor.Tensor, v onnx.Opset, shape []int64) (*tensor.Tensor, error) {
	return call("Expand", v, nil, x, shape)
}

func runEyeLike(x *tensor.Tensor, v onnx.Opset, attrs ...onnx.Attr) (*tensor.Tensor, error) {
	return call("EyeLike", v, attrs, x)
}

func runGather(x *tensor.Tensor, v onnx.Opset, indices *tensor.Tensor, axis int64) (*tensor.Tensor, error) {
	return call("Gather", v, onnx.Attrs{onnx.Int("axis", axis)}, x, indices)
}

func runOneHot(indices *tensor.Tensor, v onnx.Opset, depth int64, values *tensor.Tensor, axis int64) (*tensor.Tensor, error) {
	return call("OneHot", v, onnx.Attrs{onnx.Int("axis", axis)}, indices, depth, values)
}

func runPad(x *tensor.Tensor, v onnx.Opset, mode tensor.PadMode, pads, axes []int64, value *tensor.Tensor) (*tensor.Tensor, error) {
	attrs := onnx.Attrs{str("mode", string(mode))}
	switch {
	case v < 2:
		return call("Pad", v, append(attrs, onnx.Ints("paddings", pads...)), x)
	case v < 11:
		return call("Pad", v, append(attrs, onnx.Ints("pads", pads...)), x)
	}
	return call("Pad", v, attrs, x, pads, value, axes)
}

func runReverseSequence(x *tensor.Tensor, v onnx.Opset, batch, time int64, lengths []int64) (*tensor.Tensor, error) {
	return call("ReverseSequence", v, onnx.Attrs{onnx.Int("batch_axis", batch), onnx.Int("time_axis", time)}, x, lengths)
}

func reductionAttrs(how device.Reduction, attrs ...onnx.Attr) onnx.Attrs {
	if how != device.ReduceSet {
		attrs = append(attrs, str("reduction", how.String()))
	}
	return attrs
}

func runScatterElements(x *tensor.Tensor, v onnx.Opset, indices, updates *tensor.Tensor, axis int64, how device.Reduction) (*tensor.Tensor, error) {
	return call("ScatterElements", v, reductionAttrs(how, onnx.Int("axis", axis)), x, indices, updates)
}

func runScatterND(x *tensor.Tensor, v onnx.Opset, indices, updates *tensor.Tensor, how device.Reduction) (*tensor.Tensor, error) {
	return call("ScatterND", v, reductionAttrs(how), x, indices, updates)
}

func runSize(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) { return call("Size", v, nil, x) }

func runIdentity(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
	return call("Identity", v, nil, x)
}

func runSlice(x *tensor.Tensor, v onnx.Opset, starts, ends, axes, steps []int64) (*tensor.Tensor, error) {
	if v < 10 {
		return call("Slice", v, onnx.Attrs{onnx.Ints("starts", starts...), onnx.Ints("ends", ends...), onnx.Ints("axes", axes...)}, x)
	}
	return call("Slice", v, nil, x, starts, ends, axes, steps)
}

func runTensorScatter(cache, update *tensor.Tensor, v onnx.Opset, indices []int64, axis int64, circular bool) (*tensor.Tensor, error) {
	attrs := onnx.Attrs{onnx.Int("axis", axis)}
	if circular {
		attrs = append(attrs, str("mode", "circular"))
	}
	return call("TensorScatter", v, attrs, cache, update, indices)
}

func runTile(x *tensor.Tensor, v onnx.Opset, repeats []int64) (*tensor.Tensor, error) {
	return call("Tile", v, nil, x, append([]int64{}, repeats...))
}

func runTranspose(x *tensor.Tensor, v onnx.Opset, perm []int64) (*tensor.Tensor, error) {
	return call("Transpose", v, onnx.Attrs{onnx.Ints("perm", perm...)}, x)
}

func runTrilu(x *tensor.Tensor, v onnx.Opset, upper bool, k int64) (*tensor.Tensor, error) {
	attrs := onnx.Attrs{onnx.Int("upper", 0)}
	if upper {
		attrs = nil
	}
	return call("Trilu", v, attrs, x, k)
}

func runWhere(cond, x, y *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
	return call("Where", v, nil, cond, x, y)
}
