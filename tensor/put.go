package tensor

import (
	"errors"
	"fmt"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Put sets elements of t along an axis to those of src: the slice of src at an index of
// indices goes to the slice of t that it names. indices is an int32 or int64 tensor of
// any shape, which in src's shape takes the place of the axis, as in what Gather returns;
// src is of t's type. It writes to t, as CopyFrom does, and to every view of its memory.
// Negative indices count from the end.
//
// With layout.OutOfRangeError, an index out of range goes nowhere, and is device.ErrInvalid:
// at once, or from every read of t and of what is computed from it (see device.Queue). Other
// policies act on the device and without a wait: with layout.OutOfRangeSkip it is left out,
// with layout.OutOfRangeClamp and layout.OutOfRangeClampZero the nearest index in range
// takes its place. Of an axis without elements, see Gather.
//
// If several indices name one slice, each of its elements becomes one of theirs: on the
// cpu device the last one's (see device.Info's PutsInOrder). By another reduction than
// device.ReduceSet it becomes what that makes of it and of all that are put there, in
// row-major order: the same on every device. Sums and products of floats, and on OpenCL devices without
// atomic operations of 64 bits everything that is as wide, are worked out one after the
// other, at the speed of that.
//
//	err := sums.Put(0, segments, rows, device.ReduceAdd, layout.OutOfRangeError)
func (t *Tensor) Put(axis int, indices, src *Tensor, how device.Reduction, policy layout.OutOfRange) error {
	g, err := t.gatheringOf("Put", axis, indices)
	if err != nil {
		return err
	}
	return t.put(&g, indices, src, how, policy)
}

// PutAlong sets an element of t for each of indices, an int32 or int64 tensor of t's
// rank: the one at the same position on all axes but the given one, where the index names
// it, to the element of src at the position of the index. src has the shape of indices.
// On other axes than the given one that may be shorter than t. What Put says of its
// indices and the rest holds here, too. (ONNX ScatterElements-18, torch's scatter_)
func (t *Tensor) PutAlong(axis int, indices, src *Tensor, how device.Reduction, policy layout.OutOfRange) error {
	g, err := t.gatheringAlong("PutAlong", axis, indices)
	if err != nil {
		return err
	}
	return t.put(&g, indices, src, how, policy)
}

// PutND sets slices of t that tuples of indices name: the last axis of indices, an int32
// or int64 tensor, holds a tuple, with an index for each axis of t or for the first of
// them. src has the axes of indices but for the last, and then those of t that have no
// index. What Put says of its indices and the rest holds here, too. (ONNX ScatterND-18)
func (t *Tensor) PutND(indices, src *Tensor, how device.Reduction, policy layout.OutOfRange) error {
	g, err := t.gatheringND("PutND", 0, indices)
	if err != nil {
		return err
	}
	return t.put(&g, indices, src, how, policy)
}

// put writes src to the elements of t that a gathering would take.
func (t *Tensor) put(g *gathering, indices, src *Tensor, how device.Reduction, policy layout.OutOfRange) error {
	if err := g.setPolicy(policy); err != nil {
		return t.fail(g.op, err)
	}
	for _, x := range []*Tensor{t, indices, src} {
		if err := x.hold(g.op); err != nil {
			return err
		}
		defer x.memory.drop()
	}
	if err := t.putHeld(g, indices, src, how); err != nil {
		return layout.Named(fmt.Sprintf("%s to %v%v of %v%v by %v%v", g.op, t.dtype, t.layout.Shape(),
			src.dtype, src.layout.Shape(), indices.dtype, indices.layout.Shape()), err)
	}
	return nil
}

func (t *Tensor) putHeld(g *gathering, indices, src *Tensor, how device.Reduction) error {
	fail := func(format string, args ...any) error {
		return layout.Errorf(device.ErrInvalid, g.op, format, args...)
	}
	if src.dtype != t.dtype {
		return fail("the elements are %v, to be put to %v", src.dtype, t.dtype)
	}
	if src.stream.dev != t.stream.dev {
		return fail("the elements are on device %s, to be put to %s: To brings them there", src.stream.dev.Info().ID(), t.stream.dev.Info().ID())
	}
	if !slices.Equal(src.Shape(), g.shape) {
		return fail("the elements have the shape %v; %v is what the indices ask for", src.Shape(), layout.Shape(g.shape))
	}
	if err := g.checkExtents(indices); err != nil {
		return err
	}
	if src.Count() == 0 {
		return nil
	}
	dst := t.Operand()
	var err error
	if dst.Layout, err = layout.Strided(g.shape, g.strides, g.origin); err != nil {
		return err
	}
	at, free, err := t.indicesHere(g, indices)
	if err != nil {
		return err
	}
	if err = src.usedOn(t.stream); err == nil {
		err = t.stream.queue.Put(dst, src.Operand(), at, how, g.by...)
	}
	if err = errors.Join(err, free()); err != nil {
		return err
	}
	if t.stream.trace.Load() != nil {
		t.stream.report(g.op, Verdict{Kind: Copy, Bytes: bytesOf(t.dtype, src.Count()), Class: "put"}, t.dtype, &src.layout, &t.layout)
	}
	return nil
}

// SliceAt returns the slice of t with the given extents that begins at starts: an int32 or
// int64 tensor of one axis, with an index for each axis of t, which may be on the device
// and is not waited for. As in XLA's DynamicSlice, starts are clamped so that the slice
// lies within t: negative ones to 0. The result is a view if starts is on Host, and
// otherwise a copy.
func (t *Tensor) SliceAt(starts *Tensor, dims ...int64) (*Tensor, error) {
	g, err := t.gatheringAt("SliceAt", starts, dims)
	if err != nil {
		return nil, err
	}
	if len(dims) == 0 {
		return t.view(t.stream, g.op, &t.layout, nil)
	}
	return t.gather(&g, starts, layout.OutOfRangeClampZero)
}

// PutAt sets the slice of t that begins at starts, of src's extents, to src, as XLA's
// DynamicUpdateSlice does, but in place. What SliceAt says of starts holds here, too.
func (t *Tensor) PutAt(starts, src *Tensor) error {
	if src == nil {
		return nilTensor("PutAt")
	}
	g, err := t.gatheringAt("PutAt", starts, src.Shape())
	if err != nil {
		return err
	}
	if src.Rank() == 0 {
		return t.CopyFrom(src)
	}
	return t.put(&g, starts, src, device.ReduceSet, layout.OutOfRangeClampZero)
}

// PutSlices sets a slice of each of t's parts along axis 0 to that of src: in part i, the one
// that begins at starts[i] along another axis. starts is an int32 or int64 tensor of one axis,
// with a start for each part, which may be on the device and is not waited for; src has t's
// extents but along axis, where it may be shorter. A start at which the slice does not lie
// within t, a negative one too, is an error as layout.OutOfRangeStrict says. (ONNX
// TensorScatter-24, linear)
func (t *Tensor) PutSlices(axis int, starts, src *Tensor) error {
	const op = "PutSlices"
	at, err := t.checkIndexed(op, axis, starts)
	if err != nil {
		return err
	}
	fail := func(format string, args ...any) error {
		return t.fail(op, layout.Errorf(device.ErrInvalid, op, format, args...))
	}
	if src == nil {
		return nilTensor(op)
	}
	if at == 0 {
		return fail("axis 0 has the parts: the slices must be along another")
	}
	if starts.Rank() != 1 || starts.Dim(0) != t.Dim(0) {
		return fail("starts have the shape %v; there must be one for each of the %d parts", starts.Shape(), t.Dim(0))
	}
	dims := src.Shape()
	if len(dims) != t.Rank() {
		return fail("the slices have the shape %v: it must have as many axes", dims)
	}
	for i, n := range dims {
		if n > t.Dim(i) || n < t.Dim(i) && i != at {
			return fail("the slices have the shape %v: it may differ along axis %d only, where it may be shorter", dims, at)
		}
	}
	g := gathering{op: op, origin: t.layout.Offset(), shape: dims, strides: t.layout.Strides(), axes: make([]int, len(dims)), last: -1}
	for i := 1; i < len(dims); i++ {
		g.axes[i] = -1
	}
	g.by = []layout.Index{{Extent: t.Dim(at) - dims[at] + 1, Stride: g.strides[at]}}
	return t.put(&g, starts, src, device.ReduceSet, layout.OutOfRangeStrict)
}

// gatheringAt is where the elements of a slice lie that begins where indices say.
func (t *Tensor) gatheringAt(op string, starts *Tensor, dims []int64) (gathering, error) {
	if err := t.checkIndices(op, starts); err != nil {
		return gathering{}, err
	}
	fail := func(format string, args ...any) (gathering, error) {
		return gathering{}, t.fail(op, layout.Errorf(device.ErrInvalid, op, format, args...))
	}
	if len(dims) != t.Rank() {
		return fail("a slice of extents %v; there must be one for each axis", layout.Shape(dims))
	}
	if starts.Rank() != 1 || starts.Dim(0) != int64(len(dims)) {
		return fail("starts have the shape %v; there must be one for each axis", starts.Shape())
	}
	g := gathering{op: op, origin: t.layout.Offset(), shape: slices.Clone(dims), strides: t.layout.Strides(), axes: make([]int, len(dims))}
	for i, n := range dims {
		if n < 0 || n > t.layout.Dim(i) {
			return fail("a slice of extents %v: on axis %d it must be in [0,%d]", layout.Shape(dims), i, t.layout.Dim(i))
		}
		g.axes[i] = -1
		g.by = append(g.by, layout.Index{Extent: t.layout.Dim(i) - n + 1, Stride: g.strides[i], OutOfRange: layout.OutOfRangeClampZero})
	}
	return g, nil
}
