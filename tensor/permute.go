package tensor

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// PermuteInPlace reorders the axes as Transpose does, and moves the elements so that the same
// memory holds them contiguous in the new order, for callers that must keep the memory. It
// returns another reference to the memory, of the new shape; t and its views then see other
// elements. t must be contiguous, or the error is device.ErrUnsupported. The elements pass
// through other memory of the same size, unless none of them moves.
func (t *Tensor) PermuteInPlace(perm ...int) (*Tensor, error) {
	const op = "PermuteInPlace"
	if err := t.hold(op); err != nil {
		return nil, err
	}
	defer t.memory.drop()
	if !t.layout.IsContiguous() {
		return nil, t.fail(op, layout.Errorf(device.ErrUnsupported, op, "%v: the elements are not contiguous, so that their places are not those of another shape", t.layout))
	}
	from, err := t.layout.Permute(perm...)
	if err != nil {
		return nil, t.fail(op, err)
	}
	to, err := layout.Contiguous(from.Shape()...)
	if err == nil {
		to, err = to.Rebase(t.layout.Offset())
	}
	out, err := t.reference(t.stream, op, &to, err)
	if err != nil || from.IsContiguous() {
		return published(out, err)
	}
	if err := out.permute(op, from); err != nil {
		return nil, t.fail(op, errors.Join(err, out.Release()))
	}
	return out.publish(), nil
}

// permute sets the elements of t, which is contiguous, to the elements of another layout over the
// same memory.
func (t *Tensor) permute(op string, from layout.Layout) error {
	room, err := allocate(t.stream, op, t.dtype, t.layout.Shape())
	if err != nil {
		return err
	}
	defer room.Release()
	src := t.operandOf(from)
	if err := t.stream.queue.Copy(room.Operand(), src); err != nil {
		return err
	}
	if err := t.stream.queue.Copy(t.Operand(), room.Operand()); err != nil {
		return err
	}
	t.note(op, move{verdict: Verdict{Kind: Copy, Bytes: 2 * bytesOf(t.dtype, t.Count())}, dst: room.Operand(), src: src}, t)
	return nil
}
