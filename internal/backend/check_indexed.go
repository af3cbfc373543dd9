package backend

import (
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/indexing"
	"github.com/restride/restride/layout"
)

// CheckTake checks the rules of Queue.Take, but for what the indices in memory
// are.
func CheckTake(dst, src, at *device.Operand, by []layout.Index) error {
	const op = "Take"
	if err := CheckOperand(op, "dst", dst); err != nil {
		return err
	}
	if err := checkMoved(op, "src", src, by); err != nil {
		return err
	}
	if err := checkDistinct(op, dst); err != nil {
		return err
	}
	return checkIndexed(op, dst, src, at, by, false)
}

// CheckPut checks the rules of Queue.Put, but for what the indices in memory are.
func CheckPut(dst, src, at *device.Operand, how device.Reduction, by []layout.Index) error {
	const op = "Put"
	if err := checkMoved(op, "dst", dst, by); err != nil {
		return err
	}
	if err := CheckOperand(op, "src", src); err != nil {
		return err
	}
	if !how.Valid() {
		return invalid(op, "%v to %v: there is no %v", *src, *dst, how)
	}
	if how != device.ReduceSet && dst.Type != src.Type {
		return invalid(op, "%v to %v: to %v, the types must be the same", *src, *dst, how)
	}
	if how != device.ReduceSet && !device.Reduces(dst.Type) {
		return layout.Errorf(device.ErrUnsupported, op, "%v to %v: %v is for bool, integers, float16, bfloat16, float and double", *src, *dst, how)
	}
	return checkIndexed(op, dst, src, at, by, true)
}

// checkMoved checks the operand whose elements indices name: where they name none, it needs
// no place for one.
func checkMoved(op, role string, o *device.Operand, by []layout.Index) error {
	if indexing.LeadNowhere(by) {
		return checkType(op, role, o)
	}
	return CheckOperand(op, role, o)
}

// checkIndexed checks what takes and puts have in common. put: the indices are dst's.
func checkIndexed(op string, dst, src, at *device.Operand, by []layout.Index, put bool) error {
	if err := CheckOperand(op, "at", at); err != nil {
		return err
	}
	switch {
	case !dst.Layout.SameShape(&src.Layout):
		return invalid(op, "%v to %v: the shapes differ", *src, *dst)
	case dst.Type.Bits() != src.Type.Bits():
		return invalid(op, "%v to %v: elements of %d and of %d bits", *src, *dst, src.Type.Bits(), dst.Type.Bits())
	case dst.Type == layout.Bit:
		return layout.Errorf(device.ErrUnsupported, op, "%v to %v: bits are copied and filled alone", *src, *dst)
	case at.Type != layout.Int32 && at.Type != layout.Int64:
		return invalid(op, "%v by %v: indices must be int32 or int64", *src, *at)
	case !dst.Layout.SameShape(&at.Layout):
		return invalid(op, "%v to %v by %v: the shapes differ", *src, *dst, *at)
	case len(by) == 0:
		return invalid(op, "%v to %v: no index is given", *src, *dst)
	case len(by) > device.MaxIndices:
		return layout.Errorf(device.ErrUnsupported, op, "%v to %v: %d indices for an element; at most %d are supported", *src, *dst, len(by), device.MaxIndices)
	}
	for i := range by {
		if by[i].Extent < 0 {
			return invalid(op, "%v to %v: index %d has extent %d", *src, *dst, i, by[i].Extent)
		}
		if !by[i].OutOfRange.Valid() {
			return invalid(op, "%v to %v: index %d has %v", *src, *dst, i, by[i].OutOfRange)
		}
	}
	if dst.Layout.Count() == 0 {
		return nil
	}
	for i := range by {
		if by[i].Extent == 0 && by[i].OutOfRange != layout.OutOfRangeSkip {
			return invalid(op, "%v to %v: index %d has extent 0, in which no index lies", *src, *dst, i)
		}
	}
	if indexing.LeadNowhere(by) {
		return nil
	}
	ofDst, ofSrc, moved, role := []layout.Index(nil), by, src, "src"
	if put {
		ofDst, ofSrc, moved, role = by, nil, dst, "dst"
	}
	lo, hi, ok := indexing.Reach(&moved.Layout, by)
	if !ok || !reaches(moved, lo, hi) {
		return invalid(op, "%s %v reaches beyond its buffer of size %d by its indices %v", role, *moved, moved.Buffer.Size(), by)
	}
	for i := range by {
		a := *at
		var err error
		if a.Layout, err = at.Layout.Rebase(at.Layout.Offset() + by[i].Offset); err != nil {
			return invalid(op, "%v: index %d, %d elements behind it, lies nowhere", *at, i, by[i].Offset)
		}
		if err := CheckOperand(op, "at", &a); err != nil {
			return err
		}
		if dst.Buffer == at.Buffer && meet(BytesOf(dst, ofDst), BytesOf(&a, nil)) {
			return invalid(op, "%v by %v in one buffer: they share bytes", *dst, a)
		}
	}
	if dst.Buffer == src.Buffer && meet(BytesOf(dst, ofDst), BytesOf(src, ofSrc)) {
		return invalid(op, "%v to %v in one buffer: they share bytes", *src, *dst)
	}
	return nil
}

// BytesOf returns the first and the last byte (of strings: the string) of an
// operand that has elements, all of them in its buffer: with indices, of all that they reach.
func BytesOf(o *device.Operand, by []layout.Index) (ends [2]int64) {
	lo, hi, _ := indexing.Reach(&o.Layout, by)
	switch w := int64(o.Type.Bits()); {
	case w == 0:
		return [2]int64{lo, hi}
	case w < 8:
		return [2]int64{lo * w / 8, hi * w / 8}
	default:
		return [2]int64{lo * (w / 8), hi*(w/8) + w/8 - 1}
	}
}

// meet reports whether two ranges overlap.
func meet(a, b [2]int64) bool { return a[0] <= b[1] && b[0] <= a[1] }

// ToldExtent is the extent that errors of an index are told: negated where negative indices
// are out of range.
func ToldExtent(x *layout.Index) int64 {
	if x.OutOfRange == layout.OutOfRangeStrict {
		return -x.Extent
	}
	return x.Extent
}

// OutOfRange describes an index out of range, of an extent that ToldExtent returned.
func OutOfRange(index, extent int64) string {
	if extent < 0 {
		return fmt.Sprintf("index %d is outside [0,%d] of extent %d", index, -extent-1, -extent)
	}
	return fmt.Sprintf("index %d is outside [%d,%d] of extent %d", index, -extent, extent-1, extent)
}

// Attributed adds the name of the operation that failed to its error; nil: the name is unknown.
func Attributed(err error, name fmt.Stringer) error {
	e, ok := err.(*layout.Error)
	if name == nil || !ok {
		return err
	}
	return layout.Errorf(e.Kind, e.Op, "%v: %s", name, e.Msg) // callers replace the operation
}
