package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// fetched is the prefetch distance of indices: a block, so that they arrive while the rows of
// the previous block are moved.
const fetched = 1 << 10

// offsets writes Takes.Offsets32 and 64.
func offsets(v emit.Vec, bits int) {
	name := v.Name(fmt.Sprintf("offsets%d", bits))
	TEXT(name, NOSPLIT, "func(to *int64, at *byte, n, extent, stride int64) (wrong int64)")
	Doc(fmt.Sprintf("%s is Takes.Offsets%d.", name, bits))
	Pragma("noescape")
	to, at, n := emit.Arg("to"), emit.Arg("at"), emit.Arg("n")
	extent, stride := splat(v, "extent"), splat(v, "stride")
	most, zero, wrong, one := v.Reg(), v.Reg(), v.Reg(), v.Reg()
	xor(wrong)
	xor(zero)
	ones(v, one)
	VPADDQ(one, extent, most)
	TESTQ(n, n)
	JZ(LabelRef("done"))
	Label("loop")
	PREFETCHT1(Mem{Base: at, Disp: fetched * bits / 8})
	for half := 0; half < 64; half += int(v) { // eight of them
		i, up, old := v.Reg(), v.Reg(), v.Reg()
		from := Mem{Base: at, Disp: half * bits / 64}
		if bits == 32 {
			VPMOVSXDQ(from, i)
		} else {
			emit.Read(from, i)
		}
		negative(v, i, zero, up)
		emit.And(extent, up)
		VPADDQ(up, i, i)
		// The sign of an index, and of its distance to the last one.
		VPSUBQ(i, most, up)
		emit.Or(i, wrong)
		emit.Or(up, wrong)
		VPMULDQ(stride, i, i)
		emit.Read(Mem{Base: to, Disp: half}, old)
		VPADDQ(old, i, i)
		emit.Write(i, Mem{Base: to, Disp: half}, false)
	}
	ADDQ(Imm(64), to)
	ADDQ(Imm(uint64(bits)), at)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	Label("done")
	result := GP64()
	XORQ(result, result)
	if v == emit.AVX512 {
		k := K()
		VPMOVQ2M(wrong, k)
		KMOVB(k, result.As32())
	} else {
		VMOVMSKPD(wrong, result.As32())
	}
	Store(result, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// splat returns a vector with a parameter in all words.
func splat(v emit.Vec, name string) reg.VecVirtual {
	r, x := v.Reg(), XMM()
	VMOVQ(emit.Arg(name), x)
	VPBROADCASTQ(x, r)
	return r
}

func xor(r reg.VecVirtual) {
	if r.Size() == 64 {
		VPXORQ(r, r, r)
	} else {
		VPXOR(r, r, r)
	}
}

// ones sets all bits: -1.
func ones(v emit.Vec, r reg.VecVirtual) {
	if v == emit.AVX512 {
		VPTERNLOGQ(Imm(255), r, r, r)
	} else {
		VPCMPEQQ(r, r, r)
	}
}

// negative sets mask to ones where i is below zero, and to zeros elsewhere.
func negative(v emit.Vec, i, zero, mask reg.VecVirtual) {
	if v == emit.AVX512 {
		VPSRAQ(Imm(63), i, mask)
	} else {
		VPCMPGTQ(i, zero, mask)
	}
}
