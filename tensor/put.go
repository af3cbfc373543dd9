package tensor

import (
	"errors"
	"fmt"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Put writes slices of src to slices of t along an axis: each index of indices selects the slice
// of t for its slice of src. indices is an int32 or int64 tensor of any shape, whose axes replace
// the axis in src's shape, as in Gather's result; src has t's type. Put writes to t's memory, as
// CopyFrom does, and so to every view of it. Negative indices count from the end.
//
// With layout.OutOfRangeError, an index out of range writes nothing, and is device.ErrInvalid: at
// once, or from every read of t and of anything computed from it (see device.Queue). Other
// policies work on the device without a wait: layout.OutOfRangeSkip skips the index,
// layout.OutOfRangeClamp and layout.OutOfRangeClampZero use the nearest index in range. For an
// axis without elements, see Gather.
//
// If several indices select one slice, each of its elements becomes one of the written ones: on
// the cpu device the last (see device.Info's PutsInOrder). With another reduction than
// device.ReduceSet, it is combined with all of them, in row-major order, with the same result on
// every device. Sums and products of floats are then computed one after the other, and slowly; on
// OpenCL devices without 64-bit atomic operations, so are all 64-bit reductions.
//
//	err := sums.Put(0, segments, rows, device.ReduceAdd, layout.OutOfRangeError)
func (t *Tensor) Put(axis int, indices, src *Tensor, how device.Reduction, policy layout.OutOfRange) error {
	g, err := t.gatheringOf("Put", axis, indices)
	if err != nil {
		return err
	}
	return t.put(&g, indices, src, how, policy)
}

// PutAlong writes each element of src to the element of t at the same position, except along the
// given axis, where indices have the position. indices, an int32 or int64 tensor of t's rank, has
// src's shape, which may be shorter than t's on the other axes. Put's rules for indices and the
// rest hold. (ONNX ScatterElements-18, torch's scatter_)
func (t *Tensor) PutAlong(axis int, indices, src *Tensor, how device.Reduction, policy layout.OutOfRange) error {
	g, err := t.gatheringAlong("PutAlong", axis, indices)
	if err != nil {
		return err
	}
	return t.put(&g, indices, src, how, policy)
}

// PutND writes slices of src to slices of t that tuples of indices select: the last axis of
// indices, an int32 or int64 tensor, holds a tuple, with an index for each axis of t or for the
// first of them. src has the axes of indices except the last, then t's axes that have no index.
// Put's rules for indices and the rest hold. (ONNX ScatterND-18)
func (t *Tensor) PutND(indices, src *Tensor, how device.Reduction, policy layout.OutOfRange) error {
	g, err := t.gatheringND("PutND", 0, indices)
	if err != nil {
		return err
	}
	return t.put(&g, indices, src, how, policy)
}

// put writes src to the elements of t that the gathering selects.
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

// SliceAt returns the slice of t with the given extents that begins at starts: an int32 or int64
// tensor of one axis, with an index for each axis of t. starts may be on the device; the call
// does not wait for it. As in XLA's DynamicSlice, starts are clamped so that the slice lies
// within t, negative ones to 0. The result is a view if starts is on Host, and otherwise a copy.
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

// PutAt writes src to the slice of t that begins at starts, as XLA's DynamicUpdateSlice does, but
// in place. SliceAt's rules for starts hold.
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

// PutSlices writes a slice of src to each of t's parts along axis 0: in part i, to the slice that
// begins at starts[i] along another axis. starts is an int32 or int64 tensor of one axis with a
// start for each part; it may be on the device, and the call does not wait for it. src has t's
// extents, but may be shorter along axis. A start that is negative, or whose slice exceeds t, is
// an error like an index out of range with layout.OutOfRangeStrict. (ONNX TensorScatter-24,
// linear)
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

// gatheringAt returns the gathering of a slice that begins at starts.
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
