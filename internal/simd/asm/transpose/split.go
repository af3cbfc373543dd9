package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/restride/restride/internal/simd/asm/emit"
)

// split describes a kernel that separates the elements of bytes: those at the same
// position in all bytes of a row become a row.
type split struct{ width, lanes int }

func (s split) write() {
	name := emit.Vec(s.lanes * 16).Name(fmt.Sprint("split", s.width))
	per := 8 / s.width // elements in a byte
	in := lanes(s.lanes)
	TEXT(name, NOSPLIT, "func(dst *byte, stride int64, src *byte, step, run, n int64)")
	Doc(name + " is one of Transposes.Split.")
	Pragma("noescape")
	dst, stride, src := Load(Param("dst"), GP64()), Load(Param("stride"), GP64()), Load(Param("src"), GP64())
	step, run, n := Load(Param("step"), GP64()), Load(Param("run"), GP64()), Load(Param("n"), GP64())

	every := func(dword uint32) VecVirtual {
		r, x, v := GP32(), XMM(), in.register()
		MOVL(U32(dword), r)
		VMOVD(r, x)
		VPBROADCASTD(x, v)
		return v
	}
	mask := every([]uint32{2: 0x03030303, 4: 0x0f0f0f0f}[s.width])
	// Neighbours come together in twos by a multiplication, and those again.
	twos := every([]uint32{2: 0x04010401, 4: 0x10011001}[s.width])
	var fours VecVirtual
	if s.width == 2 {
		fours = every(0x00100001)
	}

	Label("row")
	d, f, left := GP64(), GP64(), GP64()
	MOVQ(dst, d)
	MOVQ(src, f)
	MOVQ(run, left)

	Label("piece") // 64 bytes of the source
	var whole []VecVirtual
	for part := range 4 / s.lanes {
		v := in.register()
		in.read(Mem{Base: f, Disp: part * s.lanes * 16}, v)
		whole = append(whole, v)
	}
	to := GP64()
	MOVQ(d, to)
	for c := range per {
		var parts []VecVirtual
		for _, v := range whole {
			x := in.register()
			if c > 0 {
				VPSRLW(Imm(uint64(c*s.width)), v, x)
				in.and(mask, x, x)
			} else {
				in.and(mask, v, x)
			}
			VPMADDUBSW(twos, x, x)
			if s.width == 2 {
				VPMADDWD(fours, x, x)
			}
			parts = append(parts, x)
		}
		s.narrow(parts, Mem{Base: to})
		if c < per-1 {
			ADDQ(stride, to)
		}
	}
	ADDQ(Imm(64), f)
	ADDQ(Imm(uint64(64/per)), d)
	SUBQ(Imm(64), left)
	JNZ(LabelRef("piece"))

	LEAQ(Mem{Base: dst, Index: stride, Scale: uint8(per)}, dst)
	ADDQ(step, src)
	DECQ(n)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// narrow stores the low bytes of 16- or 32-bit elements.
func (s split) narrow(v []VecVirtual, to Mem) {
	switch {
	case s.lanes == 4 && s.width == 4:
		VPMOVWB(v[0], to)
	case s.lanes == 4:
		VPMOVDB(v[0], to)
	case s.width == 4:
		VPACKUSWB(v[1], v[0], v[0]) // lanes by themselves
		VPERMQ(Imm(0xd8), v[0], v[0])
		VMOVDQU(v[0], to)
	default:
		VPACKUSDW(v[1], v[0], v[0])
		VPERMQ(Imm(0xd8), v[0], v[0])
		high := XMM()
		VEXTRACTI128(Imm(1), v[0], high)
		VPACKUSWB(high, v[0].AsX(), high)
		VMOVDQU(high, to)
	}
}
