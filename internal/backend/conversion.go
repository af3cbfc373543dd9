package backend

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// Conversion is a kind of conversion: the knowledge that it needs of elements.
type Conversion uint8

// The kinds of conversion.
const (
	AsCopy  Conversion = iota // the bits do not change
	AsPack                    // from or to an integer below a byte, by its low bits
	ByValue                   // by the meaning of the bits
)

// ConversionOf returns the simplest kind of conversion between two types that CheckConvert
// allows.
func ConversionOf(dst, src layout.DType) Conversion {
	integers := isInteger(dst) && isInteger(src)
	d, s := dst.Bits(), src.Bits()
	switch {
	case dst == src || integers && d == s:
		return AsCopy
	case integers && (d < 8 && s == 8 || d == 8 && s < 8):
		return AsPack
	}
	return ByValue
}

// IsSigned reports whether a type is a signed integer.
func IsSigned(t layout.DType) bool { return numeric.KindOf(t) == numeric.IntKind }

func isInteger(t layout.DType) bool { return IsSigned(t) || numeric.KindOf(t) == numeric.UintKind }

// CheckConvert checks the rules of Queue.Convert.
func CheckConvert(dst, src *device.Operand, how device.Rounding) error {
	const op = "Convert"
	if err := checkPair(op, dst, src); err != nil {
		return err
	}
	for _, o := range []*device.Operand{dst, src} {
		switch o.Type {
		case layout.String:
			return invalid(op, "%v to %v: strings are not converted on a device", *src, *dst)
		case layout.Bit:
			return invalid(op, "%v to %v: bits are no numbers; they are copied and filled alone", *src, *dst)
		case layout.Complex64, layout.Complex128:
			return invalid(op, "%v to %v: complex numbers are not converted", *src, *dst)
		}
	}
	if how.Scale > device.RoundNearest {
		return invalid(op, "%v to %v: %d is no way to round", *src, *dst, how.Scale)
	}
	return checkBytesApart(op, dst, src)
}

// CheckConvertBuffers is CheckCopyBuffers for CheckConvert.
func CheckConvertBuffers(dst, src *device.Operand) error {
	if err := checkBuffers("Convert", dst, src); err != nil {
		return err
	}
	return checkBytesApart("Convert", dst, src)
}

func checkBytesApart(op string, dst, src *device.Operand) error {
	if dst.Buffer == src.Buffer && dst.Layout.Count() > 0 && meet(BytesOf(dst, nil), BytesOf(src, nil)) {
		return invalid(op, "%v to %v in one buffer: they share bytes", *src, *dst)
	}
	return nil
}
