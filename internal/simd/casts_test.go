package simd_test

import (
	"encoding/binary"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/restride/restride/internal/simd"
)

// casts has, for each kernel, the bytes of its elements and the rule. Package cpu tests all
// values; these tests use typical ones, in every place.
var casts = map[string]linesRule{
	"HalfToFloat":    {2, 4, nil, func(x uint64, _ int) uint64 { return clean(half(uint16(x)), x>>15) }},
	"BfloatToFloat":  {2, 4, nil, func(x uint64, _ int) uint64 { return clean(bfloat(uint16(x)), x>>15) }},
	"BoolToFloat":    {1, 4, nil, func(x uint64, _ int) uint64 { return bitsOf(float32(min(x, 1))) }},
	"Int8ToFloat":    {1, 4, nil, func(x uint64, _ int) uint64 { return bitsOf(float32(int8(x))) }},
	"Int16ToFloat":   {2, 4, nil, func(x uint64, _ int) uint64 { return bitsOf(float32(int16(x))) }},
	"Int32ToFloat":   {4, 4, nil, func(x uint64, _ int) uint64 { return bitsOf(float32(int32(x))) }},
	"Int64ToFloat":   {8, 4, nil, func(x uint64, _ int) uint64 { return bitsOf(float32(int64(x))) }},
	"Uint8ToFloat":   {1, 4, nil, func(x uint64, _ int) uint64 { return bitsOf(float32(uint8(x))) }},
	"Uint16ToFloat":  {2, 4, nil, func(x uint64, _ int) uint64 { return bitsOf(float32(uint16(x))) }},
	"FloatToHalf":    {4, 2, nil, func(x uint64, _ int) uint64 { return nearest(x, 0x7c00, 0x7e00, half) }},
	"FloatToBfloat":  {4, 2, nil, func(x uint64, _ int) uint64 { return nearest(x, 0x7f80, 0x7fc0, bfloat) }},
	"FloatToBool":    {4, 1, nil, func(x uint64, _ int) uint64 { return min(x<<33, 1) }},
	"FloatToInt8":    {4, 1, nil, func(x uint64, _ int) uint64 { return uint64(uint8(truncate(x, -128, 127))) }},
	"FloatToUint8":   {4, 1, nil, func(x uint64, _ int) uint64 { return uint64(truncate(x, 0, 255)) }},
	"FloatToInt32":   {4, 4, nil, func(x uint64, _ int) uint64 { return uint64(uint32(truncate(x, math.MinInt32, math.MaxInt32))) }},
	"FloatToLow":     {4, 1, nil, func(x uint64, _ int) uint64 { return uint64(uint8(truncate(bitsOf(roundToEven(x)), -1<<40, 1<<40))) }},
	"LookUp16":       {1, 2, &tables[0], func(x uint64, _ int) uint64 { return uint64(tables[x]) | uint64(tables[16+x])<<8 }},
	"ByteToWord":     {1, 2, (*byte)(unsafe.Pointer(&words)), byteToWord},
	"WordToStep":     {2, 1, bySteps, wordToStep},
	"WordToNibble":   {4, 1, bySteps, func(x uint64, at int) uint64 { return wordToStep(x&0xffff, at)&15 | wordToStep(x>>16, at)<<4 }},
	"FloatToNarrow":  {4, 1, byNarrow, toNarrow},
	"HalfToNarrow":   {2, 1, byNarrow, func(x uint64, at int) uint64 { return toNarrow(bitsOf(half(uint16(x))), at) }},
	"BfloatToNarrow": {2, 1, byNarrow, func(x uint64, at int) uint64 { return toNarrow(x<<16, at) }},
	"LookUp32":       {1, 4, &tables[0], func(x uint64, _ int) uint64 { return uint64(binary.LittleEndian.Uint32(tables[4*x:])) }},
}

// Tables in which every field matters.
var (
	tables = noise(64)
	words  = simd.ByteWords{
		High: [16]byte(noise(16)), Low: [16]byte(noise(32)[16:]), Shift: 1, Mask: 0x3f, Bias: 0x15, Odd: 0x80, Flip: 0x80, Tested: 0xff, At: 0x7c, Sign: 0x80, Special: 0x3e,
	}
	steps = simd.Steps{Shift: 7, Base: 0x3210, Round: 0x7f, Most: 0x3a00, Special: 5, Sign: 8}
	// narrow is for float8e4m3fnuz; too large values become NaN.
	narrow   = simd.Narrow{Shift: 20, Step: 20 << 23, One: 140 << 23, First: 140 << 3, None: 140<<3 + 0x80, Most: 135 << 23, Sign: 0x80, Least: 1}
	byNarrow = (*byte)(unsafe.Pointer(&narrow))
	bySteps  = func() *byte {
		for i, code := range noise(simd.StepPlaces) {
			steps.Codes[i] = code & 7
		}
		return (*byte)(unsafe.Pointer(&steps))
	}()
)

func byteToWord(x uint64, _ int) uint64 {
	m, sign := byte(x)&0x7f, byte(x)&0x80
	high, low := m>>words.Shift&words.Mask+words.Bias, m<<7&words.Odd
	if m < 16 {
		high, low = words.High[m], words.Low[m]
	}
	high |= sign
	if int8((byte(x)^words.Flip)&words.Tested) > int8(words.At) {
		high, low = words.Special|sign&words.Sign, 0
	}
	return uint64(low) | uint64(high)<<8
}

func wordToStep(x uint64, _ int) uint64 {
	m := int(x & 0x7fff)
	above := max(m-int(steps.Base), 0)
	place := above>>steps.Shift + (above+int(steps.Round))>>steps.Shift
	code := steps.Codes[min(place, simd.StepPlaces-1)]
	if x>>15 == 1 {
		code += steps.Sign
	}
	if m > int(steps.Most) {
		code = steps.Special
	}
	return uint64(code)
}

func toNarrow(x uint64, _ int) uint64 {
	code := nearest(x&(1<<31-1), 0x80, 0x80, func(code uint16) float32 {
		exponent, mantissa := max(int(code>>3), 1), float64(code&7)
		if code >= 8 {
			mantissa += 8
		}
		return float32(math.Ldexp(mantissa, exponent-11))
	})
	if x>>31 == 1 && code != 0 {
		code |= 0x80
	}
	return code
}

func bitsOf(x float32) uint64 { return uint64(math.Float32bits(x)) }

// clean returns the bits of a float; for a NaN, the bits that are kept.
func clean(x float32, sign uint64) uint64 {
	if x != x {
		return sign<<31 | 0x7fc00000
	}
	return bitsOf(x)
}

func half(h uint16) float32 {
	sign, exponent, mantissa := 1-2*float64(h>>15), int(h>>10&31), float64(h&0x3ff)
	switch exponent {
	case 0:
		return float32(sign * math.Ldexp(mantissa, -24))
	case 31:
		if mantissa != 0 {
			return float32(math.NaN())
		}
		return float32(sign * math.Inf(1))
	}
	return float32(sign * math.Ldexp(1024+mantissa, exponent-25))
}

func bfloat(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// nearest finds the nearest 16-bit float, ties to even.
func nearest(x, infinity, nan uint64, value func(uint16) float32) uint64 {
	sign, m := x>>31<<15, float64(math.Float32frombits(uint32(x)&^(1<<31)))
	switch {
	case m != m:
		return sign | nan
	case math.IsInf(m, 1):
		return sign | infinity
	}
	lo, hi := uint64(0), infinity
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; float64(value(uint16(mid))) <= m {
			lo = mid
		} else {
			hi = mid
		}
	}
	below, above := float64(value(uint16(lo))), float64(value(uint16(hi)))
	if hi == infinity {
		above = 2*below - float64(value(uint16(lo-1))) // the value that would follow
	}
	if m-below > above-m || m-below == above-m && lo%2 == 1 {
		return sign | hi
	}
	return sign | lo
}

// truncate returns the integer of a float, within bounds.
func truncate(x uint64, least, most float64) int64 {
	v := float64(math.Float32frombits(uint32(x)))
	if v != v {
		return 0
	}
	return int64(min(max(v, least), most))
}

func roundToEven(x uint64) float32 {
	return float32(math.RoundToEven(float64(math.Float32frombits(uint32(x)))))
}

// floats returns n bytes of floats, many of them out of the ordinary.
func floats(n int) []byte {
	b := noise(n)
	for i, v := range []uint32{
		0, 1 << 31, 1, 0x7f800000, 0xff800000, 0x7f800001, 0xffc12345, 0x7fc00000, 0x4f000000, 0xcf000000, 0xcf000001, 0x4effffff,
		0x43000000, 0xc3000000, 0xc3010000, 0x42fe0000, 0x437f0000, 0x43800000, 0xbf7fffff, 0x3f800000, 0x477fe000, 0x477ff000,
		0x477fefff, 0x33000000, 0x33000001, 0x38800000, 0x387fffff, 0x5effffff, 0xdf000000,
	} {
		if at := 7*4*i + 4; at+4 <= n {
			binary.LittleEndian.PutUint32(b[at:], v)
		}
	}
	return b
}

func TestCasts(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		testLines(t, reflect.ValueOf(k.Casts), casts, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	})
}
