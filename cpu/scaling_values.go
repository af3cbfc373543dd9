package cpu

import (
	"math"
	"unsafe"

	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// bits returns an element's bits.
func (o *scaled) bits(at int64) uint64 {
	if w := int64(o.is.bits); w < 8 {
		return uint64(getBits(o.base, at*w, w))
	}
	return o.is.get(o.base, at)
}

// float returns an element as a float.
func (o *scaled) float(at int64) float32 {
	if o.dtype == layout.Float16 && looseAlignment {
		return halfFloat(uint32(*(*uint16)(unsafe.Add(o.base, 2*at))))
	}
	x := o.bits(at)
	switch {
	case o.is.bits <= 8:
		return o.values[x]
	case o.dtype == layout.Float16:
		return halfFloat(uint32(x))
	case o.dtype == layout.Float32:
		return math.Float32frombits(uint32(x))
	case o.dtype == layout.BFloat16:
		return math.Float32frombits(uint32(x) << 16)
	}
	return math.Float32frombits(uint32(numbers[layout.Float32].encode(o.is.decode(x))))
}

// halfFloat returns the value of a float16.
func halfFloat(x uint32) float32 {
	v := math.Float32frombits(x&0x7fff<<13) * 0x1p112 // exact, including subnormal numbers
	if x&0x7c00 == 0x7c00 {
		v = math.Float32frombits(x&0x7fff<<13 | floatInfinity)
	}
	return math.Float32frombits(math.Float32bits(v) | x&0x8000<<16)
}

// whole returns an integer element.
func (o *scaled) whole(at int64) int64 {
	v := o.is.decode(o.bits(at))
	if v.negative {
		return -int64(v.magnitude)
	}
	return int64(v.magnitude)
}

// numbers are the results of numberOf with the default rounding, by type, except strings.
var numbers = func() (all [32]*number) {
	for _, t := range layout.DTypes() {
		if t != layout.String {
			all[t] = numberOf(t, plain)
		}
	}
	return all
}()

// tabulate fills the values of a type of at most 8 bits.
func (o *scaled) tabulate() {
	casterOf(layout.Float32, o.dtype, plain).loop(unsafe.Pointer(&o.values), unsafe.Pointer(&allBytes), 1<<o.is.bits)
}

var allBytes = func() (all [256]byte) {
	for i := range all {
		all[i] = byte(i)
	}
	return all
}()

// isInteger reports whether the operand exists and has integers.
func (o *scaled) isInteger() bool {
	return o.is != nil && (o.is.kind == numeric.IntKind || o.is.kind == numeric.UintKind)
}
