package tensor

import (
	"errors"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Scaling is what [Tensor.Dequantize] scales by: tensors on the device of the elements,
// whose shapes expand to theirs, as [Tensor.Expand] has it. Where a block of elements has
// a scale in common, the elements are split into blocks, and the scale has an axis of
// extent 1 for them: elements [N, K] in blocks of 32 along K are [N, K/32, 32] by Reshape,
// and their scales are [N, K/32, 1].
type Scaling struct {
	Scale *Tensor // floats of up to 32 bits
	Zero  *Tensor // numbers of up to 32 bits; nil: there is none
	Add   *Tensor // floats of up to 32 bits; nil: there is none
	// Subtract: Add is subtracted.
	Subtract bool
}

// Quantization is what [Tensor.Quantize] divides by, as in Scaling, and how.
type Quantization struct {
	Scale *Tensor // floats of up to 32 bits
	Zero  *Tensor // integers of up to 32 bits, for integers; nil: there is none
	// Precision is what the sides of the quotient, and the quotient, are rounded to:
	// Float16 or BFloat16. Any other stands for Float32.
	Precision layout.DType
	// Unsaturated is that of device.Rounding, for floats of 8 bits.
	Unsaturated bool
}

// Dequantize returns (t - zero) * scale + add in a new contiguous tensor of a type of
// floats of 16 bits or more. t has numbers of up to 32 bits. Arithmetic is that of
// device.Scaling: in floats of 32 bits, with each step rounded once.
func (t *Tensor) Dequantize(to layout.DType, by Scaling) (*Tensor, error) {
	return t.DequantizeAs("Dequantize", to, by)
}

// DequantizeAs is Dequantize under the name of the operation that asks for it.
func (t *Tensor) DequantizeAs(op string, to layout.DType, by Scaling) (*Tensor, error) {
	return t.scaledTo(op, to, func(out *Tensor) error { return t.dequantize(op, out, by) })
}

// DequantizeInto is Dequantize to the elements of out, which keeps its layout.
func (t *Tensor) DequantizeInto(out *Tensor, by Scaling) error {
	const op = "DequantizeInto"
	if err := out.hold(op); err != nil {
		return err
	}
	defer out.memory.drop()
	return out.filled(op, t, t.dequantize(op, out, by))
}

// Quantize returns round(t / scale) + zero in a new contiguous tensor: of integers of up
// to 16 bits, which are the nearest ones if a result is out of their range, or of floats
// of up to 8, which have no zero. t has numbers of up to 32 bits. Arithmetic is that of
// device.Quantization and ONNX's QuantizeLinear-25.
func (t *Tensor) Quantize(to layout.DType, by Quantization) (*Tensor, error) {
	return t.QuantizeAs("Quantize", to, by)
}

// QuantizeAs is Quantize under the name of the operation that asks for it.
func (t *Tensor) QuantizeAs(op string, to layout.DType, by Quantization) (*Tensor, error) {
	return t.scaledTo(op, to, func(out *Tensor) error { return t.quantize(op, out, by) })
}

// QuantizeInto is Quantize to the elements of out, which keeps its layout.
func (t *Tensor) QuantizeInto(out *Tensor, by Quantization) error {
	const op = "QuantizeInto"
	if err := out.hold(op); err != nil {
		return err
	}
	defer out.memory.drop()
	return out.filled(op, t, t.quantize(op, out, by))
}

// filled tells the stream's trace of a call that wrote t's elements, if it has no error.
func (t *Tensor) filled(op string, src *Tensor, err error) error {
	if err == nil && t.stream.trace.Load() != nil {
		t.stream.report(op, Verdict{Copy, bytesOf(t.dtype, t.Count()), "scale"}, t.dtype, &src.layout, &t.layout)
	}
	return err
}

// scaledTo returns a new tensor of t's shape that scale has filled.
func (t *Tensor) scaledTo(op string, to layout.DType, scale func(out *Tensor) error) (*Tensor, error) {
	if t == nil {
		return nil, nilTensor(op)
	}
	if !to.Valid() || to == layout.String {
		return nil, t.fail(op, layout.Errorf(device.ErrInvalid, op, "%v is no type of numbers", to))
	}
	if err := t.hold(op); err != nil {
		return nil, err
	}
	defer t.memory.drop()
	out, err := allocate(t.stream, op, to, t.layout.Shape())
	if err != nil {
		return nil, err
	}
	if err := scale(out); err != nil {
		return nil, errors.Join(err, out.Release())
	}
	out.note(op, move{verdict: Verdict{Copy, bytesOf(to, out.Count()), "scale"}}, t)
	return out, nil
}

func (t *Tensor) dequantize(op string, out *Tensor, by Scaling) error {
	return t.scale(op, out, []*Tensor{by.Scale, by.Zero, by.Add}, func(dst, src device.Operand, terms []device.Operand) error {
		return out.stream.queue.Dequantize(dst, src, device.Scaling{Scale: terms[0], Zero: terms[1], Add: terms[2], Subtract: by.Subtract})
	})
}

func (t *Tensor) quantize(op string, out *Tensor, by Quantization) error {
	return t.scale(op, out, []*Tensor{by.Scale, by.Zero}, func(dst, src device.Operand, terms []device.Operand) error {
		return out.stream.queue.Quantize(dst, src, device.Quantization{Scale: terms[0], Zero: terms[1], Precision: by.Precision, Unsaturated: by.Unsaturated})
	})
}

// scale calls queue with the operands of t, of out, which is held, and of terms, nil ones
// among them.
func (t *Tensor) scale(op string, out *Tensor, terms []*Tensor, queue func(dst, src device.Operand, terms []device.Operand) error) error {
	if t == nil {
		return nilTensor(op)
	}
	shape := t.layout.Shape()
	if !slices.Equal(shape, out.layout.Shape()) {
		return t.fail(op, layout.Errorf(device.ErrInvalid, op, "to elements of the shape %v: the shapes differ", out.layout.Shape()))
	}
	operands := make([]device.Operand, len(terms))
	all := append([]*Tensor{t}, terms...)
	for i, x := range all {
		role := [...]string{"the elements", "the scale", "the zero point", "what is added"}[i]
		if x == nil {
			if i == 1 {
				return t.fail(op, layout.Errorf(device.ErrInvalid, op, "there is no scale"))
			}
			continue
		}
		if err := x.hold(op); err != nil {
			return err
		}
		defer x.memory.drop()
		if x.stream.dev != out.stream.dev {
			return t.fail(op, layout.Errorf(device.ErrInvalid, op, "%s on device %s, the result on %s: To brings them there", role,
				x.stream.dev.Info().ID(), out.stream.dev.Info().ID()))
		}
		if err := x.usedOn(out.stream); err != nil {
			return t.fail(op, err)
		}
		if i == 0 {
			continue
		}
		l, err := x.layout.Expand(shape...)
		if err != nil || !slices.Equal(l.Shape(), shape) {
			return t.fail(op, layout.Errorf(device.ErrInvalid, op, "%s has the shape %v, which does not expand to that of the elements", role, x.layout.Shape()))
		}
		operands[i-1] = x.operandOf(l)
	}
	if err := queue(out.Operand(), t.Operand(), operands); err != nil {
		return t.fail(op, err)
	}
	return nil
}
