package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	gather := definition{inputs: arity{2, 2}, attrs: []string{"axis"}, single: 1 << 1, dataFirst: true, prepare: prepareGather("axis", gatherOf)}
	register("Gather", gather.versions(change{1, types5}, change{11, types5}, change{13, types13}))
	along := definition{inputs: arity{2, 2}, attrs: []string{"axis"}, dataFirst: true, prepare: prepareGather("axis", gatherElements)}
	register("GatherElements", along.versions(change{11, types5}, change{13, types13}))
	nd11 := definition{inputs: arity{2, 2}, dataFirst: true, prepare: prepareGather("batch_dims", gatherND)}
	nd12 := nd11
	nd12.attrs = []string{"batch_dims"}
	register("GatherND", nd11.versions(change{11, types5}), nd12.versions(change{12, types5}, change{13, types13}))
}

func gatherOf(d *definition, x, indices *tensor.Tensor, axis int64) (*tensor.Tensor, error) {
	at, err := d.indexed(x, indices, axis)
	if err != nil {
		return nil, err
	}
	return x.Gather(at, indices, layout.OutOfRangeError)
}

func gatherElements(d *definition, x, indices *tensor.Tensor, axis int64) (*tensor.Tensor, error) {
	at, err := d.indexed(x, indices, axis)
	if err != nil {
		return nil, err
	}
	return x.TakeAlong(at, indices, layout.OutOfRangeError)
}

// gatherND checks the conditions that ONNX adds to the tensor's GatherND: batch axes are
// allowed from opset 12.
func gatherND(d *definition, x, indices *tensor.Tensor, batchDims int64) (*tensor.Tensor, error) {
	if err := d.checkIndices(indices, layout.Int64); err != nil {
		return nil, err
	}
	if least := int64(min(x.Rank(), indices.Rank())); batchDims < 0 || batchDims > 0 && batchDims >= least {
		return nil, d.invalid("by %v: batch_dims is %d; it must not be negative, and less than both ranks", indices.Shape(), batchDims)
	}
	return x.GatherND(int(batchDims), indices, layout.OutOfRangeError)
}

// indexed checks that indices are given and that axis, which may count from the end in
// every version, is valid.
func (d *definition) indexed(x, indices *tensor.Tensor, axis int64) (int, error) {
	rank := x.Rank()
	at, err := d.axisFrom(axis, -int64(rank), rank, rank-1)
	if err != nil {
		return 0, err
	}
	return at, d.checkIndices(indices, layout.Int32, layout.Int64)
}

// checkIndices checks that indices have one of two types.
func (d *definition) checkIndices(indices *tensor.Tensor, types ...layout.DType) error {
	if t := indices.DType(); t != types[0] && t != types[len(types)-1] {
		allowed := types[0].String()
		if len(types) > 1 {
			allowed += " or " + types[1].String()
		}
		return d.invalid("indices are %v%v; they must be %s", t, indices.Shape(), allowed)
	}
	return nil
}

// picks returns input 0 and the indices, input 1. If only the indices are on a stream,
// input 0 is copied there, if the stream can hold strings: reading the indices back would
// mean waiting for them.
func (c *call) picks() (x, indices *tensor.Tensor, err error) {
	indices, ok := c.in[1].(*tensor.Tensor)
	if !ok {
		return nil, nil, c.d.invalid("indices are %s; they must be a tensor", describe(c.in[1]))
	}
	x = c.x
	if home := indices.Stream(); x.DType() != layout.String || home.Device().Info().Strings {
		x, err = c.bring(x, home)
	}
	return x, indices, err
}

// prepareGather prepares a gather with one attribute, 0 by default.
func prepareGather(attr string, apply func(d *definition, x, indices *tensor.Tensor, value int64) (*tensor.Tensor, error)) func(*definition, Attrs) (kernel, error) {
	return func(d *definition, attrs Attrs) (kernel, error) {
		value, err := attrs.IntOr(attr, 0)
		if err != nil {
			return nil, err
		}
		return func(c *call) error {
			x, indices, err := c.picks()
			if err != nil {
				return err
			}
			y, err := apply(d, x, indices, value)
			if err == nil && y.Verdict().Kind == tensor.Copy {
				c.moved(indices, y.Stream())
			}
			return c.set(y, err)
		}, nil
	}
}
