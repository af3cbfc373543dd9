package backend

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// CheckWhere checks the rules of Queue.Where.
func CheckWhere(dst, cond, a, b *device.Operand) error {
	const op = "Where"
	for _, x := range []struct {
		role string
		*device.Operand
	}{{"dst", dst}, {"cond", cond}, {"a", a}, {"b", b}} {
		if err := CheckOperand(op, x.role, x.Operand); err != nil {
			return err
		}
		if !dst.Layout.SameShape(&x.Layout) {
			return invalid(op, "%v or %v by %v to %v: the shapes differ", *a, *b, *cond, *dst)
		}
	}
	if cond.Type != layout.Bool {
		return invalid(op, "%v or %v by %v: a condition must be bool", *a, *b, *cond)
	}
	if dst.Type == layout.Bit {
		return layout.Errorf(device.ErrUnsupported, op, "%v or %v to %v: bits are copied and filled alone", *a, *b, *dst)
	}
	if err := checkDistinct(op, dst); err != nil {
		return err
	}
	for _, x := range []*device.Operand{a, b} {
		if x.Type.Bits() != dst.Type.Bits() {
			return invalid(op, "%v to %v: elements of %d and of %d bits", *x, *dst, x.Type.Bits(), dst.Type.Bits())
		}
		if x.Buffer == dst.Buffer && !x.Layout.Equal(&dst.Layout) && x.Layout.Overlaps(&dst.Layout) {
			return invalid(op, "%v to %v in one buffer: they share elements, and are not the same", *x, *dst)
		}
	}
	return checkBytesApart(op, dst, cond)
}
