// Package onednn has the reshape operations of the oneDNN Graph API on tensors:
// StaticReshape, whose shape is known when the graph is built, and
// DynamicReshape, whose shape is an input at run time.
//
// Both follow one rule for the shape: -1 stands for the extent that keeps the
// number of elements, and may occur once; 0 copies the extent of src at that position if
// specialZero is set, and is an empty axis otherwise, which cannot be combined with a -1. The
// example of oneDNN's documentation: src (3,4,5), shape (0,-1) and special_zero give (3,20).
package onednn

import (
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// StaticReshape gives src the extents in shape. The element types are f32, f16 and bf16. The
// result is a view where strides can express it, otherwise a contiguous copy.
func StaticReshape(src *tensor.Tensor, shape []int64, specialZero bool) (*tensor.Tensor, error) {
	return reshape("StaticReshape", src, shape, specialZero)
}

// DynamicReshape is StaticReshape with the shape in a tensor of one axis, of
// int32 or int64. Reading it is a transfer if it is not on the host.
func DynamicReshape(src, shape *tensor.Tensor, specialZero bool) (*tensor.Tensor, error) {
	const op = "DynamicReshape"
	if shape == nil {
		return nil, layout.Errorf(device.ErrInvalid, op, "shape is nil")
	}
	if t := shape.DType(); t != layout.Int32 && t != layout.Int64 || shape.Rank() != 1 {
		return nil, layout.Errorf(device.ErrInvalid, op, "shape is %v%v; it must be int32 or int64 with one axis", t, shape.Shape())
	}
	dims, err := shape.AppendInts(nil)
	if err != nil {
		return nil, layout.Named(op, err)
	}
	return reshape(op, src, dims, specialZero)
}

func reshape(op string, src *tensor.Tensor, shape []int64, specialZero bool) (*tensor.Tensor, error) {
	if src == nil {
		return nil, layout.Errorf(device.ErrInvalid, op, "src is nil")
	}
	switch src.DType() {
	case layout.Float32, layout.Float16, layout.BFloat16:
	default:
		return nil, layout.Errorf(device.ErrInvalid, op, "src is of type %v; oneDNN Graph allows f32, f16 and bf16", src.DType())
	}
	var in, out [8]int64 // enough for most: the call allocates the result only
	dims, err := layout.InferReshape(out[:0], op, src.AppendDims(in[:0]), shape, specialZero)
	if err != nil {
		return nil, layout.Named(fmt.Sprintf("%s of %v", op, src.DType()), err)
	}
	y, err := src.Reshape(dims...)
	if err != nil {
		return nil, layout.Named(fmt.Sprintf("%s of %v%v", op, src.DType(), src.Shape()), err)
	}
	return y, nil
}
