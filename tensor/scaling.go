package tensor

import (
	"errors"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Scaling has the terms of [Tensor.Dequantize]: tensors on the device of the elements, whose
// shapes expand (as in [Tensor.Expand]) to the shape of the elements, or of their blocks.
type Scaling struct {
	Scale *Tensor // floats of up to 32 bits
	Zero  *Tensor // numbers of up to 32 bits; may be nil
	Add   *Tensor // floats of up to 32 bits; may be nil
	// Subtract: Add is subtracted.
	Subtract bool
	Blocks   Blocks
}

// Blocks are groups of elements that share terms: Size elements along an axis, in the last block
// perhaps fewer. Elements of the shape [N, K] in blocks of 32 along axis 1 have terms whose
// shapes expand to [N, ceil(K/32)]. The zero value is single elements. (Without Blocks, elements
// [N, K/32, 32] and terms [N, K/32, 1] are equivalent.)
type Blocks struct {
	Axis int // counts from the end if it is negative
	Size int64
}

// Quantization has the terms of [Tensor.Quantize], as in Scaling, and its options.
type Quantization struct {
	Scale *Tensor // floats of up to 32 bits
	Zero  *Tensor // integers, or for a float result floats, of up to 32 bits; may be nil
	// Precision is the type to which both sides of the quotient, and the quotient, are rounded:
	// Float16 or BFloat16. Any other value means Float32.
	Precision layout.DType
	// Unsaturated means the same as in device.Rounding, for floats of 8 bits.
	Unsaturated bool
	Blocks      Blocks
}

// Dequantize returns (t - zero) * scale + add in a new contiguous tensor of floats of 16 bits or
// more. t has numbers of up to 32 bits. Arithmetic follows device.Scaling: in floats of 32 bits,
// with each step rounded once.
func (t *Tensor) Dequantize(to layout.DType, by Scaling) (*Tensor, error) {
	const op = "Dequantize"
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

// Quantize returns round(t / scale) + zero in a new contiguous tensor: of integers of up to 16
// bits, clamped to their range, or of floats of up to 8 bits. t has numbers of up to 32 bits.
// Arithmetic follows device.Quantization and ONNX's QuantizeLinear-25.
func (t *Tensor) Quantize(to layout.DType, by Quantization) (*Tensor, error) {
	const op = "Quantize"
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

// filled reports a call that wrote t's elements to the stream's trace, unless it failed.
func (t *Tensor) filled(op string, src *Tensor, err error) error {
	if err == nil && t.stream.trace.Load() != nil {
		t.stream.report(op, Verdict{Kind: Copy, Bytes: bytesOf(t.dtype, t.Count()), Class: "scale"}, t.dtype, &src.layout, &t.layout)
	}
	return err
}

// scaledTo returns a new tensor of t's shape that scale fills.
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
	out.note(op, move{verdict: Verdict{Kind: Copy, Bytes: bytesOf(to, out.Count()), Class: "scale"}}, t)
	return out.publish(), nil
}

func (t *Tensor) dequantize(op string, out *Tensor, by Scaling) error {
	return t.scale(op, out, by.Blocks, []*Tensor{by.Scale, by.Zero, by.Add}, func(dst, src device.Operand, terms []device.Operand) error {
		return out.stream.queue.Dequantize(dst, src, device.Scaling{Scale: terms[0], Zero: terms[1], Add: terms[2], Subtract: by.Subtract})
	})
}

func (t *Tensor) quantize(op string, out *Tensor, by Quantization) error {
	return t.scale(op, out, by.Blocks, []*Tensor{by.Scale, by.Zero}, func(dst, src device.Operand, terms []device.Operand) error {
		return out.stream.queue.Quantize(dst, src, device.Quantization{Scale: terms[0], Zero: terms[1], Precision: by.Precision, Unsaturated: by.Unsaturated})
	})
}

// scale calls queue with the operands of t, of out, which is held, and of terms, which may be
// nil: once, or twice if the last blocks are shorter.
func (t *Tensor) scale(op string, out *Tensor, blocks Blocks, terms []*Tensor, queue func(dst, src device.Operand, terms []device.Operand) error) error {
	if t == nil {
		return nilTensor(op)
	}
	shape := t.layout.Shape()
	if !slices.Equal(shape, out.layout.Shape()) {
		return t.fail(op, layout.Errorf(device.ErrInvalid, op, "to elements of the shape %v: the shapes differ", out.layout.Shape()))
	}
	of, err := blocks.of(op, shape)
	if err != nil {
		return t.fail(op, err)
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
		l, err := x.layout.Expand(of.shape...)
		if err != nil {
			return t.fail(op, layout.Errorf(device.ErrInvalid, op, "%s has the shape %v, which does not expand to %v", role, x.layout.Shape(), of.shape))
		}
		operands[i-1] = x.operandOf(l)
	}
	for _, p := range of.parts {
		dst, src := out.Operand(), t.Operand()
		some := slices.Clone(operands)
		err := errors.Join(of.elements(&dst, p), of.elements(&src, p))
		for i := range some {
			err = errors.Join(err, of.terms(&some[i], p))
		}
		if err == nil {
			err = queue(dst, src, some)
		}
		if err != nil {
			return t.fail(op, err)
		}
	}
	return nil
}

// blocked is a shape in blocks: the shape of its terms, and parts whose blocks are of one size.
type blocked struct {
	axis  int
	size  int64        // 0: no blocks
	shape layout.Shape // of terms
	parts []blocksPart
}

// blocksPart is count blocks of size elements each, from block first on.
type blocksPart struct{ first, count, size int64 }

// of splits a shape into blocks.
func (b Blocks) of(op string, shape layout.Shape) (blocked, error) {
	out := blocked{size: b.Size, shape: shape.Clone(), parts: []blocksPart{{}}}
	if b.Size == 0 {
		return out, nil
	}
	if b.Size < 0 {
		return out, layout.Errorf(device.ErrInvalid, op, "blocks of %d elements", b.Size)
	}
	axis, err := layout.Axis(op, b.Axis, len(shape))
	if err != nil {
		return out, err
	}
	n := shape[axis]
	out.axis, out.parts = axis, out.parts[:0]
	whole, rest := n/b.Size, n%b.Size
	if whole > 0 || n == 0 {
		out.parts = append(out.parts, blocksPart{0, whole, b.Size})
	}
	if out.shape[axis] = whole; rest > 0 {
		out.shape[axis]++
		out.parts = append(out.parts, blocksPart{whole, 1, rest})
	}
	return out, nil
}

// elements restricts an operand to a part of its elements, and splits the axis into one for
// blocks and one for the elements of a block.
func (b *blocked) elements(o *device.Operand, p blocksPart) error {
	if b.size == 0 {
		return nil
	}
	step := o.Layout.Stride(b.axis)
	return b.replace(o, p, p.first*b.size*step, b.size*step, step)
}

// terms is elements for an operand with one element per block; the operand may be missing.
func (b *blocked) terms(o *device.Operand, p blocksPart) error {
	if b.size == 0 || o.Buffer == nil {
		return nil
	}
	step := o.Layout.Stride(b.axis)
	return b.replace(o, p, p.first*step, step, 0)
}

func (b *blocked) replace(o *device.Operand, p blocksPart, further, perBlock, perElement int64) (err error) {
	dims, strides := o.Layout.Shape(), o.Layout.Strides()
	o.Layout, err = layout.Strided(slices.Replace([]int64(dims), b.axis, b.axis+1, p.count, p.size),
		slices.Replace(strides, b.axis, b.axis+1, perBlock, perElement), o.Layout.Offset()+further)
	return err
}
