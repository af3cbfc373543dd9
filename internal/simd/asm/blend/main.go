// Command blend writes the kernels that choose between elements.
package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/restride/restride/internal/simd/asm/emit"
)

func main() {
	for _, v := range Both {
		for size := 1; size <= 16; size *= 2 {
			blend(v, size)
		}
	}
	WriteFiles()
}

// blend writes one of Blends.Blend, for elements of size bytes.
func blend(v Vec, size int) {
	name := v.Name(fmt.Sprintf("blend%d", 8*size))
	TEXT(name, attr.NOSPLIT, "func(dst, a, b, cond *byte, lines int64, past bool)")
	Doc(name + " is one of Blends.Blend.")
	Pragma("noescape")
	dst, a, b, cond := Arg("dst"), Arg("a"), Arg("b"), Arg("cond")
	choose := chooseAVX512
	if v == AVX2 {
		choose = chooseAVX2()
	}
	Loop(func(past bool) {
		for at := 0; at < Line; at += int(v) {
			x := choose(Mem{Base: a, Disp: at}, Mem{Base: b, Disp: at}, Mem{Base: cond, Disp: at / size}, size)
			Write(x, Mem{Base: dst, Disp: at}, past)
		}
		for _, p := range []reg.GPVirtual{dst, a, b} {
			ADDQ(Imm(Line), p)
		}
		ADDQ(Imm(uint64(Line/size)), cond)
	})
}

// chooseAVX512 returns a vector: b, with a loaded over it where a bit of the mask is set.
func chooseAVX512(a, b, cond Mem, size int) reg.VecVirtual {
	c, k, x := Vec(max(16, Line/size)).Reg(), K(), ZMM()
	switch size {
	case 8:
		VMOVQ(cond, c)
	case 16:
		VMOVD(cond, c)
		VPUNPCKLBW(c, c, c) // twice each: pairs of 8 bytes
	default:
		Read(cond, c)
	}
	VPTESTMB(c, c, k)
	Read(b, x)
	switch size {
	case 1:
		VMOVDQU8(a, k, x)
	case 2:
		VMOVDQU16(a, k, x)
	case 4:
		VMOVDQU32(a, k, x)
	default:
		VMOVDQU64(a, k, x)
	}
	return x
}

// chooseAVX2 returns a function that spreads conditions to the size of elements and
// compares these with zero: a mask of b.
func chooseAVX2() func(a, b, cond Mem, size int) reg.VecVirtual {
	zero := YMM()
	VPXOR(zero, zero, zero)
	return func(a, b, cond Mem, size int) reg.VecVirtual {
		c, x := YMM(), YMM()
		switch size {
		case 1:
			VPCMPEQB(cond, zero, c)
		case 2:
			VPMOVZXBW(cond, c)
			VPCMPEQW(c, zero, c)
		case 4:
			VPMOVZXBD(cond, c)
			VPCMPEQD(c, zero, c)
		case 8:
			VPMOVZXBQ(cond, c)
			VPCMPEQQ(c, zero, c)
		case 16:
			two, pairs := GP32(), XMM()
			MOVWLZX(cond, two)
			VMOVD(two, pairs)
			VPUNPCKLBW(pairs, pairs, pairs) // twice each: pairs of 8 bytes
			VPMOVZXBQ(pairs, c)
			VPCMPEQQ(c, zero, c)
		}
		Read(a, x)
		VPBLENDVB(c, b, x, x)
		return x
	}
}
