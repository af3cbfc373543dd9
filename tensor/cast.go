package tensor

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Cast returns the elements as values of another type, in a new contiguous tensor: a copy, or a
// view if the type is the same. device.Rounding has the rules for values that the new type cannot
// represent; its zero value is the default of ONNX's Cast.
//
// Strings are cast on cpu devices only, which hold them. Numbers are written in plain notation,
// floats with the fewest digits that distinguish them from their neighbours, and as INF, -INF,
// NaN, True and False. They are read in plain and scientific notation, and as these words in
// letters of any case; for an integer type, a number with a fraction is truncated. Other text is
// ErrInvalid. Complex numbers cannot be cast.
func (t *Tensor) Cast(to layout.DType, how device.Rounding) (*Tensor, error) {
	return published(t.cast("Cast", to, how))
}

func (t *Tensor) cast(op string, to layout.DType, how device.Rounding) (*Tensor, error) {
	if t == nil {
		return nil, nilTensor(op)
	}
	if !to.Storable() {
		return nil, t.fail(op, layout.Errorf(device.ErrInvalid, op, "%v is not an element type", to))
	}
	if to == t.dtype {
		return t.reference(t.stream, op, &t.layout, nil)
	}
	if err := t.hold(op); err != nil {
		return nil, err
	}
	defer t.memory.drop()
	for _, of := range []layout.DType{t.dtype, to} {
		if of == layout.Complex64 || of == layout.Complex128 {
			return nil, t.fail(op, layout.Errorf(device.ErrUnsupported, op, "to %v: complex numbers are not cast", to))
		}
		if of == layout.Bit {
			return nil, t.fail(op, layout.Errorf(device.ErrUnsupported, op, "to %v: bits are no numbers, and are not cast", to))
		}
	}
	if to == layout.String || t.dtype == layout.String {
		return t.castText(op, to, how)
	}
	return t.convert(op, to, to, t.dtype, how)
}

// convert returns a tensor of type to, which the device converts as type src to type dst.
func (t *Tensor) convert(op string, to, dst, src layout.DType, how device.Rounding) (*Tensor, error) {
	out, err := allocate(t.stream, op, to, t.layout.Shape())
	if err != nil {
		return nil, err
	}
	into, from := out.Operand(), t.Operand()
	into.Type, from.Type = dst, src
	if err := t.stream.queue.Convert(into, from, how); err != nil {
		return nil, t.fail(op, errors.Join(err, out.Release()))
	}
	out.note(op, move{verdict: Verdict{Kind: Copy, Bytes: bytesOf(to, out.Count()), Class: "convert"}}, t)
	return out, nil
}
