package cpu

import (
	"math"
	"unsafe"

	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// Conversions to types of at most 8 bits with tables of all 16-bit patterns.

// byteLoop returns the loop to a type of at most 8 bits, or nil.
func byteLoop(src layout.DType, from, to *number) loop {
	isFloat := to.kind == numeric.FloatKind || to.kind == numeric.BoolKind
	switch {
	case to.bits > 8:
		return nil
	case from.bits == 16:
		table := bytesOf(from, to)
		return func(dst, src unsafe.Pointer, n int64) {
			d, s := unsafe.Slice((*byte)(dst), n), unsafe.Slice((*uint16)(src), n)
			for i, x := range s {
				d[i] = table[x]
			}
		}
	case src == layout.Float32 && isFloat:
		// A float is truncated to a bfloat16 whose last bit is also set if any removed bit
		// was set: it has enough more bits than the narrow type that rounding gives the
		// same result.
		odd := numberOf(layout.BFloat16, plain)
		table := bytesOf(odd, to)
		return func(dst, src unsafe.Pointer, n int64) {
			d, s := unsafe.Slice((*byte)(dst), n), unsafe.Slice((*uint32)(src), n)
			for i, x := range s {
				d[i] = table[uint16(x>>16)|uint16((x&0xffff+0xffff)>>16)]
			}
		}
	case src == layout.Float32 && to.bits < 8:
		return narrowIntegers[float32](to)
	case src == layout.Float64 && to.bits < 8 && !isFloat:
		return narrowIntegers[float64](to)
	}
	return nil
}

// bytesOf tabulates a conversion from 16 bits.
func bytesOf(from, to *number) *[1 << 16]byte {
	table := new([1 << 16]byte)
	for x := range table {
		table[x] = byte(to.encode(from.decode(uint64(x))))
	}
	return table
}

// narrowIntegers converts floats to integers below a byte.
func narrowIntegers[S float32 | float64](to *number) loop {
	mask := byte(to.sign<<1 - 1)
	least, most := S(0), S(mask)
	if to.kind == numeric.IntKind {
		least, most = -S(to.sign), S(to.sign-1)
	}
	return func(dst, src unsafe.Pointer, n int64) {
		d, s := unsafe.Slice((*byte)(dst), n), unsafe.Slice((*S)(src), n)
		for i, v := range s {
			switch {
			case v != v:
				v = 0
			case !to.wraps:
				v = min(max(v, least), most)
			case v >= 1<<62 || v <= -1<<62:
				v = 0 // so are the low bits
			}
			d[i] = byte(int64(math.RoundToEven(float64(v)))) & mask
		}
	}
}
