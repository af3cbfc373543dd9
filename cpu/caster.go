package cpu

import (
	"encoding/binary"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/simd"
	"github.com/restride/restride/layout"
)

// caster converts neighbours by value: whole lines by a vector kernel, if there is
// one, and the rest by a loop that does the same.
type caster struct {
	loop         loop
	kernel       func(*simd.Kernels) simd.Cast
	tables       *byte   // the kernel's
	dSize, sSize int64   // bytes of an element
	toFloat      *caster // before: a conversion to float32
}

func newCaster(dst, src layout.DType, how device.Rounding) *caster {
	c := &caster{dSize: int64(max(dst.Bits()/8, 1)), sSize: int64(max(src.Bits()/8, 1))}
	from, to := numberOf(src, how), numberOf(dst, how)
	switch {
	case isByFloat(dst, src) && looseAlignment && !to.cuts:
		c.toFloat = casterOf(layout.Float32, src, how)
		c.sSize = 4
		src = layout.Float32
	case src.Bits() <= 4 && dst.Bits() == 16:
		c.kernel = func(k *simd.Kernels) simd.Cast { return k.LookUp16 }
		c.tables = smallTable(from, to)
	case src.Bits() <= 4 && dst.Bits() == 32:
		c.kernel = func(k *simd.Kernels) simd.Cast { return k.LookUp32 }
		c.tables = smallTable(from, to)
	}
	switch {
	case c.kernel != nil || to.cuts:
	case to.wraps && src == layout.Float32 && to.kind != numeric.FloatKind:
		c.kernel = func(k *simd.Kernels) simd.Cast { return k.FloatToLow }
	default:
		c.kernel = castKernels[[2]layout.DType{dst, src}]
	}
	c.loop = newLoop(dst, src, how)
	return c
}

// castKernels are by dst's and src's type.
var castKernels = map[[2]layout.DType]func(*simd.Kernels) simd.Cast{
	{layout.Float32, layout.Float16}:  func(k *simd.Kernels) simd.Cast { return k.HalfToFloat },
	{layout.Float32, layout.BFloat16}: func(k *simd.Kernels) simd.Cast { return k.BfloatToFloat },
	{layout.Float32, layout.Bool}:     func(k *simd.Kernels) simd.Cast { return k.BoolToFloat },
	{layout.Float32, layout.Int8}:     func(k *simd.Kernels) simd.Cast { return k.Int8ToFloat },
	{layout.Float32, layout.Int16}:    func(k *simd.Kernels) simd.Cast { return k.Int16ToFloat },
	{layout.Float32, layout.Int32}:    func(k *simd.Kernels) simd.Cast { return k.Int32ToFloat },
	{layout.Float32, layout.Int64}:    func(k *simd.Kernels) simd.Cast { return k.Int64ToFloat },
	{layout.Float32, layout.Uint8}:    func(k *simd.Kernels) simd.Cast { return k.Uint8ToFloat },
	{layout.Float32, layout.Uint16}:   func(k *simd.Kernels) simd.Cast { return k.Uint16ToFloat },
	{layout.Float16, layout.Float32}:  func(k *simd.Kernels) simd.Cast { return k.FloatToHalf },
	{layout.BFloat16, layout.Float32}: func(k *simd.Kernels) simd.Cast { return k.FloatToBfloat },
	{layout.Bool, layout.Float32}:     func(k *simd.Kernels) simd.Cast { return k.FloatToBool },
	{layout.Int8, layout.Float32}:     func(k *simd.Kernels) simd.Cast { return k.FloatToInt8 },
	{layout.Uint8, layout.Float32}:    func(k *simd.Kernels) simd.Cast { return k.FloatToUint8 },
	{layout.Int32, layout.Float32}:    func(k *simd.Kernels) simd.Cast { return k.FloatToInt32 },
}

// isByFloat reports whether a conversion goes by way of float32, as it may if that
// has all values of the source: then rounding happens once.
func isByFloat(dst, src layout.DType) bool {
	isHalf := func(t layout.DType) bool { return t == layout.Float16 || t == layout.BFloat16 }
	switch {
	case isHalf(src):
		return dst != layout.Float32 && dst.Bits() > 8
	case isHalf(dst):
		return src == layout.Int16 || src == layout.Uint16
	}
	return false
}

// smallTable tabulates a conversion from at most 4 bits, to words of 32 bits, or to
// bytes of 16: the low ones and then the high ones.
func smallTable(from, to *number) *byte {
	table := new([64]byte)
	for x, v := range tableOf(from, to)[:16] {
		if to.bits == 16 {
			table[x], table[16+x] = byte(v), byte(v>>8)
		} else {
			binary.LittleEndian.PutUint32(table[4*x:], uint32(v))
		}
	}
	return &table[0]
}

// run converts n neighbours, past the caches where that pays.
func (c *caster) run(dst, src unsafe.Pointer, n int64, past bool, sc *scratch) {
	if c.toFloat == nil {
		c.direct(dst, src, n, past)
		return
	}
	floats := room(&sc.floats, castPiece*4)
	for at := int64(0); at < n; at += castPiece {
		m := min(n-at, castPiece)
		c.toFloat.direct(floats, unsafe.Add(src, at*c.toFloat.sSize), m, false)
		c.direct(unsafe.Add(dst, at*c.dSize), floats, m, past)
	}
}

// direct is run without what comes before.
func (c *caster) direct(dst, src unsafe.Pointer, n int64, past bool) {
	if c.kernel != nil && n*c.dSize >= cacheLine {
		if kernel := c.kernel(kernels); kernel != nil {
			past = past && int64(uintptr(dst))%c.dSize == 0
			lines, head, past := linesOf(dst, 0, n*c.dSize, past)
			done := (head + lines*cacheLine) / c.dSize
			head /= c.dSize
			c.loop(dst, src, head)
			kernel(ptr(dst, head*c.dSize), ptr(src, head*c.sSize), lines, c.tables, past)
			if n -= done; n == 0 {
				return
			}
			dst, src = unsafe.Add(dst, done*c.dSize), unsafe.Add(src, done*c.sSize)
		}
	}
	c.loop(dst, src, n)
}
