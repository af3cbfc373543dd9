package cpu

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/simd"
	"github.com/restride/restride/layout"
)

// caster converts neighbours by value: whole lines with a vector kernel, if there is one, and the
// rest with a loop that gives the same results.
type caster struct {
	loop         loop
	kernel       func(*simd.Kernels) simd.Cast
	packing      func(*simd.Kernels) simd.Cast // packs elements of 4 bits, or nil
	tables       *byte                         // the kernel's tables
	dSize, sSize int64                         // bytes per element
	toFloat      *caster                       // the preceding conversion to float32, or nil
}

func newCaster(dst, src layout.DType, how device.Rounding) *caster {
	c := &caster{dSize: int64(max(dst.Bits()/8, 1)), sSize: int64(max(src.Bits()/8, 1))}
	from, to := numberOf(src, how), numberOf(dst, how)
	switch {
	case isByFloat(dst, src) && looseAlignment && !to.cuts:
		c.toFloat = casterOf(layout.Float32, src, how)
		c.sSize = 4
		src = layout.Float32
	case src.Bits() <= 8 && dst.Bits() <= 8, src.Bits() <= 4 && (dst.Bits() == 16 || dst.Bits() == 32):
		c.byTable(tableOf(from, to), dst.Bits())
	}
	switch {
	case c.kernel != nil || to.cuts:
	case to.wraps && src == layout.Float32 && to.kind != numeric.FloatKind:
		c.kernel = func(k *simd.Kernels) simd.Cast { return k.FloatToLow }
	default:
		c.kernel = castKernels[[2]layout.DType{dst, src}]
	}
	c.loop = newLoop(dst, src, how)
	if c.kernel == nil && looseAlignment {
		c.byRule(dst, src, to)
	}
	return c
}

// byTable gives a caster the kernel for tables of 256 elements of at most 8 bits, or of 16
// elements of 16 or 32 bits.
func (c *caster) byTable(table *[256]uint64, bits int) {
	switch bits {
	case 16:
		c.kernel = func(k *simd.Kernels) simd.Cast { return k.LookUp16 }
	case 32:
		c.kernel = func(k *simd.Kernels) simd.Cast { return k.LookUp32 }
	default:
		c.kernel = func(k *simd.Kernels) simd.Cast { return k.MapBytes }
		c.tables = &bytesOfTable(table)[0]
		return
	}
	c.tables = smallTable(table, bits)
}

// byRule gives a caster the kernel for the rule of its loop, if there is one.
func (c *caster) byRule(dst, src layout.DType, to *number) {
	switch {
	case src.Bits() == 8 && dst.Bits() == 16:
		if r := wordsOf(c.loop); r != nil {
			c.tables = (*byte)(unsafe.Pointer(r))
			c.kernel = func(k *simd.Kernels) simd.Cast { return k.ByteToWord }
		}
	case src.Bits() == 16 && dst.Bits() <= 4: // faster than narrowKernels
		if r := stepsOf(c.loop); r != nil {
			c.tables = (*byte)(unsafe.Pointer(r))
			c.kernel = func(k *simd.Kernels) simd.Cast { return k.WordToStep }
			if dst.Bits() == 4 {
				c.packing = func(k *simd.Kernels) simd.Cast { return k.WordToNibble }
			}
		}
	case narrowKernels[src] != nil:
		if r := narrowOf(to); r != nil {
			c.tables = (*byte)(unsafe.Pointer(r))
			c.kernel = narrowKernels[src]
		}
	}
}

// narrowKernels are indexed by the type that is narrowed.
var narrowKernels = map[layout.DType]func(*simd.Kernels) simd.Cast{
	layout.Float32:  func(k *simd.Kernels) simd.Cast { return k.FloatToNarrow },
	layout.Float16:  func(k *simd.Kernels) simd.Cast { return k.HalfToNarrow },
	layout.BFloat16: func(k *simd.Kernels) simd.Cast { return k.BfloatToNarrow },
}

// castKernels are indexed by dst's and src's type.
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

// isByFloat reports whether a conversion goes through float32, which must have all values of the
// source, so that rounding happens once.
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

// smallTable holds a table's first 16 elements in the kernels' format: 32-bit words, or, for 16
// bits, the low bytes and then the high bytes.
func smallTable(table *[256]uint64, bits int) *byte {
	small := new([64]byte)
	for x, v := range table[:16] {
		if bits == 16 {
			small[x], small[16+x] = byte(v), byte(v>>8)
		} else {
			binary.LittleEndian.PutUint32(small[4*x:], uint32(v))
		}
	}
	return &small[0]
}

// run converts n neighbours, past the caches where that pays off.
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

// direct is run without toFloat.
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

// pack is run for packed elements from number d of dst on, as far as a kernel can do it.
func (c *caster) pack(dst unsafe.Pointer, d int64, src unsafe.Pointer, n int64, past bool) (done int64) {
	if c.packing == nil || d%2 != 0 || n < 2*cacheLine {
		return 0
	}
	kernel := c.packing(kernels)
	if kernel == nil {
		return 0
	}
	past = past && (int64(uintptr(dst))+d/2)%cacheLine == 0
	lines := n / (2 * cacheLine)
	kernel(ptr(dst, d/2), (*byte)(src), lines, c.tables, past)
	return lines * 2 * cacheLine
}

// casters are the results of casterOf, by dst's and src's type and the rounding.
var casters [32][32][12]atomic.Pointer[caster]

// casterOf returns the caster between two types.
func casterOf(dst, src layout.DType, how device.Rounding) *caster {
	index := int(how.Scale)
	if how.Unsaturated {
		index += 3
	}
	if how.Legacy {
		index += 6
	}
	slot := &casters[dst][src][index]
	c := slot.Load()
	if c == nil {
		c = newCaster(dst, src, how)
		slot.Store(c)
	}
	return c
}

// plain is the default rounding.
var plain device.Rounding

// castPiece is the number of elements cast at a time through buffers: a multiple of 64, small
// enough for both sides to stay in L1.
const castPiece = 1024

// castRow is row by value. Elements that are not neighbours, or are below a byte, go through
// buffers.
func (c *conversion) castRow(e *ends, d, s, n int64, sc *scratch) {
	dSize, sSize := int64(max(c.dBits/8, 1)), int64(max(c.sBits/8, 1))
	if c.d == 1 && c.s == 1 && c.dBits >= 8 && c.sBits >= 8 {
		c.cast.run(unsafe.Add(e.dst, d*dSize), unsafe.Add(e.src, s*sSize), n, e.past, sc)
		return
	}
	if c.d == 1 && c.s == 1 && c.dBits == 4 && c.sBits >= 8 {
		done := c.cast.pack(e.dst, d, unsafe.Add(e.src, s*sSize), n, e.past)
		d, s, n = d+done, s+done, n-done
	}
	for ; n > 0; n -= castPiece {
		m := min(n, castPiece)
		var from unsafe.Pointer
		switch {
		case c.sBits < 8:
			from = room(&sc.spread, castPiece)
			c.spreadBits(from, e.src, s, m, meaningOf(c.sBits, false), sc)
		case c.s == 1 || m == 1:
			from = unsafe.Add(e.src, s*sSize)
		default:
			from = room(&sc.stage, castPiece*sSize)
			moveRow(from, e.src, 0, s*sSize, axis{N: m, D: sSize, S: c.s * sSize}, c.sBits)
		}
		switch {
		case c.dBits < 8:
			wide := room(&sc.wide, castPiece)
			c.cast.run(wide, from, m, false, sc)
			c.packTo(e, d, wide, 0, m, sc)
		case c.d == 1 || m == 1:
			c.cast.run(unsafe.Add(e.dst, d*dSize), from, m, e.past, sc)
		default:
			tile := room(&sc.tile, castPiece*dSize)
			c.cast.run(tile, from, m, false, sc)
			moveRow(e.dst, tile, d*dSize, 0, axis{N: m, D: c.d * dSize, S: dSize}, c.dBits)
		}
		d += m * c.d
		s += m * c.s
	}
}

// moveRow moves elements of so many bits one by one, at any address; steps are in bytes.
func moveRow(dst, src unsafe.Pointer, d, s int64, x axis, bits int) {
	switch {
	case bits == 8:
		moveElementRow[uint8](dst, src, d, s, x)
	case bits == 16 && looseAlignment:
		moveElementRow[uint16](dst, src, d, s, x)
	case bits == 32 && looseAlignment:
		moveElementRow[uint32](dst, src, d, s, x)
	case bits == 64 && looseAlignment:
		moveElementRow[uint64](dst, src, d, s, x)
	case bits == 128 && looseAlignment:
		moveElementRow[[2]uint64](dst, src, d, s, x)
	default:
		size := int64(bits / 8)
		for i := range x.N {
			copy(span(dst, d+i*x.D, size), span(src, s+i*x.S, size))
		}
	}
}
