package tensor

import (
	"errors"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Transpose returns a view with the axes reordered: axis i of the view is axis perm[i]. Without
// perm the order is reversed.
func (t *Tensor) Transpose(perm ...int) (*Tensor, error) {
	if t == nil {
		return nil, nilTensor("Transpose")
	}
	if len(perm) == 0 {
		l := t.layout.Reverse()
		return t.view(t.stream, "Transpose", &l, nil)
	}
	l, err := t.layout.Permute(perm...)
	return t.view(t.stream, "Transpose", &l, err)
}

// Slice returns a view of every step-th element of an axis from start up to, but not including,
// end, with ONNX's rules for values that are negative or out of range.
func (t *Tensor) Slice(axis int, start, end, step int64) (*Tensor, error) {
	if t == nil {
		return nil, nilTensor("Slice")
	}
	l, err := t.layout.Slice(axis, start, end, step)
	return t.view(t.stream, "Slice", &l, err)
}

// Expand returns a view broadcast to the given extents.
func (t *Tensor) Expand(dims ...int64) (*Tensor, error) {
	if t == nil {
		return nil, nilTensor("Expand")
	}
	l, err := t.layout.Expand(dims...)
	return t.view(t.stream, "Expand", &l, err)
}

// Squeeze returns a view without the given axes, which must have extent 1; without arguments,
// without all axes of extent 1.
func (t *Tensor) Squeeze(axes ...int) (*Tensor, error) {
	if t == nil {
		return nil, nilTensor("Squeeze")
	}
	l, err := t.layout.Squeeze(axes...)
	return t.view(t.stream, "Squeeze", &l, err)
}

// Unsqueeze returns a view with axes of extent 1 at the given positions of the result.
func (t *Tensor) Unsqueeze(axes ...int) (*Tensor, error) {
	if t == nil {
		return nil, nilTensor("Unsqueeze")
	}
	l, err := t.layout.Unsqueeze(axes...)
	return t.view(t.stream, "Unsqueeze", &l, err)
}

// Alias returns another reference to the same elements, which must be released separately.
func (t *Tensor) Alias() (*Tensor, error) {
	if t == nil {
		return nil, nilTensor("Alias")
	}
	return t.view(t.stream, "Alias", &t.layout, nil)
}

// Retain is Alias outside any scope, for references that must outlive the caller's scopes: no
// goroutine's Scope.Close releases it.
func (t *Tensor) Retain() (*Tensor, error) {
	const op = "Retain"
	if t == nil {
		return nil, nilTensor(op)
	}
	return t.reference(t.stream, op, &t.layout, nil)
}

// Reshape gives the elements new extents, in row-major order. One of them may be -1: it is
// computed. The result is a view if strides can express it, and otherwise a contiguous copy;
// Verdict says which.
func (t *Tensor) Reshape(dims ...int64) (*Tensor, error) {
	const op = "Reshape"
	if t == nil {
		return nil, nilTensor(op)
	}
	if !slices.Contains(dims, -1) {
		return t.reshape(op, dims)
	}
	var in, out [8]int64 // usually enough to allocate only the result
	shape, err := layout.InferReshape(out[:0], op, t.layout.AppendDims(in[:0]), dims, false)
	if err != nil {
		return nil, t.fail(op, err)
	}
	return t.reshape(op, shape)
}

// Flatten reshapes to a matrix: the axes before axis are the rows.
func (t *Tensor) Flatten(axis int) (*Tensor, error) {
	const op = "Flatten"
	if t == nil {
		return nil, nilTensor(op)
	}
	var in [8]int64
	rows, cols, err := layout.FlattenShape(op, t.layout.AppendDims(in[:0]), axis)
	if err != nil {
		return nil, t.fail(op, err)
	}
	return t.reshape(op, []int64{rows, cols})
}

// reshape is Reshape without -1.
func (t *Tensor) reshape(op string, dims []int64) (*Tensor, error) {
	l, err := t.layout.Reshape(dims...)
	if errors.Is(err, layout.ErrNeedsCopy) {
		return published(t.compact(op, dims))
	}
	return t.view(t.stream, op, &l, err)
}

// Contiguous returns the tensor in row-major order without gaps: a view if it already is, else a
// copy.
func (t *Tensor) Contiguous() (*Tensor, error) { return published(t.contiguous("Contiguous")) }

func (t *Tensor) contiguous(op string) (*Tensor, error) {
	if t == nil {
		return nil, nilTensor(op)
	}
	if t.layout.IsContiguous() {
		return t.reference(t.stream, op, &t.layout, nil)
	}
	return t.compact(op, t.layout.Shape())
}

// compact copies the elements in row-major order to a new contiguous tensor of
// the given extents, unless the stream forbids it.
func (t *Tensor) compact(op string, dims []int64) (*Tensor, error) {
	if err := t.mayCopy(op, dims); err != nil && !t.released.Load() {
		return nil, err
	}
	return t.copyOut(op, dims)
}

// mayCopy returns the error of a copy to the given extents if the stream forbids copies.
func (t *Tensor) mayCopy(op string, dims []int64) error {
	if !t.stream.noCopies.Load() {
		return nil
	}
	return t.fail(op, layout.Errorf(ErrCopy, op, "%v to %v cannot be a view, and copies are forbidden on this stream", t.layout, layout.Shape(dims).Clone()))
}

// Clone returns a contiguous copy with its own memory.
func (t *Tensor) Clone() (*Tensor, error) {
	if t == nil {
		return nil, nilTensor("Clone")
	}
	return published(t.copyOut("Clone", t.layout.Shape()))
}

func (t *Tensor) copyOut(op string, dims []int64) (*Tensor, error) {
	if err := t.hold(op); err != nil {
		return nil, err
	}
	defer t.memory.drop()
	out, err := allocate(t.stream, op, t.dtype, dims)
	if err != nil {
		return nil, err
	}
	to, err := layout.Contiguous(t.layout.Shape()...)
	if err == nil {
		err = out.fill(op, device.Operand{Buffer: out.memory.buffer, Layout: to, Type: t.dtype}, t)
	}
	if err != nil {
		return nil, t.fail(op, errors.Join(err, out.Release()))
	}
	return out, nil
}

// fill copies src to dst, in t's memory, and notes the verdict.
func (t *Tensor) fill(op string, dst device.Operand, src *Tensor) error {
	from := src.Operand()
	if err := t.stream.queue.Copy(dst, from); err != nil {
		return err
	}
	t.note(op, move{verdict: Verdict{Kind: Copy, Bytes: bytesOf(t.dtype, src.Count())}, dst: dst, src: from}, src)
	return nil
}

// note records, in the tensor that a call made, what the call did, and reports it.
func (t *Tensor) note(op string, m move, src *Tensor) {
	t.moved = &m
	if t.stream.trace.Load() != nil {
		t.stream.report(op, t.Verdict(), t.dtype, &src.layout, &t.layout)
	}
}

// CopyFrom copies the elements of src to t, which keeps its layout, for example a slice of a
// larger tensor. Shapes and element widths must be the same, and both must be on one device.
func (t *Tensor) CopyFrom(src *Tensor) error {
	const op = "CopyFrom"
	if err := t.hold(op); err != nil {
		return err
	}
	defer t.memory.drop()
	if err := src.hold(op); err != nil {
		return err
	}
	defer src.memory.drop()
	if src.stream.dev != t.stream.dev {
		return t.fail(op, layout.Errorf(device.ErrInvalid, op, "the elements are on device %s, to be copied to %s: To brings them there",
			src.stream.dev.Info().ID(), t.stream.dev.Info().ID()))
	}
	if err := src.usedOn(t.stream); err != nil {
		return t.fail(op, err)
	}
	to, from := t.Operand(), src.Operand()
	if err := t.stream.queue.Copy(to, from); err != nil {
		return t.fail(op, err)
	}
	if t.stream.trace.Load() != nil {
		v := Verdict{Kind: Copy, Bytes: bytesOf(t.dtype, t.Count())}
		v.Class, v.Kernel = t.stream.kernelName(to, from)
		t.stream.report(op, v, t.dtype, &src.layout, &t.layout)
	}
	return nil
}

// Unpack returns the elements of a type below a byte one per byte, in the type's container
// (layout.DType.Container): signed integers sign-extended, floats as their bits (Cast gives their
// values).
func (t *Tensor) Unpack() (*Tensor, error) {
	if t == nil {
		return nil, nilTensor("Unpack")
	}
	return published(t.repack("Unpack", t.dtype.Container()))
}

// Pack converts a tensor of Int8 or Uint8 to a type below a byte with that container. The low
// bits are kept: integers out of range wrap, and floats get these bits.
func (t *Tensor) Pack(to layout.DType) (*Tensor, error) { return published(t.repack("Pack", to)) }

// bitsOf returns the integer type with the same bits, for packing and unpacking.
func bitsOf(t layout.DType) layout.DType {
	if t == layout.Float4E2M1 {
		return layout.Uint4
	}
	return t
}

func (t *Tensor) repack(op string, to layout.DType) (*Tensor, error) {
	if err := t.hold(op); err != nil {
		return nil, err
	}
	defer t.memory.drop()
	switch {
	case op == "Unpack" && to == layout.Invalid:
		return nil, t.fail(op, layout.Errorf(device.ErrInvalid, op, "%v is not a type below a byte", t.dtype))
	case op == "Pack" && to.Container() != t.dtype:
		return nil, t.fail(op, layout.Errorf(device.ErrInvalid, op, "%v does not pack into %v", t.dtype, to))
	}
	return t.convert(op, to, bitsOf(to), bitsOf(t.dtype), device.Rounding{})
}
