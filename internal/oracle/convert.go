package oracle

import (
	"math"
	"math/big"
	"sort"
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// Convert writes the values of src, elements of type from at s, to dst, elements of type to at
// d: by the rules of device.Rounding, one at a time.
func Convert(dst []byte, d layout.Layout, to layout.DType, src []byte, s layout.Layout, from layout.DType, how device.Rounding) {
	if to == from {
		Copy(dst, d, src, s, to.Bits())
		return
	}
	walk(d, s, func(p, q int64) {
		bits := encode(to, decode(from, src, q), how)
		for i := range int64(to.Bits()) {
			setBit(dst, p*int64(to.Bits())+i, bits>>i&1 == 1)
		}
	})
}

// number is an element's value, exactly.
type number struct {
	negative bool // for NaN, the sign if it has one
	nan      bool
	integer  bool
	whole    uint64  // the magnitude of an integer
	real     float64 // the magnitude, if it has less than 54 bits; or infinity
}

func integer(negative bool, magnitude uint64) number {
	n := number{negative: negative, integer: true, whole: magnitude}
	if !n.long() {
		n.real = float64(magnitude)
	}
	return n
}

// long reports whether a magnitude does not fit in real.
func (n number) long() bool { return n.whole >= 1<<53 }

func decode(t layout.DType, packed []byte, i int64) number {
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		return integer(false, min(numeric.Uint(t, packed, i), 1))
	case numeric.IntKind:
		v := numeric.Int(t, packed, i)
		if v < 0 {
			return integer(true, -uint64(v)) // also of the least one
		}
		return integer(false, uint64(v))
	case numeric.UintKind:
		return integer(false, numeric.Uint(t, packed, i))
	}
	v := numeric.Float(t, packed, i)
	if math.IsNaN(v) {
		f, _ := numeric.FloatFormatOf(t)
		top := numeric.Bits(packed, t.Bits(), i)>>(t.Bits()-1) == 1
		return number{nan: true, negative: top && (f.Special == numeric.IEEE || f.Special == numeric.AllOnes) && !f.Unsigned}
	}
	return number{negative: math.Signbit(v), real: math.Abs(v)}
}

func (n number) isZero() bool { return !n.nan && n.whole == 0 && n.real == 0 }

func (n number) isInfinite() bool { return math.IsInf(n.real, 1) }

// exact returns the magnitude, which is finite.
func (n number) exact() *big.Float {
	if n.long() {
		return new(big.Float).SetUint64(n.whole)
	}
	return big.NewFloat(n.real)
}

// less compares the magnitude, which is finite, with x.
func (n number) less(x float64) bool {
	if n.long() {
		return n.exact().Cmp(big.NewFloat(x)) < 0
	}
	return n.real < x
}

// more compares the magnitude, which is finite, with x.
func (n number) more(x float64) bool {
	if n.long() {
		return n.exact().Cmp(big.NewFloat(x)) > 0
	}
	return n.real > x
}

// encode returns the bits of a value in a type.
func encode(t layout.DType, n number, how device.Rounding) uint64 {
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		if n.isZero() {
			return 0
		}
		return 1
	case numeric.IntKind, numeric.UintKind:
		return encodeInteger(t, n, how)
	}
	switch {
	case t == layout.Float8E8M0:
		return encodeScale(n, how)
	case n.nan:
		return encodeNaN(t, n.negative, how)
	}
	bits := encodeMagnitude(t, n, how)
	if n.negative && !(bits == 0 && isUZ(t)) {
		bits |= 1 << (t.Bits() - 1)
	}
	return bits
}

// isUZ reports whether a type has neither -0 nor a signed NaN.
func isUZ(t layout.DType) bool {
	return t == layout.Float8E4M3FNUZ || t == layout.Float8E5M2FNUZ
}

func encodeInteger(t layout.DType, n number, how device.Rounding) uint64 {
	signed := numeric.KindOf(t) == numeric.IntKind
	count := math.Ldexp(1, t.Bits()) // of the type's values
	var v uint64                     // the magnitude of the result, or its low bits
	whole := math.Trunc(n.real)
	if t.Bits() < 8 {
		whole = math.RoundToEven(n.real)
	}
	switch {
	case n.nan:
		return 0
	case n.integer:
		v = n.whole
	case t.Bits() < 8 && !how.Legacy && n.isInfinite():
		return 0
	case t.Bits() < 8 && !how.Legacy:
		v = uint64(math.Mod(whole, count))
	case signed && n.negative:
		v = uint64(min(whole, count/2))
	case signed && whole >= count/2:
		v = 1<<(t.Bits()-1) - 1
	case !signed && n.negative:
		return 0
	case whole >= count:
		v = 1<<t.Bits() - 1
	default:
		v = uint64(whole)
	}
	if n.negative {
		v = -v
	}
	return v << (64 - t.Bits()) >> (64 - t.Bits())
}

// encodeScale is encode for Float8E8M0, whose pattern p is the number 2^(p-127). The number is
// rounded as if patterns were unlimited.
func encodeScale(n number, how device.Rounding) uint64 {
	const nan = 255
	least, most := uint64(0), uint64(254)
	if how.Unsaturated {
		least, most = nan, nan
	}
	switch {
	case n.nan:
		return nan
	case n.isInfinite():
		return most
	case n.isZero():
		return least
	}
	p := n.exact().MantExp(nil) - 1 + 127
	below := math.Ldexp(1, p-127)
	if how.Scale == device.RoundUp && n.more(below) || how.Scale == device.RoundNearest && !n.less(1.5*below) {
		p++
	}
	switch {
	case p < 0:
		return least
	case p > 254:
		return most
	}
	return uint64(p)
}

// encodeNaN returns the NaN of a type.
func encodeNaN(t layout.DType, negative bool, how device.Rounding) uint64 {
	nan := map[layout.DType]uint64{
		layout.Float64: 0x7ff8000000000000, layout.Float32: 0x7fc00000, layout.Float16: 0x7e00, layout.BFloat16: 0x7fc0,
		layout.Float8E4M3FN: 0x7f, layout.Float8E4M3FNUZ: 0x80, layout.Float8E5M2: 0x7e, layout.Float8E5M2FNUZ: 0x80,
		layout.Float4E2M1: 0x8,
	}[t]
	switch {
	case t == layout.Float4E2M1 && how.Legacy:
		return 7
	case negative:
		return nan | 1<<(t.Bits()-1)
	}
	return nan
}

// encodeMagnitude returns the bits of a value without its sign.
func encodeMagnitude(t layout.DType, n number, how device.Rounding) uint64 {
	switch t {
	case layout.Float64:
		if n.isInfinite() {
			return math.Float64bits(n.real)
		}
		v, _ := n.exact().Float64()
		return math.Float64bits(v)
	case layout.Float32:
		if n.isInfinite() {
			return uint64(math.Float32bits(float32(n.real)))
		}
		v, _ := n.exact().Float32()
		return uint64(math.Float32bits(v))
	}
	values := finiteValues(t)
	last := len(values) - 1
	beyond := 2*values[last] - values[last-1] // the value that would follow
	if !n.isInfinite() {
		// The last value that is not larger, and its distance.
		p := sort.Search(len(values), func(i int) bool { return n.less(values[i]) }) - 1
		next := beyond
		if p < last {
			next = values[p+1]
		}
		middle := (values[p] + next) / 2 // exact: formats have at most 16 bits
		if t == layout.BFloat16 && how.Legacy {
			return uint64(p)
		}
		if n.more(middle) || !n.less(middle) && p%2 == 1 {
			p++
		}
		if p <= last {
			return uint64(p)
		}
	}
	switch {
	case t == layout.Float16 || t == layout.BFloat16 || t == layout.Float8E5M2 && how.Unsaturated:
		return uint64(last + 1) // the infinity
	case t == layout.Float4E2M1 || !how.Unsaturated:
		return uint64(last)
	}
	return encodeNaN(t, false, how)
}

var tables sync.Map // of []float64 by type

// finiteValues returns the finite, non-negative values of a type of at most 16 bits, by their
// bits, in ascending order.
func finiteValues(t layout.DType) []float64 {
	if v, ok := tables.Load(t); ok {
		return v.([]float64)
	}
	f, _ := numeric.FloatFormatOf(t)
	var values []float64
	for p := uint64(0); p < 1<<(t.Bits()-1); p++ {
		if v := f.Decode(p); !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	tables.Store(t, values)
	return values
}
