// Command bits writes the kernels for elements below a byte.
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
		shiftBits(v)
		reverseBits(v)
		unpackNibbles(v)
		unpackCrumbs(v)
		packNibbles(v)
		packCrumbs(v)
	}
	for _, bytes := range []int{1, 2, 4} {
		extractBits(bytes)
	}
	alignRows()
	placeRows()
	WriteFiles()
}

// funnel reads bytes from a bit of a byte on. They are those at the byte itself, shifted down,
// with the ones after it, shifted up. Both may be words of any size: where they overlap they
// agree, and nothing is read beyond the last byte that has a bit of the result.
type funnel struct {
	down, up reg.VecVirtual
	next     reg.GPVirtual // 1, but 0 without a shift, so that both are the same
}

func newFunnel(v Vec) funnel {
	f := funnel{v.Reg(), v.Reg(), GP64()}
	down, up, x := Arg("shift"), GP64(), XMM()
	XORL(f.next.As32(), f.next.As32())
	MOVQ(U32(8), up)
	SUBQ(down, up)
	TESTQ(down, down)
	CMOVQEQ(down, up)
	SETNE(f.next.As8())
	VMOVQ(down, x)
	VPBROADCASTQ(x, f.down)
	VMOVQ(up, x)
	VPBROADCASTQ(x, f.up)
	return f
}

// read returns the bytes from src+at on.
func (f funnel) read(src reg.Register, at, bytes int) reg.VecVirtual {
	low, high := Vec(bytes).Reg(), Vec(bytes).Reg()
	Read(Mem{Base: src, Disp: at}, low)
	Read(Mem{Base: src, Disp: at, Index: f.next, Scale: 1}, high)
	VPSRLVQ(First(f.down, bytes), low, low)
	VPSLLVQ(First(f.up, bytes), high, high)
	Or(high, low)
	return low
}

func shiftBits(v Vec) {
	v.Begin("shiftBits", ", shift int64")
	dst, src, f := Arg("dst"), Arg("src"), newFunnel(v)
	Loop(func(past bool) {
		for at := 0; at < Line; at += int(v) {
			Write(f.read(src, at, int(v)), Mem{Base: dst, Disp: at}, past)
		}
		ADDQ(Imm(Line), src)
		ADDQ(Imm(Line), dst)
	})
}

// reverseBits reverses the order of bytes, and by tables the order of elements in them: one
// table gives a byte's high half from its low one, the other the opposite. It begins with the
// last line of the destination: the hardware prefetcher is better at ascending addresses.
func reverseBits(v Vec) {
	v.Begin("reverseBits", ", shift int64, tables *byte")
	dst, src, f := Arg("dst"), Arg("src"), newFunnel(v)
	tables, lines := Arg("tables"), Arg("lines")
	high, low := v.Lanes(Mem{Base: tables}), v.Lanes(Mem{Base: tables, Disp: 16})
	nibble := v.Splat8(0x0f)
	order := v.Table("reversed", func(i int) byte {
		if v == AVX2 {
			return byte(15 - i%16)
		}
		return byte(63 - i)
	})
	SHLQ(Imm(6), lines)
	ADDQ(lines, dst)
	Loop(func(past bool) {
		SUBQ(Imm(Line), dst)
		PREFETCHT1(Mem{Base: src, Disp: 2 << 10})
		for at := 0; at < Line; at += int(v) {
			x, y := f.read(src, Line-int(v)-at, int(v)), v.Reg()
			if v == AVX2 {
				VPSHUFB(order, x, x)
				VPERMQ(Imm(0x4e), x, x)
			} else {
				VPERMB(x, order, x)
			}
			VPSRLW(Imm(4), x, y)
			And(nibble, x)
			And(nibble, y)
			VPSHUFB(x, high, x)
			VPSHUFB(y, low, y)
			Or(y, x)
			Write(x, Mem{Base: dst, Disp: at}, past)
		}
		ADDQ(Imm(Line), src)
	})
}

// unpackNibbles spreads bytes to words, distributes halves between the two bytes of each word,
// and looks up their entries.
func unpackNibbles(v Vec) {
	v.Begin("unpackNibbles", ", shift int64, table *byte")
	dst, src, f := Arg("dst"), Arg("src"), newFunnel(v)
	table, mask := v.Lanes(Mem{Base: Arg("table")}), v.Splat8(0x0f)
	Loop(func(past bool) {
		for at := 0; at < Line; at += int(v) {
			x, y := v.Reg(), v.Reg()
			VPMOVZXBW(f.read(src, at/2, int(v)/2), x)
			VPSLLW(Imm(4), x, y)
			Or(y, x)
			And(mask, x)
			VPSHUFB(x, table, x)
			Write(x, Mem{Base: dst, Disp: at}, past)
		}
		ADDQ(Imm(Line/2), src)
		ADDQ(Imm(Line), dst)
	})
}

// unpackCrumbs does the same in two steps.
func unpackCrumbs(v Vec) {
	v.Begin("unpackCrumbs", ", shift int64, table *byte")
	dst, src, f := Arg("dst"), Arg("src"), newFunnel(v)
	table := v.Lanes(Mem{Base: Arg("table")})
	nibbles, crumbs := v.Splat16(0x000f), v.Splat8(0x03)
	Loop(func(past bool) {
		// AVX2 has no vectors of 8 bytes: the 16 bytes of a line are read together.
		all := f.read(src, 0, 16)
		for at := 0; at < Line; at += int(v) {
			x, y := v.Reg(), v.Reg()
			if at > 0 {
				VPSRLDQ(Imm(8), all, all)
			}
			VPMOVZXBD(all, x)
			VPSLLD(Imm(12), x, y)
			Or(y, x)
			And(nibbles, x)
			VPSLLW(Imm(6), x, y)
			Or(y, x)
			And(crumbs, x)
			VPSHUFB(x, table, x)
			Write(x, Mem{Base: dst, Disp: at}, past)
		}
		ADDQ(Imm(Line/4), src)
		ADDQ(Imm(Line), dst)
	})
}

// packNibbles adds the bytes of a pair, one of them times 16, which is a shift.
func packNibbles(v Vec) {
	v.Begin("packNibbles", "")
	dst, src := Arg("dst"), Arg("src")
	mask, weights, order := v.Splat8(0x0f), v.Splat16(0x1001), v.Packed(2)
	Loop(func(past bool) {
		for at := 0; at < Line; at += int(v) {
			x, y := v.Reg(), v.Reg()
			for i, r := range []reg.VecVirtual{x, y} {
				Read(Mem{Base: src, Disp: 2*at + i*int(v)}, r)
				And(mask, r)
				VPMADDUBSW(weights, r, r)
			}
			VPACKUSWB(y, x, x)
			VPERMD(x, order, x)
			Write(x, Mem{Base: dst, Disp: at}, past)
		}
		ADDQ(Imm(2*Line), src)
		ADDQ(Imm(Line), dst)
	})
}

// packCrumbs does the same twice.
func packCrumbs(v Vec) {
	v.Begin("packCrumbs", "")
	dst, src := Arg("dst"), Arg("src")
	mask, bytes, words, order := v.Splat8(0x03), v.Splat16(0x0401), v.Splat32(0x00100001), v.Packed(4)
	Loop(func(past bool) {
		for at := 0; at < Line; at += int(v) {
			x := [4]reg.VecVirtual{v.Reg(), v.Reg(), v.Reg(), v.Reg()}
			for i, r := range x {
				Read(Mem{Base: src, Disp: 4*at + i*int(v)}, r)
				And(mask, r)
				VPMADDUBSW(bytes, r, r)
				VPMADDWD(words, r, r)
			}
			VPACKUSDW(x[1], x[0], x[0])
			VPACKUSDW(x[3], x[2], x[2])
			VPACKUSWB(x[2], x[0], x[0])
			VPERMD(x[0], order, x[0])
			Write(x[0], Mem{Base: dst, Disp: at}, past)
		}
		ADDQ(U32(4*Line), src)
		ADDQ(Imm(Line), dst)
	})
}

// extractBits reads a word of 64 bits from a bit on, extracts the bits of mask, and writes them
// as the given number of bytes.
func extractBits(bytes int) {
	TEXT(map[int]string{1: "extractBits8", 2: "extractBits16", 4: "extractBits32"}[bytes], attr.NOSPLIT, "func(dst, src *byte, n, at, step, mask int64)")
	Pragma("noescape")
	dst, src, n, at, step, mask := Arg("dst"), Arg("src"), Arg("n"), Arg("at"), Arg("step"), Arg("mask")
	from, x := GP64(), GP64()
	Label("next")
	MOVQ(at, from)
	SHRQ(Imm(3), from)
	MOVQ(at, x)
	ANDQ(Imm(7), x)
	SHRXQ(x, Mem{Base: src, Index: from, Scale: 1}, x)
	PEXTQ(mask, x, x)
	to := Mem{Base: dst}
	switch bytes {
	case 1:
		MOVB(x.As8(), to)
	case 2:
		MOVW(x.As16(), to)
	case 4:
		MOVL(x.As32(), to)
	}
	ADDQ(Imm(uint64(bytes)), dst)
	ADDQ(step, at)
	DECQ(n)
	JNE(LabelRef("next"))
	RET()
}
