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

// checkScaled checks what holds with and without the other terms.
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

// checkTerm checks an operand, if it is there.
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

// isScalable reports whether a type is one of numbers of up to 32 bits.
func isScalable(t layout.DType) bool { return (isInteger(t) || isFloat(t)) && t.Bits() <= 32 }
