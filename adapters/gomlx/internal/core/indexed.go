package core

import (
	"slices"

	"github.com/pkg/errors"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Gather reads windows of an array at indices, which must be integers.
func Gather(indices Array, vectorAxis int, offsetAxes, collapsed, startMap, sizes []int) (*Node, error) {
	n := Fallback("Gather")
	if !isInteger(indices.DType) {
		return nil, errors.Errorf("restride: Gather: indices of shape %s; integers are wanted", indices.Shape)
	}
	if len(startMap) > 0 && len(startMap) <= device.MaxIndices {
		n.kind = onDevice
		n.fill = func(dst *tensor.Tensor, in []*tensor.Tensor) error {
			at, err := integers(in[1])
			if err != nil {
				return err
			}
			defer at.Release()
			w := windows{vectorAxis: vectorAxis, windowAxes: offsetAxes, dropped: collapsed, axes: startMap, sizes: sizes}
			return w.take(dst, in[0], at)
		}
	}
	return n, nil
}

func isInteger(t layout.DType) bool {
	kind := numeric.KindOf(t)
	return kind == numeric.IntKind || kind == numeric.UintKind
}

// integers returns indices as int32 or int64.
func integers(x *tensor.Tensor) (*tensor.Tensor, error) {
	if x.DType() == layout.Int32 {
		return x.Alias()
	}
	return x.Cast(layout.Int64, device.Rounding{})
}

// windows are the windows that XLA's Gather reads from an array: one of fixed sizes for each
// vector of indices, which are its start, clamped so that it lies within the array.
type windows struct {
	vectorAxis int   // of the indices: the axis of a vector; their rank: each index is one
	windowAxes []int // of the result: the axes of a window, in order
	dropped    []int // of the array: the axes that the result does not have
	axes       []int // of the array: the axes that a vector's indices are for
	sizes      []int // of a window, for each axis of the array
}

// take sets dst to the windows of x.
func (w *windows) take(dst, x, at *tensor.Tensor) error {
	src, named := x.Operand(), at.Operand()
	dims, err := dst.Shape(), error(nil)
	if named.Layout, err = w.starts(dims, at.Layout()); err != nil {
		return err
	}
	by := w.indices(src.Layout, at.Layout())
	if src.Layout, err = w.origins(dims, src.Layout); err != nil {
		return err
	}
	return dst.Stream().Queue().Take(dst.Operand(), src, named, by...)
}

// origins returns the place, in the array, of the elements of a result whose indices are 0.
func (w *windows) origins(dims layout.Shape, of layout.Layout) (layout.Layout, error) {
	strides := make([]int64, len(dims))
	k := 0
	for i := range of.Rank() {
		if !slices.Contains(w.dropped, i) {
			strides[w.windowAxes[k]] = of.Stride(i)
			k++
		}
	}
	return layout.Strided(dims, strides, of.Offset())
}

// starts returns the place of the first index for each element of a result.
func (w *windows) starts(dims layout.Shape, at layout.Layout) (layout.Layout, error) {
	strides := make([]int64, len(dims))
	axis := 0
	for i := range strides {
		if slices.Contains(w.windowAxes, i) {
			continue
		}
		if axis == w.vectorAxis {
			axis++
		}
		strides[i] = at.Stride(axis)
		axis++
	}
	return layout.Strided(dims, strides, at.Offset())
}

func (w *windows) indices(of, at layout.Layout) []layout.Index {
	between := int64(0)
	if w.vectorAxis < at.Rank() {
		between = at.Stride(w.vectorAxis)
	}
	by := make([]layout.Index, len(w.axes))
	for i, axis := range w.axes {
		by[i] = layout.Index{
			Offset: int64(i) * between, Stride: of.Stride(axis),
			Extent:     of.Dim(axis) - int64(w.sizes[axis]) + 1,
			OutOfRange: layout.OutOfRangeClampZero,
		}
	}
	return by
}
