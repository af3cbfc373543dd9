package cpu

import (
	"math"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// loop converts n neighbours. Elements below a byte are stored as bytes; the source's unused high
// bits are 0.
type loop func(dst, src unsafe.Pointer, n int64)

func newLoop(dst, src layout.DType, how device.Rounding) loop {
	from, to := numberOf(src, how), numberOf(dst, how)
	if src.Bits() <= 8 {
		return tableLoop(tableOf(from, to), to.bits)
	}
	if l := byteLoop(src, from, to); l != nil && looseAlignment {
		return l
	}
	if l := typedLoop(dst, src); l != nil && looseAlignment && !to.cuts {
		return l
	}
	return func(dst, src unsafe.Pointer, n int64) {
		for i := range n {
			to.put(dst, i, to.encode(from.decode(from.get(src, i))))
		}
	}
}

// tableLoop looks elements of at most 8 bits up in a table of elements of so many bits.
func tableLoop(table *[256]uint64, bits int) loop {
	switch {
	case bits <= 8:
		return lookUpBytes(table)
	case bits == 16 && looseAlignment:
		return lookUp[uint16](table)
	case bits == 32 && looseAlignment:
		return lookUp[uint32](table)
	case looseAlignment:
		return lookUp[uint64](table)
	}
	to := &number{bits: bits}
	return func(dst, src unsafe.Pointer, n int64) {
		for i, x := range unsafe.Slice((*byte)(src), n) {
			to.put(dst, int64(i), table[x])
		}
	}
}

// tableOf tabulates a conversion from a type of at most 8 bits.
func tableOf(from, to *number) *[256]uint64 {
	table := new([256]uint64)
	for x := range uint64(1) << from.bits {
		table[x] = to.encode(from.decode(x))
	}
	return table
}

// lookUpBytes maps bytes to bytes, and writes eight at a time.
func lookUpBytes(table *[256]uint64) loop {
	narrow := bytesOfTable(table)
	return func(dst, src unsafe.Pointer, n int64) {
		i := int64(0)
		for ; i+8 <= n; i += 8 {
			x := load64(src, i)
			low := uint64(narrow[x&255]) | uint64(narrow[x>>8&255])<<8 | uint64(narrow[x>>16&255])<<16 | uint64(narrow[x>>24&255])<<24
			high := uint64(narrow[x>>32&255]) | uint64(narrow[x>>40&255])<<8 | uint64(narrow[x>>48&255])<<16 | uint64(narrow[x>>56])<<24
			store64(dst, i, low|high<<32)
		}
		for ; i < n; i++ {
			store8(dst, i, narrow[load8(src, i)])
		}
	}
}

// bytesOfTable is a table with entries of at most 8 bits.
func bytesOfTable(table *[256]uint64) *[256]byte {
	narrow := new([256]byte)
	for i, v := range table {
		narrow[i] = byte(v)
	}
	return narrow
}

func lookUp[D uint16 | uint32 | uint64](table *[256]uint64) loop {
	var narrow [256]D
	for i, v := range table {
		narrow[i] = D(v)
	}
	return func(dst, src unsafe.Pointer, n int64) {
		d, s := unsafe.Slice((*D)(dst), n), unsafe.Slice((*byte)(src), n)
		for i, x := range s {
			d[i] = narrow[x]
		}
	}
}

// Loops between the commonest types, for machines that are little-endian and read words at any
// address. Results follow the general rule, including NaNs: only their sign is preserved.

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// typedLoop returns the loop between two types, or nil.
func typedLoop(dst, src layout.DType) loop {
	switch src {
	case layout.Int16:
		return fromInteger[int16](dst)
	case layout.Int32:
		return fromInteger[int32](dst)
	case layout.Int64:
		return fromInteger[int64](dst)
	case layout.Uint16:
		return fromInteger[uint16](dst)
	case layout.Uint32:
		return fromInteger[uint32](dst)
	case layout.Uint64:
		return fromInteger[uint64](dst)
	case layout.Float16:
		if dst == layout.Float32 {
			return halfToFloat
		}
	case layout.BFloat16:
		if dst == layout.Float32 {
			return bfloatToFloat
		}
	case layout.Float32:
		return fromFloat(dst)
	case layout.Float64:
		return fromDouble(dst)
	}
	return nil
}

func fromInteger[S integer](dst layout.DType) loop {
	switch dst {
	case layout.Int8, layout.Uint8:
		return integers[uint8, S]
	case layout.Int16, layout.Uint16:
		return integers[uint16, S]
	case layout.Int32, layout.Uint32:
		return integers[uint32, S]
	case layout.Int64, layout.Uint64:
		return integers[uint64, S]
	case layout.Float32:
		return integers[float32, S]
	case layout.Float64:
		return integers[float64, S]
	}
	return nil
}

func integers[D integer | float32 | float64, S integer](dst, src unsafe.Pointer, n int64) {
	d, s := unsafe.Slice((*D)(dst), n), unsafe.Slice((*S)(src), n)
	for i, v := range s {
		d[i] = D(v)
	}
}

func fromFloat(dst layout.DType) loop {
	switch dst {
	case layout.Float16:
		return floatToHalf
	case layout.BFloat16:
		return floatToBfloat
	case layout.Float64:
		return floatToDouble
	}
	return truncating[float32](dst)
}

func fromDouble(dst layout.DType) loop {
	if dst == layout.Float32 {
		return doubleToFloat
	}
	return truncating[float64](dst)
}

// truncating returns the loop from a float to an integer.
func truncating[S float32 | float64](dst layout.DType) loop {
	switch dst {
	case layout.Int8:
		return truncate[int8, S](math.MinInt8, math.MaxInt8)
	case layout.Int16:
		return truncate[int16, S](math.MinInt16, math.MaxInt16)
	case layout.Int32:
		return truncate[int32, S](math.MinInt32, math.MaxInt32)
	case layout.Int64:
		return truncate[int64, S](math.MinInt64, math.MaxInt64)
	case layout.Uint8:
		return truncate[uint8, S](0, math.MaxUint8)
	case layout.Uint16:
		return truncate[uint16, S](0, math.MaxUint16)
	case layout.Uint32:
		return truncate[uint32, S](0, math.MaxUint32)
	case layout.Uint64:
		return truncate[uint64, S](0, math.MaxUint64)
	}
	return nil
}

func truncate[D integer, S float32 | float64](least, most D) loop {
	low, beyond := S(least), 2*S(most/2+1) // exact: zero or powers of two
	return func(dst, src unsafe.Pointer, n int64) {
		d, s := unsafe.Slice((*D)(dst), n), unsafe.Slice((*S)(src), n)
		for i, v := range s {
			switch {
			case v >= low && v < beyond:
				d[i] = D(v)
			case v >= beyond:
				d[i] = most
			case v < low:
				d[i] = least
			default: // NaN
				d[i] = 0
			}
		}
	}
}

const (
	floatSign = 1 << 31
	floatInf  = 0x7f800000
	floatNaN  = 0x7fc00000
)

func floatToBfloat(dst, src unsafe.Pointer, n int64) {
	d, s := unsafe.Slice((*uint16)(dst), n), unsafe.Slice((*uint32)(src), n)
	for i, x := range s {
		if x&^floatSign > floatInf {
			x = floatNaN | x&floatSign
		} else {
			x += 0x7fff + x>>16&1
		}
		d[i] = uint16(x >> 16)
	}
}

func bfloatToFloat(dst, src unsafe.Pointer, n int64) {
	d, s := unsafe.Slice((*uint32)(dst), n), unsafe.Slice((*uint16)(src), n)
	for i, h := range s {
		x := uint32(h) << 16
		if x&^floatSign > floatInf {
			x = floatNaN | x&floatSign
		}
		d[i] = x
	}
}

func floatToDouble(dst, src unsafe.Pointer, n int64) {
	d, s := unsafe.Slice((*float64)(dst), n), unsafe.Slice((*float32)(src), n)
	for i, v := range s {
		if v != v {
			d[i] = math.Float64frombits(uint64(math.Float32bits(v)&floatSign)<<32 | 0x7ff8<<48)
		} else {
			d[i] = float64(v)
		}
	}
}

func doubleToFloat(dst, src unsafe.Pointer, n int64) {
	d, s := unsafe.Slice((*float32)(dst), n), unsafe.Slice((*float64)(src), n)
	for i, v := range s {
		if v != v {
			d[i] = math.Float32frombits(uint32(math.Float64bits(v)>>32)&floatSign | floatNaN)
		} else {
			d[i] = float32(v)
		}
	}
}
