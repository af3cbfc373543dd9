package gorgonia

import (
	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"

	gt "gorgonia.org/tensor"
)

// Host is an engine over the tensors' own memory, which the garbage collector frees: arithmetic
// is tensor.StdEng's, and moves of elements are Restride's. StdEng handles tensors of strings
// and pointers, and those with masks.
type Host struct{ gt.StdEng }

// Transpose moves the elements of a tensor after T; Dense.Transpose calls it.
func (e Host) Transpose(t gt.Tensor, strides []int) error {
	const op = "Transpose"
	all, foreign, err := e.operands(op, t)
	switch {
	case err != nil:
		return err
	case foreign:
		return e.StdEng.Transpose(t, strides)
	}
	return transpose(e, op, all[0], strides)
}

// Materialize returns a contiguous copy of a view or a tensor after T, and any other tensor
// unchanged. Dense.Materialize does not call it.
func (e Host) Materialize(t gt.Tensor) (gt.Tensor, error) {
	const op = "Materialize"
	all, foreign, err := e.operands(op, t)
	switch {
	case err != nil:
		return nil, err
	case foreign:
		return all[0].Materialize(), nil
	case !all[0].IsMaterializable():
		return t, nil
	}
	return either(materialize(e, op, all[0]))
}

// Concat joins tensors along an axis; Dense.Concat, Hstack and Vstack call it.
func (e Host) Concat(t gt.Tensor, axis int, others ...gt.Tensor) (gt.Tensor, error) {
	const op = "Concat"
	all, foreign, err := e.operands(op, append([]gt.Tensor{t}, others...)...)
	switch {
	case err != nil:
		return nil, err
	case foreign:
		return e.own(e.StdEng.Concat(t, axis, others...))
	}
	return either(concat(e, op, axis, all))
}

// StackDense joins tensors of one shape along a new axis; Dense.Stack calls it.
func (e Host) StackDense(t gt.DenseTensor, axis int, others ...gt.DenseTensor) (gt.DenseTensor, error) {
	const op = "Stack"
	all, foreign, err := e.operands(op, tensors(t, others)...)
	if err != nil {
		return nil, err
	}
	if foreign {
		out, err := e.StdEng.StackDense(t, axis, others...)
		if err == nil {
			gt.WithEngine(e)(out)
		}
		return out, err
	}
	out, err := stack(e, op, axis, all)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Repeat repeats the elements along an axis: each as often as repeats says, which may be
// one number for all. Dense.Repeat calls it.
func (e Host) Repeat(t gt.Tensor, axis int, repeats ...int) (gt.Tensor, error) {
	const op = "Repeat"
	all, foreign, err := e.operands(op, t)
	switch {
	case err != nil:
		return nil, err
	case foreign:
		return e.own(e.StdEng.Repeat(t, axis, repeats...))
	}
	return either(repeat(e, op, all[0], axis, repeats))
}

// RepeatReuse is Repeat to the memory of another tensor.
func (e Host) RepeatReuse(t, reuse gt.Tensor, axis int, repeats ...int) (gt.Tensor, error) {
	const op = "RepeatReuse"
	all, foreign, err := e.operands(op, t, reuse)
	switch {
	case err != nil:
		return nil, err
	case foreign:
		return e.StdEng.RepeatReuse(t, reuse, axis, repeats...)
	}
	return either(repeatInto(e, op, all[1], all[0], axis, repeats))
}

// operands returns tensors as Dense ones, and whether StdEng must do the work.
func (e Host) operands(op string, ts ...gt.Tensor) (all []*gt.Dense, foreign bool, err error) {
	if all, err = denses(op, ts...); err != nil {
		return nil, false, err
	}
	for i, t := range all {
		if !t.IsNativelyAccessible() {
			return nil, false, layout.Errorf(device.ErrInvalid, op, "tensor %d is not in the host's memory: its engine is a %T", i, t.Engine())
		}
	}
	_, plain := typeOf(all[0].Dtype())
	return all, !plain || masked(all...), nil
}

// own changes the engine of a result from StdEng to e.
func (e Host) own(t gt.Tensor, err error) (gt.Tensor, error) {
	if err != nil {
		return nil, err
	}
	gt.WithEngine(e)(t)
	return t, nil
}

func (Host) stream() *tensor.Stream { return tensor.Host() }

func (Host) memory(_ string, t *gt.Dense) (device.Buffer, int64, error) {
	return cpu.Wrap(t.Raw), 0, nil
}

func (e Host) empty(op string, of gt.Dtype, shape gt.Shape) (*gt.Dense, error) {
	n, err := bytesOf(op, of, shape)
	if err == nil {
		err = budget.Process().Take(op, n) // an error where make would end the program
	}
	if err != nil {
		return nil, err
	}
	defer budget.Process().Give(n)
	return gt.NewDense(of, shape, gt.WithEngine(e)), nil
}

// bytesOf returns the number of bytes of a shape's elements.
func bytesOf(op string, of gt.Dtype, shape gt.Shape) (int64, error) {
	dt, ok := typeOf(of)
	if !ok {
		return 0, layout.Errorf(device.ErrUnsupported, op, "elements of type %v are not bits alone", of)
	}
	n, err := layout.ShapeOf(shape...).Bytes(dt)
	return n, layout.Named(op, err)
}

// tensors returns those of a stack as one slice.
func tensors(t gt.DenseTensor, others []gt.DenseTensor) []gt.Tensor {
	all := []gt.Tensor{t}
	for _, o := range others {
		all = append(all, o)
	}
	return all
}

// either prevents a nil *Dense from becoming a non-nil Tensor.
func either(t *gt.Dense, err error) (gt.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}
