package cpu

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/rounding"
	"github.com/restride/restride/layout"
)

// number describes an element type for conversions: the meaning of its bits, and the results for
// values that it cannot represent.
type number struct {
	bits     int
	kind     numeric.Kind
	format   numeric.FloatFormat
	overflow rounding.Overflow
	scale    device.RoundDirection
	legacy   bool
	wraps    bool   // floats out of an integer's range keep their low bits
	cuts     bool   // floats are rounded towards zero
	sign     uint64 // the sign bit
	largest  uint64 // the largest finite float
	nan      uint64
}

func numberOf(t layout.DType, how device.Rounding) *number {
	f := &number{
		bits: t.Bits(), kind: numeric.KindOf(t), overflow: rounding.OverflowOf(how, t),
		scale: how.Scale, legacy: how.Legacy, wraps: rounding.Wraps(how, t), cuts: rounding.Truncates(how, t), sign: 1 << (t.Bits() - 1),
	}
	if f.kind != numeric.FloatKind {
		return f
	}
	f.format, _ = numeric.FloatFormatOf(t)
	switch f.format.Special {
	case numeric.IEEE:
		infinity := f.sign - 1<<f.format.Mantissa
		f.largest, f.nan = infinity-1, infinity|1<<(f.format.Mantissa-1)
	case numeric.AllOnes:
		if f.format.Unsigned {
			f.sign *= 2 // which is not one of its bits
		}
		f.largest, f.nan = f.sign-2, f.sign-1
	case numeric.NegativeZero:
		f.largest, f.nan = f.sign-1, f.sign
	case numeric.Finite:
		f.largest, f.nan = f.sign-1, f.sign
		if f.legacy {
			f.nan = f.largest
		}
	}
	return f
}

// value is magnitude * 2^exponent, or an infinity or NaN.
type value struct {
	magnitude      uint64
	exponent       int
	negative, real bool // real: of a float
	infinite, nan  bool
}

// decode returns the value of an element.
func (f *number) decode(x uint64) value {
	switch f.kind {
	case numeric.BoolKind:
		return value{magnitude: min(x, 1)}
	case numeric.UintKind:
		return value{magnitude: x}
	case numeric.IntKind:
		if x&f.sign == 0 {
			return value{magnitude: x}
		}
		return value{magnitude: -x & (f.sign<<1 - 1), negative: true}
	}
	v := value{real: true, negative: x&f.sign != 0}
	magnitude := x &^ f.sign
	special := f.format.Special
	switch {
	case special == numeric.NegativeZero && x == f.nan:
		return value{real: true, nan: true}
	case special == numeric.IEEE && magnitude == f.largest+1:
		v.infinite = true
		return v
	case special <= numeric.AllOnes && magnitude > f.largest:
		v.nan = true
		return v
	}
	v.exponent = int(magnitude >> f.format.Mantissa)
	v.magnitude = magnitude & (1<<f.format.Mantissa - 1)
	if v.exponent > 0 || f.format.Unsigned {
		v.magnitude |= 1 << f.format.Mantissa
	} else {
		v.exponent = 1
	}
	v.exponent -= f.format.Bias + f.format.Mantissa
	return v
}

// encode returns the bits of a value.
func (f *number) encode(v value) uint64 {
	switch {
	case f.kind == numeric.BoolKind:
		if v.magnitude != 0 || v.infinite || v.nan {
			return 1
		}
		return 0
	case f.kind == numeric.FloatKind && f.format.Unsigned:
		return f.encodeScale(v)
	case f.kind == numeric.FloatKind:
		return f.encodeFloat(v)
	}
	x := v.magnitude
	if v.real {
		x = f.whole(v)
	}
	if v.negative {
		x = -x
	}
	return x & (f.sign<<1 - 1)
}

// whole returns the magnitude of the integer for a float.
func (f *number) whole(v value) uint64 {
	switch {
	case v.nan || v.infinite && f.wraps || v.magnitude == 0 && !v.infinite:
		return 0
	case v.exponent <= -64:
		return 0
	}
	length := bits.Len64(v.magnitude) + v.exponent
	x := v.magnitude << max(v.exponent, 0) >> max(-v.exponent, 0)
	if f.bits < 8 && v.exponent < 0 {
		half := uint64(1) << (-v.exponent - 1)
		if rest := v.magnitude & (2*half - 1); rest > half || rest == half && x&1 == 1 {
			x++
		}
	}
	if f.wraps {
		return x
	}
	most := f.sign<<1 - 1
	switch {
	case f.kind == numeric.IntKind && v.negative:
		most = f.sign
	case f.kind == numeric.IntKind:
		most = f.sign - 1
	case v.negative:
		most = 0
	}
	if v.infinite || length > 64 {
		return most
	}
	return min(x, most)
}

// encodeScale rounds to a power of two, which may then be out of range.
func (f *number) encodeScale(v value) uint64 {
	tooMuch, tooLittle := f.largest, uint64(0)
	if f.overflow == rounding.ToNaN {
		tooMuch, tooLittle = f.nan, f.nan
	}
	switch {
	case v.nan:
		return f.nan
	case v.infinite:
		return tooMuch
	case v.magnitude == 0:
		return tooLittle
	}
	zeros := bits.LeadingZeros64(v.magnitude)
	fraction := v.magnitude << zeros << 1
	p := v.exponent + 63 - zeros + f.format.Bias
	if f.scale == device.RoundUp && fraction != 0 || f.scale == device.RoundNearest && fraction>>63 == 1 {
		p++
	}
	switch {
	case p < 0:
		return tooLittle
	case p > int(f.largest):
		return tooMuch
	}
	return uint64(p)
}

// encodeFloat rounds to the nearest float (to the even one of two equally near ones), or towards
// zero.
func (f *number) encodeFloat(v value) uint64 {
	r := uint64(0)
	switch {
	case v.infinite:
		r = f.largest + 1
	case v.magnitude != 0:
		zeros := bits.LeadingZeros64(v.magnitude)
		m := v.magnitude << zeros
		power := v.exponent + 63 - zeros + f.format.Bias
		drop := 63 - f.format.Mantissa + max(1-power, 0)
		if drop <= 64 {
			half := uint64(1) << (drop - 1)
			rest := m & (half<<1 - 1)
			r = m >> drop
			if !f.cuts && (rest > half || rest == half && r&1 == 1) {
				r++
			}
		}
		if power > 1 {
			r += uint64(power-1) << f.format.Mantissa
		}
		if f.cuts {
			r = min(r, f.largest)
		}
	}
	nan := v.nan
	if r > f.largest {
		nan = nan || f.overflow == rounding.ToNaN
		if r = f.largest + 1; f.overflow == rounding.ToLargest {
			r = f.largest
		}
	}
	if nan {
		if r = f.nan; f.format.Special >= numeric.NegativeZero {
			return r // without a sign
		}
	}
	if v.negative && !(r == 0 && f.format.Special == numeric.NegativeZero) {
		r |= f.sign
	}
	return r
}

// get returns the bits of element i.
func (f *number) get(p unsafe.Pointer, i int64) uint64 {
	switch f.bits {
	case 16:
		return uint64(binary.LittleEndian.Uint16(span(p, 2*i, 2)))
	case 32:
		return uint64(binary.LittleEndian.Uint32(span(p, 4*i, 4)))
	case 64:
		return binary.LittleEndian.Uint64(span(p, 8*i, 8))
	}
	return uint64(load8(p, i))
}

// put sets the bits of element i.
func (f *number) put(p unsafe.Pointer, i int64, v uint64) {
	switch f.bits {
	case 16:
		binary.LittleEndian.PutUint16(span(p, 2*i, 2), uint16(v))
	case 32:
		binary.LittleEndian.PutUint32(span(p, 4*i, 4), uint32(v))
	case 64:
		binary.LittleEndian.PutUint64(span(p, 8*i, 8), v)
	default:
		store8(p, i, byte(v))
	}
}
