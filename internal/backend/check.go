package backend

import (
	"math/bits"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// The checks below are the rules of device.Queue, said once for all devices: a device
// calls them before it queues anything.

func invalid(op, format string, args ...any) error {
	return layout.Errorf(device.ErrInvalid, op, format, args...)
}

// CheckRange checks that the bytes (of a string buffer: strings) [off, off+n)
// lie in the buffer.
func CheckRange(op string, b device.Buffer, off, n int64) error {
	if b == nil {
		return invalid(op, "the buffer is nil")
	}
	if off < 0 || n < 0 || off > b.Size() || n > b.Size()-off {
		return invalid(op, "[%d, %d+%d) is outside the buffer of size %d", off, off, n, b.Size())
	}
	return nil
}

// CheckOperand checks that every element of an operand lies in its buffer.
func CheckOperand(op, role string, o *device.Operand) error {
	if err := checkType(op, role, o); err != nil {
		return err
	}
	if lo, hi, some := o.Layout.Extent(); some && !reaches(o, lo, hi) {
		return invalid(op, "%s %v reaches beyond its buffer of size %d", role, *o, o.Buffer.Size())
	}
	return nil
}

// checkType checks that an operand has a buffer of elements of its type.
func checkType(op, role string, o *device.Operand) error {
	if o.Buffer == nil {
		return invalid(op, "%s has no buffer", role)
	}
	if !o.Type.Storable() {
		return invalid(op, "%s has no element type: %v", role, o.Type)
	}
	switch _, strings := o.Buffer.(device.StringBuffer); {
	case strings && o.Type != layout.String:
		return invalid(op, "%s is of type %v but its buffer holds strings", role, o.Type)
	case !strings && o.Type == layout.String:
		return invalid(op, "%s is of type %v but its buffer holds bytes", role, o.Type)
	}
	return nil
}

// reaches reports whether the positions [lo, hi] lie in an operand's buffer.
func reaches(o *device.Operand, lo, hi int64) bool {
	room := o.Buffer.Size()
	if o.Type != layout.String {
		room = elements(room, o.Type.Bits())
	}
	return lo >= 0 && hi < room
}

// elements returns how many elements of a width fit a size in bytes.
func elements(bytes int64, width int) int64 {
	shift := bits.TrailingZeros(uint(width)) - 3 // widths are powers of two
	switch {
	case shift >= 0:
		return bytes >> shift
	case bytes > (1<<63-1)>>-shift:
		return 1<<63 - 1
	}
	return bytes << -shift
}

// The rules of a call are about its form (types, and the shapes and strides of its
// layouts) or its buffers and offsets. A call of a form that was checked needs the
// latter checked alone.

func checkDistinct(op string, dst *device.Operand) error {
	if dst.Layout.SelfOverlaps() {
		return invalid(op, "dst %v: two indices share an element", *dst)
	}
	return nil
}

// CheckCopy checks the rules of Queue.Copy.
func CheckCopy(dst, src *device.Operand) error {
	const op = "Copy"
	if err := checkPair(op, dst, src); err != nil {
		return err
	}
	if dst.Type.Bits() != src.Type.Bits() {
		return invalid(op, "%v to %v: elements of %d and of %d bits", *src, *dst, src.Type.Bits(), dst.Type.Bits())
	}
	return checkApart(op, dst, src)
}

// CheckCopyBuffers checks those rules of Queue.Copy that a call may break though
// CheckCopy has passed one with the same shape, strides and types.
func CheckCopyBuffers(dst, src *device.Operand) error {
	if err := checkBuffers("Copy", dst, src); err != nil {
		return err
	}
	return checkApart("Copy", dst, src)
}

func checkApart(op string, dst, src *device.Operand) error {
	if dst.Buffer == src.Buffer && dst.Layout.Overlaps(&src.Layout) {
		return invalid(op, "%v to %v in one buffer: they share elements", *src, *dst)
	}
	return nil
}

// checkPair checks what holds for every operation with a source.
func checkPair(op string, dst, src *device.Operand) error {
	if err := checkBuffers(op, dst, src); err != nil {
		return err
	}
	if err := checkDistinct(op, dst); err != nil {
		return err
	}
	if !dst.Layout.SameShape(&src.Layout) {
		return invalid(op, "%v to %v: the shapes differ", *src, *dst)
	}
	return nil
}

func checkBuffers(op string, dst, src *device.Operand) error {
	if err := CheckOperand(op, "dst", dst); err != nil {
		return err
	}
	return CheckOperand(op, "src", src)
}

// CheckFill checks the rules of Queue.Fill.
func CheckFill(dst *device.Operand, pattern []byte) error {
	const op = "Fill"
	if err := CheckFillBuffers(dst, pattern); err != nil {
		return err
	}
	return checkDistinct(op, dst)
}

// CheckFillBuffers is to CheckFill what CheckCopyBuffers is to CheckCopy.
func CheckFillBuffers(dst *device.Operand, pattern []byte) error {
	const op = "Fill"
	if err := CheckOperand(op, "dst", dst); err != nil {
		return err
	}
	if dst.Type == layout.String {
		return invalid(op, "%v: strings are filled by FillString", *dst)
	}
	if want := (dst.Type.Bits() + 7) / 8; len(pattern) != want {
		return invalid(op, "%v: a pattern of %d bytes; one element has %d", *dst, len(pattern), want)
	}
	return nil
}

// CheckFillString checks the rules of StringQueue.FillString.
func CheckFillString(dst *device.Operand) error {
	const op = "FillString"
	if err := CheckOperand(op, "dst", dst); err != nil {
		return err
	}
	if err := checkDistinct(op, dst); err != nil {
		return err
	}
	if dst.Type != layout.String {
		return invalid(op, "%v: only strings are filled with one", *dst)
	}
	return nil
}
