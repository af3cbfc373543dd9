package simd_test

import (
	"encoding/binary"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// casts has, for each kernel, the bytes of its elements and the rule. Package cpu
// tests all values; here are such as every kernel may meet, in every place.
var casts = map[string]struct {
	from, to int
	rule     func(x uint64, tables []byte) uint64
}{
	"HalfToFloat":   {2, 4, func(x uint64, _ []byte) uint64 { return clean(half(uint16(x)), x>>15) }},
	"BfloatToFloat": {2, 4, func(x uint64, _ []byte) uint64 { return clean(bfloat(uint16(x)), x>>15) }},
	"BoolToFloat":   {1, 4, func(x uint64, _ []byte) uint64 { return bitsOf(float32(min(x, 1))) }},
	"Int8ToFloat":   {1, 4, func(x uint64, _ []byte) uint64 { return bitsOf(float32(int8(x))) }},
	"Int16ToFloat":  {2, 4, func(x uint64, _ []byte) uint64 { return bitsOf(float32(int16(x))) }},
	"Int32ToFloat":  {4, 4, func(x uint64, _ []byte) uint64 { return bitsOf(float32(int32(x))) }},
	"Int64ToFloat":  {8, 4, func(x uint64, _ []byte) uint64 { return bitsOf(float32(int64(x))) }},
	"Uint8ToFloat":  {1, 4, func(x uint64, _ []byte) uint64 { return bitsOf(float32(uint8(x))) }},
	"Uint16ToFloat": {2, 4, func(x uint64, _ []byte) uint64 { return bitsOf(float32(uint16(x))) }},
	"FloatToHalf":   {4, 2, func(x uint64, _ []byte) uint64 { return nearest(x, 0x7c00, 0x7e00, half) }},
	"FloatToBfloat": {4, 2, func(x uint64, _ []byte) uint64 { return nearest(x, 0x7f80, 0x7fc0, bfloat) }},
	"FloatToBool":   {4, 1, func(x uint64, _ []byte) uint64 { return min(x<<33, 1) }},
	"FloatToInt8":   {4, 1, func(x uint64, _ []byte) uint64 { return uint64(uint8(truncate(x, -128, 127))) }},
	"FloatToUint8":  {4, 1, func(x uint64, _ []byte) uint64 { return uint64(truncate(x, 0, 255)) }},
	"FloatToInt32":  {4, 4, func(x uint64, _ []byte) uint64 { return uint64(uint32(truncate(x, math.MinInt32, math.MaxInt32))) }},
	"FloatToLow":    {4, 1, func(x uint64, _ []byte) uint64 { return uint64(uint8(truncate(x, -1<<40, 1<<40))) }},
	"LookUp16":      {1, 2, func(x uint64, t []byte) uint64 { return uint64(t[x]) | uint64(t[16+x])<<8 }},
	"ByteToWord":    {1, 2, byteToWord},
	"WordToStep":    {2, 1, wordToStep},
	"LookUp32":      {1, 4, func(x uint64, t []byte) uint64 { return uint64(binary.LittleEndian.Uint32(t[4*x:])) }},
}

// words and steps are tables whose every field counts.
var (
	words = simd.ByteWords{
		High: [16]byte(noise(16)), Low: [16]byte(noise(32)[16:]), Shift: 1, Mask: 0x3f, Bias: 0x15, Odd: 0x80, Flip: 0x80, Tested: 0xff, At: 0x7c, Sign: 0x80, Special: 0x3e,
	}
	steps = simd.Steps{Above: [7]int16{3, 5, 0x100, 0x1234, 0x3fff, 0x4000, 0x7000}, At: 0x7c00, Special: 5, Sign: 8}
)

func byteToWord(x uint64, _ []byte) uint64 {
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

func wordToStep(x uint64, _ []byte) uint64 {
	m, sum := int16(x&0x7fff), uint64(0)
	for _, step := range steps.Above {
		if m > step {
			sum++
		}
	}
	switch {
	case m > steps.At:
		return uint64(steps.Special)
	case x>>15 == 1:
		return sum + uint64(steps.Sign)
	}
	return sum
}

func bitsOf(x float32) uint64 { return uint64(math.Float32bits(x)) }

// clean returns the bits of a float, of a NaN those that are left.
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

// nearest searches the 16-bit float that is nearest, and even of two.
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
		above = 2*below - float64(value(uint16(lo-1))) // what would come next
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
	tables := noise(64)
	each(t, func(t *testing.T, k *simd.Kernels) {
		all := reflect.ValueOf(k.Casts)
		require.Equal(t, len(casts), all.NumField(), "a kernel without a test")
		for name, c := range casts {
			kernel := all.FieldByName(name).Interface().(simd.Cast)
			if kernel == nil {
				continue
			}
			for lines := range 12 {
				for at := range 8 {
					for _, atEnd := range []bool{false, true} {
						past := at == 0
						n := lines * 64 / c.to
						src := fenced(t, max(n*c.from, 1), atEnd)
						if c.from == 4 {
							copy(src, floats(n*4))
						}
						if name[0] == 'L' {
							for i := range src {
								src[i] &= 15
							}
						}
						got, start := room(lines*64, 7*at, past)
						want := append([]byte{}, got...)
						for i := range n {
							var x, y [8]byte
							copy(x[:], src[i*c.from:][:c.from])
							binary.LittleEndian.PutUint64(y[:], c.rule(binary.LittleEndian.Uint64(x[:]), tables))
							copy(want[start+i*c.to:], y[:c.to])
						}
						table := &tables[0]
						switch name {
						case "ByteToWord":
							table = (*byte)(unsafe.Pointer(&words))
						case "WordToStep":
							table = (*byte)(unsafe.Pointer(&steps))
						}
						kernel(&got[start], &src[0], int64(lines), table, past)
						require.Equal(t, want, got, "%s: %d lines to byte %d, past the caches: %v", name, lines, start, past)
					}
				}
			}
		}
	})
}
