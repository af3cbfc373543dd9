package backend

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// CheckDequantize checks the rules of Queue.Dequantize.
func CheckDequantize(dst, src *device.Operand, by *device.Scaling) error {
	const op = "Dequantize"
	if err := checkScaled(op, dst, src, &by.Scale); err != nil {
		return err
	}
	if !isFloat(dst.Type) || dst.Type.Bits() < 16 {
		return invalid(op, "%v to %v: the result must be float16, bfloat16, float or double", *src, *dst)
	}
	if err := checkTerm(op, "zero", dst, &by.Zero, isScalable); err != nil {
		return err
	}
	return checkTerm(op, "add", dst, &by.Add, isShortFloat)
}

// CheckQuantize checks the rules of Queue.Quantize.
func CheckQuantize(dst, src *device.Operand, by *device.Quantization) error {
	const op = "Quantize"
	if by.FindScale {
		return checkFindScale(op, dst, src, by)
	}
	if err := checkScaled(op, dst, src, &by.Scale); err != nil {
		return err
	}
	switch {
	case isInteger(dst.Type) && dst.Type.Bits() <= 16:
		return checkTerm(op, "zero", dst, &by.Zero, func(t layout.DType) bool { return isInteger(t) && isScalable(t) })
	case isFloat(dst.Type) && dst.Type.Bits() <= 8 && dst.Type != layout.Float8E8M0:
		return checkTerm(op, "zero", dst, &by.Zero, isShortFloat)
	}
	return invalid(op, "%v to %v: the result must be an integer of up to 16 bits, or a float of up to 8 with a sign", *src, *dst)
}

// checkScaled checks the rules that hold with and without the other terms.
func checkScaled(op string, dst, src, scale *device.Operand) error {
	if err := checkPair(op, dst, src); err != nil {
		return err
	}
	if !isScalable(src.Type) {
		return invalid(op, "%v to %v: what is scaled must be numbers of up to 32 bits", *src, *dst)
	}
	if err := checkBytesApart(op, dst, src); err != nil {
		return err
	}
	if scale.Buffer == nil {
		return invalid(op, "%v to %v: there is no scale", *src, *dst)
	}
	return checkTerm(op, "scale", dst, scale, isShortFloat)
}

// checkTerm checks an operand, if present.
func checkTerm(op, role string, dst, term *device.Operand, fits func(layout.DType) bool) error {
	if term.Buffer == nil {
		return nil
	}
	if err := CheckOperand(op, role, term); err != nil {
		return err
	}
	switch {
	case !fits(term.Type):
		return invalid(op, "%s is %v, which is no type for it", role, *term)
	case !dst.Layout.SameShape(&term.Layout):
		return invalid(op, "%s %v to %v: the shapes differ", role, *term, *dst)
	}
	return checkBytesApart(op, dst, term)
}

func isFloat(t layout.DType) bool { return numeric.KindOf(t) == numeric.FloatKind }

func isShortFloat(t layout.DType) bool { return isFloat(t) && t.Bits() <= 32 }

// isScalable reports whether a type is a type of numbers of up to 32 bits.
func isScalable(t layout.DType) bool { return (isInteger(t) || isFloat(t)) && t.Bits() <= 32 }

// checkFindScale checks the rules of a Quantize that finds scales.
func checkFindScale(op string, dst, src *device.Operand, by *device.Quantization) error {
	if err := checkPair(op, dst, src); err != nil {
		return err
	}
	scale := &by.Scale
	if err := CheckOperand(op, "scale", scale); err != nil {
		return err
	}
	rank := dst.Layout.Rank()
	switch {
	case dst.Type != layout.Uint4 && dst.Type != layout.Int8 && dst.Type != layout.Float4E2M1:
		return invalid(op, "%v to %v: scales are found for uint4, int8 and float4e2m1", *src, *dst)
	case !isShortFloat(src.Type):
		return invalid(op, "%v to %v: scales are found of floats of up to 32 bits", *src, *dst)
	case by.Zero.Buffer != nil || by.Precision != layout.Invalid || by.Unsaturated:
		return invalid(op, "%v to %v: where scales are found there is no zero point, no precision and no saturation to choose", *src, *dst)
	case !fitsBlocks(scale.Type, dst.Type):
		return invalid(op, "scale is %v; for %v it is found as float16, bfloat16 or float, for float4e2m1 as float8e8m0", *scale, *dst)
	case rank == 0 || !dst.Layout.SameShape(&scale.Layout) || scale.Layout.Stride(rank-1) != 0:
		return invalid(op, "scale %v to %v: its shape must be the same, and its last axis, a block, must have stride 0", *scale, *dst)
	}
	perBlock, err := layout.Strided(scale.Layout.Shape()[:rank-1], scale.Layout.Strides()[:rank-1], scale.Layout.Offset())
	if err != nil {
		return err
	}
	if dst.Layout.Count() > 0 && perBlock.SelfOverlaps() {
		return invalid(op, "scale %v: two blocks share an element", *scale)
	}
	if err := checkBytesApart(op, dst, src); err != nil {
		return err
	}
	if err := checkBytesApart(op, dst, scale); err != nil {
		return err
	}
	return checkBytesApart(op, scale, src)
}

// fitsBlocks reports whether blocks of codes may have scales of a type.
func fitsBlocks(scale, codes layout.DType) bool {
	if codes == layout.Float4E2M1 {
		return scale == layout.Float8E8M0
	}
	return isShortFloat(scale) && scale.Bits() >= 16
}
