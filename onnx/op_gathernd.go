package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	v11 := definition{inputs: arity{2, 2}, dataFirst: true, prepare: prepareGather("batch_dims", gatherND)}
	v12 := v11
	v12.attrs = []string{"batch_dims"}
	register("GatherND", "`batch_dims` from 12", v11.versions(change{11, types5}), v12.versions(change{12, types5}, change{13, types13}))
}

// GatherND takes slices of x that tuples of indices name (ONNX GatherND-11 to
// -13). The last axis of indices, an int64 tensor, holds a tuple: an index for each
// axis of x from batchDims on, or for the first of them. The batchDims axes before
// must be the same on both sides, and are walked together; from opset 12 there may
// be some. An index lies in [-n, n-1], where n is its axis's extent. Results and
// errors are those of tensor.Tensor.Gather.
func GatherND(x *tensor.Tensor, v Opset, indices *tensor.Tensor, batchDims int64) (*tensor.Tensor, error) {
	return one("GatherND", v, x, func(d *definition) (*tensor.Tensor, error) {
		if batchDims != 0 && d.since < 12 {
			return nil, d.invalid("%d batch axes are given; GatherND has them from opset 12", batchDims)
		}
		return gatherND(d, x, indices, batchDims)
	})
}

func gatherND(d *definition, x, indices *tensor.Tensor, batchDims int64) (*tensor.Tensor, error) {
	if err := d.checkIndices(indices, layout.Int64); err != nil {
		return nil, err
	}
	if least := int64(min(x.Rank(), indices.Rank())); batchDims < 0 || batchDims > 0 && batchDims >= least {
		return nil, d.invalid("by %v: batch_dims is %d; it must not be negative, and less than both ranks", indices.Shape(), batchDims)
	}
	return x.GatherNDAs(d.name, int(batchDims), indices)
}
