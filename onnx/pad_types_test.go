package onnx_test

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

// sincePad is since of Pad, which took numbers before it took the others.
func sincePad(t layout.DType) onnx.Opset {
	switch t {
	case layout.Bool, layout.String, layout.Complex64, layout.Complex128, layout.BFloat16:
		return 13
	case layout.Float16, layout.Float32, layout.Float64:
		return 1
	case layout.Float8E4M3FN, layout.Float8E4M3FNUZ, layout.Float8E5M2, layout.Float8E5M2FNUZ, layout.Int4, layout.Uint4:
		return 21
	case layout.Float4E2M1:
		return 23
	case layout.Float8E8M0:
		return 24
	case layout.Int2, layout.Uint2:
		return 25
	}
	return 11
}

// sinceFixed is since of operators that never got types of opset 19 and later.
func sinceFixed(op string, t layout.DType) onnx.Opset {
	switch {
	case t > layout.BFloat16:
		return 0
	case op == "ReverseSequence" && t == layout.BFloat16:
		return 28
	}
	return map[string]onnx.Opset{"Trilu": 14, "CenterCropPad": 18, "ReverseSequence": 10}[op]
}

func init() { typeCases = append(typeCases, padCases...) }

var padCases = []typeCase{
	{
		op: "Pad",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.Pad(x, v, onnx.PadReflect, []int64{0, 0, 1, 2, 0, 0, 0, 1}, nil, nil)
		},
		form: func(v onnx.Opset) (onnx.Attrs, [][]int64) {
			mode, pads := onnx.Attr{Name: "mode", Value: "reflect"}, []int64{0, 0, 1, 2, 0, 0, 0, 1}
			switch {
			case v < 2:
				return onnx.Attrs{mode, onnx.Ints("paddings", pads...)}, nil
			case v < 11:
				return onnx.Attrs{mode, onnx.Ints("pads", pads...)}, nil
			}
			return onnx.Attrs{mode}, [][]int64{pads}
		},
		want: func(a array) array { return a.padded(onnx.PadReflect, []int64{0, 0, 1, 2, 0, 0, 0, 1}, "") },
	},
	{
		op: "Trilu",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.Trilu(x, v, false, 1)
		},
		form: func(onnx.Opset) (onnx.Attrs, [][]int64) { return onnx.Attrs{onnx.Int("upper", 0)}, [][]int64{{1}} },
		want: func(a array) array { return a.trilu(false, 1, zeroLike(a)) },
	},
	{
		op: "CenterCropPad",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.CenterCropPad(x, v, []int64{2, 5}, []int64{-1, 2})
		},
		form: func(onnx.Opset) (onnx.Attrs, [][]int64) {
			return onnx.Attrs{onnx.Ints("axes", -1, 2)}, [][]int64{{2, 5}}
		},
		want: func(a array) array {
			return a.padded(onnx.PadConstant, []int64{0, 0, 1, -1, 0, 0, 1, -1}, zeroLike(a))
		},
	},
	{
		op: "ReverseSequence",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.ReverseSequence(x, v, 1, 0, []int64{2})
		},
		form: func(onnx.Opset) (onnx.Attrs, [][]int64) { return nil, [][]int64{{2}} },
		want: func(a array) array { return a.take(0, []int64{1, 0}) },
	},
}
