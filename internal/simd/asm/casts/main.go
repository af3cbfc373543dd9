// Command casts writes the kernels that convert elements by value.
package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/restride/restride/internal/simd/asm/emit"
)

func main() {
	for _, v := range Both {
		toFloats(v)
		fromFloats(v)
		lookUp16(v)
		lookUp32(v)
		lookUpEach32(v)
		scalings(v)
		codeFloat(v)
		wordToStep(v)
		wordToNibble(v)
		narrows(v)
	}
	byteToWord()
	stepFloat()
	boundFloat()
	lookUpEach16("lookUpEach16", 1)
	lookUpEach16("lookUpPacked16", 2)
	mapBytesAVX2()
	mapBytesAVX512()
	hasF16C()
	WriteFiles()
}

// Bits of a float32.
const (
	sign     = 1 << 31
	infinite = 0x7f800000
	nan      = 0x7fc00000
	twoTo31  = 0x4f000000
)

// The comparisons of VCMPPS, and of VCMPUB: notBelow.
const (
	unordered    = U8(3)
	ordered      = U8(7)
	greaterEqual = U8(0x1d)
	greater      = U8(0x1e)
	notBelow     = U8(5)
)

// every returns a vector of the element at an address, by the instruction for its size.
func every(v Vec, spread func(...Op), from Mem) reg.VecVirtual {
	r := v.Reg()
	spread(from, r)
	return r
}

// masked sets to to x & by.
func masked(x, by, to reg.VecVirtual) {
	if x.Size() == 64 {
		VPANDQ(x, by, to)
	} else {
		VPAND(x, by, to)
	}
}

// aside spills a register to the stack with AVX2, which has too few.
func aside(v Vec, r reg.VecVirtual) Op {
	if v == AVX512 {
		return r
	}
	m := AllocLocal(int(v))
	Write(r, m, false)
	return m
}

// begin starts a kernel. All have tables, which only a few use, so that they have one type.
func begin(v Vec, name string) { v.Begin(name, ", tables *byte") }

// conversion converts the element at an address to the form that is written.
type conversion = func(src Mem) reg.VecVirtual

// kernel emits a conversion of count elements per step. from and to are their bytes.
func kernel(from, to, count int, c conversion) {
	dst, src := Arg("dst"), Arg("src")
	Loop(func(past bool) {
		for at := 0; at < Line/to; at += count {
			Write(c(Mem{Base: src, Disp: at * from}), Mem{Base: dst, Disp: at * to}, past)
		}
		ADDQ(U32(Line/to*from), src)
		ADDQ(Imm(Line), dst)
	})
}

// plain clears all of a NaN but its sign and highest bit.
type plain struct {
	v         Vec
	sign, nan reg.VecVirtual
}

func newPlain(v Vec) plain { return plain{v, v.Splat32(sign), v.Splat32(nan)} }

func (p plain) apply(x reg.VecVirtual) {
	if p.v == AVX512 {
		k := K()
		VCMPPS(unordered, x, x, k)
		VPTERNLOGD(U8(0xea), p.nan, p.sign, k, x) // x & sign | nan
		return
	}
	is, y := p.v.Reg(), p.v.Reg()
	VCMPPS(unordered, x, x, is)
	VPAND(p.sign, x, y)
	VPOR(p.nan, y, y)
	VBLENDVPS(is, y, x, x)
}

// toFloats are the conversions to float32.
func toFloats(v Vec) {
	floats := int(v) / 4

	begin(v, "halfToFloat")
	p := newPlain(v)
	kernel(2, 4, floats, func(src Mem) reg.VecVirtual {
		x := v.Reg()
		VCVTPH2PS(src, x)
		p.apply(x)
		return x
	})

	begin(v, "bfloatToFloat")
	p = newPlain(v)
	kernel(2, 4, floats, func(src Mem) reg.VecVirtual {
		x := v.Reg()
		VPMOVZXWD(src, x)
		VPSLLD(Imm(16), x, x)
		p.apply(x)
		return x
	})

	for _, c := range []struct {
		name  string
		bytes int
		widen func(...Op)
	}{
		{"int8ToFloat", 1, VPMOVSXBD},
		{"uint8ToFloat", 1, VPMOVZXBD},
		{"int16ToFloat", 2, VPMOVSXWD},
		{"uint16ToFloat", 2, VPMOVZXWD},
	} {
		begin(v, c.name)
		kernel(c.bytes, 4, floats, func(src Mem) reg.VecVirtual {
			x := v.Reg()
			c.widen(src, x)
			VCVTDQ2PS(x, x)
			return x
		})
	}

	begin(v, "boolToFloat")
	one := v.Splat32(1)
	kernel(1, 4, floats, func(src Mem) reg.VecVirtual {
		x := v.Reg()
		VPMOVZXBD(src, x)
		VPMINUD(one, x, x)
		VCVTDQ2PS(x, x)
		return x
	})

	begin(v, "int32ToFloat")
	kernel(4, 4, floats, func(src Mem) reg.VecVirtual {
		x := v.Reg()
		VCVTDQ2PS(src, x)
		return x
	})

	if v == AVX512 { // AVX2 has no equivalent
		begin(v, "int64ToFloat")
		kernel(8, 4, 8, func(src Mem) reg.VecVirtual {
			x, y := v.Reg(), YMM()
			Read(src, x)
			VCVTQQ2PS(x, y)
			return y
		})
	}
}

// narrow packs vectors of 32-bit words that fit into words or bytes.
func narrow(x []reg.VecVirtual, order reg.VecVirtual) reg.VecVirtual {
	for i := 0; i < len(x); i += 2 {
		VPACKUSDW(x[i+1], x[i], x[i])
	}
	if len(x) == 4 {
		VPACKUSWB(x[2], x[0], x[0])
	}
	VPERMD(x[0], order, x[0])
	return x[0]
}

// fromFloat emits a kernel from float32 to smaller elements.
func fromFloat(v Vec, name string, to int, prepare func() func(x reg.VecVirtual)) {
	begin(v, name)
	order, step := v.Packed(4/to), prepare()
	kernel(4, to, int(v)/to, func(src Mem) reg.VecVirtual {
		x := make([]reg.VecVirtual, 4/to)
		for i := range x {
			x[i] = v.Reg()
			Read(src.Offset(i*int(v)), x[i])
			step(x[i])
		}
		return narrow(x, order)
	})
}

// zeroNaN sets x to zero where the float that it comes from is NaN.
func zeroNaN(v Vec, float, x reg.VecVirtual) {
	if v == AVX512 {
		k := K()
		VCMPPS(ordered, float, float, k)
		VMOVDQA32_Z(x, k, x)
		return
	}
	is := v.Reg()
	VCMPPS(ordered, float, float, is)
	VPAND(is, x, x)
}

// fromFloats are the conversions from float32.
func fromFloats(v Vec) {
	begin(v, "floatToHalf")
	p := newPlain(v)
	kernel(4, 2, int(v)/4, func(src Mem) reg.VecVirtual {
		x := v.Reg()
		y := Vec(v / 2).Reg()
		Read(src, x)
		p.apply(x)
		VCVTPS2PH(Imm(0), x, y) // to the nearest
		return y
	})

	fromFloat(v, "floatToBfloat", 2, func() func(x reg.VecVirtual) {
		p, half, one := newPlain(v), v.Splat32(0x7fff), v.Splat32(1)
		return func(x reg.VecVirtual) {
			odd := v.Reg()
			p.apply(x)
			VPSRLD(Imm(16), x, odd)
			And(one, odd)
			VPADDD(half, x, x)
			VPADDD(odd, x, x)
			VPSRLD(Imm(16), x, x)
		}
	})

	floatToBytes(v)
	floatToInt32(v)
}

// floatToBytes writes the conversions to integers of 8 bits and to booleans.
func floatToBytes(v Vec) {
	for _, c := range []struct {
		name        string
		least, most uint32
	}{
		{"floatToInt8", 0xc3000000, 0x42fe0000},  // -128, 127
		{"floatToUint8", 0x00000000, 0x437f0000}, // 0, 255
	} {
		fromFloat(v, c.name, 1, func() func(x reg.VecVirtual) {
			least, most, low := v.Splat32(c.least), v.Splat32(c.most), v.Splat32(0xff)
			return func(x reg.VecVirtual) {
				zeroNaN(v, x, x)
				VMINPS(most, x, x)
				VMAXPS(least, x, x)
				VCVTTPS2DQ(x, x)
				And(low, x)
			}
		})
	}

	// Beyond 32 bits, and for NaNs, the result is 1 << 31, whose low byte is zero, like the low
	// bits of a float that large.
	fromFloat(v, "floatToLow", 1, func() func(x reg.VecVirtual) {
		low := v.Splat32(0xff)
		return func(x reg.VecVirtual) {
			VCVTPS2DQ(x, x) // to the nearest, an even one if two are as near
			And(low, x)
		}
	})

	fromFloat(v, "floatToBool", 1, func() func(x reg.VecVirtual) {
		magnitude, one := v.Splat32(sign-1), v.Splat32(1)
		return func(x reg.VecVirtual) {
			And(magnitude, x)
			VPMINUD(one, x, x)
		}
	})
}

func floatToInt32(v Vec) {
	begin(v, "floatToInt32")
	limit := v.Splat32(twoTo31)
	ones := v.Splat32(1<<32 - 1)
	kernel(4, 4, int(v)/4, func(src Mem) reg.VecVirtual {
		x, y := v.Reg(), v.Reg()
		Read(src, x)
		VCVTTPS2DQ(x, y) // 1 << 31 for too large values: its complement is the largest
		if v == AVX512 {
			k := K()
			VCMPPS(greaterEqual, limit, x, k)
			VPXORD(ones, y, k, y)
		} else {
			big := v.Reg()
			VCMPPS(greaterEqual, limit, x, big)
			VPXOR(big, y, y)
		}
		zeroNaN(v, x, y)
		return y
	})
}

// lookUp16 looks up words by bytes below 16, each half in a table of its own. An index above
// 127 gives zero, in the half of the other table.
func lookUp16(v Vec) {
	begin(v, "lookUp16")
	tables := Arg("tables")
	low, high := v.Lanes(Mem{Base: tables}), v.Lanes(Mem{Base: tables, Disp: 16})
	notHigh, notLow := v.Splat16(0x8000), v.Splat16(0x0080)
	kernel(1, 2, int(v)/2, func(src Mem) reg.VecVirtual {
		x, y := v.Reg(), v.Reg()
		VPMOVZXBW(src, x)
		VPSLLW(Imm(8), x, y)
		Or(notHigh, x)
		Or(notLow, y)
		VPSHUFB(x, low, x)
		VPSHUFB(y, high, y)
		Or(y, x)
		return x
	})
}

// lookUp32 looks up words of 32 bits: a vector holds the table, or two vectors do.
func lookUp32(v Vec) {
	begin(v, "lookUp32")
	table, first, second := Arg("tables"), v.Reg(), v.Reg()
	Read(Mem{Base: table}, first)
	if v == AVX2 {
		Read(Mem{Base: table, Disp: 32}, second)
	}
	kernel(1, 4, int(v)/4, func(src Mem) reg.VecVirtual { return find32(v, first, second, src) })
}

// find32 looks up words by bytes; second is the second part of the table.
func find32(v Vec, first, second reg.VecVirtual, src Mem) reg.VecVirtual {
	x := v.Reg()
	VPMOVZXBD(src, x)
	if v == AVX512 {
		VPERMD(first, x, x)
		return x
	}
	y, is := v.Reg(), v.Reg()
	VPERMD(first, x, y)
	VPSLLD(Imm(28), x, is) // its highest bit chooses
	VPERMD(second, x, x)
	VBLENDVPS(is, x, y, x)
	return x
}

// hasF16C asks the processor, as package cpu of golang.org/x/sys does not report it.
func hasF16C() {
	TEXT("hasF16C", attr.NOSPLIT, "func() bool")
	MOVL(U32(1), reg.EAX)
	XORL(reg.ECX, reg.ECX)
	CPUID()
	SHRL(Imm(29), reg.ECX)
	ANDL(Imm(1), reg.ECX)
	Store(reg.CL, ReturnIndex(0))
	RET()
}
