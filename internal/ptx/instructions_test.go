package ptx

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// edges are operands that instructions are likely to get wrong.
var edges = []uint64{
	0, 1, 2, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 255, 256, 0x7f, 0x80, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
	0xffffffff, 1 << 32, 1<<63 - 1, 1 << 63, math.MaxUint64, 0x0123456789abcdef, 0x3c00, 0x7bff, 0x7c00, 0x7e01, 0xfc00, 0x3f800000,
	0x7f800000, 0x7fc00001, 0x477fe000, 0x33000000, 0xbf800000, 0x42280000, 0x3ff0000000000000, 0x4340000000000000,
}

// compute runs one instruction on operands in registers of the given widths, one set in
// each thread: the sources are %a, %b, %c and %e, the result is %d, and %p a predicate.
func compute(t *testing.T, instruction string, to int, from []int, operands [][4]uint64) []uint64 {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1)\n{\n")
	fmt.Fprintf(&b, ".reg .pred %%p<2>;\n.reg .b64 %%rd<9>;\n.reg .b32 %%r<3>;\n.reg .b%d %%d;\n", to)
	for i, w := range from {
		fmt.Fprintf(&b, ".reg .b%d %%%c;\n", w, "abce"[i])
	}
	b.WriteString("ld.param.u64 %rd1, [k_param_0];\nld.param.u64 %rd2, [k_param_1];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\nmad.lo.u32 %r1, %r1, 32, %r2;\n")
	b.WriteString("mul.wide.u32 %rd3, %r1, 32;\nadd.s64 %rd1, %rd1, %rd3;\nmul.wide.u32 %rd3, %r1, 8;\nadd.s64 %rd2, %rd2, %rd3;\n")
	for i, w := range from {
		fmt.Fprintf(&b, "ld.global.b%d %%%c, [%%rd1+%d];\n", w, "abce"[i], 8*i)
	}
	fmt.Fprintf(&b, "%s\nst.global.b%d [%%rd2], %%d;\nret;\n}\n", instruction, to)
	p, err := Parse([]byte(b.String()))
	require.NoError(t, err, instruction)
	m := NewMemory()
	blocks := (len(operands) + 31) / 32
	in, out := m.Alloc(int64(blocks*32*32)), m.Alloc(int64(blocks*32*8))
	for i, o := range operands {
		for k, v := range o {
			var bytes [8]byte
			put(bytes[:], 8, v)
			in.Write(int64(32*i+8*k), bytes[:])
		}
	}
	require.NoError(t, p.Run(m, Launch{Groups: uint32(blocks), Threads: 32, Args: Words(in.Base, out.Base)}), instruction)
	results := make([]uint64, len(operands))
	for i := range results {
		bytes := make([]byte, 8)
		out.Read(bytes, int64(8*i))
		results[i] = get(bytes, uint8(to/8))
	}
	return results
}

func f32(x uint64) float32 { return math.Float32frombits(uint32(x)) }

// bits32 is a single's bits: for NaN, the canonical ones.
func bits32(v float32) uint64 {
	if v != v {
		return 0x7fffffff
	}
	return uint64(math.Float32bits(v))
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

type operands = [4]uint64

// instructions are compared with Go's arithmetic: the widths of the result and of the sources, and
// the result.
var instructions = []struct {
	instruction string
	to          int
	from        []int
	want        func(o operands) uint64
}{
	{"add.s32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 { return uint64(uint32(o[0]) + uint32(o[1])) }},
	{"sub.s64 %d, %a, %b;", 64, []int{64, 64}, func(o operands) uint64 { return o[0] - o[1] }},
	{"add.s16 %d, %a, -3;", 16, []int{16}, func(o operands) uint64 { return uint64(uint16(o[0]) - 3) }},
	{"mul.lo.s32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 { return uint64(uint32(o[0]) * uint32(o[1])) }},
	{"mul.wide.u32 %d, %a, %b;", 64, []int{32, 32}, func(o operands) uint64 { return o[0] * o[1] }},
	{"mul.wide.s32 %d, %a, %b;", 64, []int{32, 32}, func(o operands) uint64 { return uint64(int64(int32(o[0])) * int64(int32(o[1]))) }},
	{"mul.wide.s16 %d, %a, %b;", 32, []int{16, 16}, func(o operands) uint64 { return uint64(uint32(int32(int16(o[0])) * int32(int16(o[1])))) }},
	{"mul.hi.u32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 { return o[0] * o[1] >> 32 }},
	{"mul.hi.s32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 { return uint64(uint32(int64(int32(o[0])) * int64(int32(o[1])) >> 32)) }},
	{"mul.hi.u64 %d, %a, %b;", 64, []int{64, 64}, func(o operands) uint64 { h, _ := bits.Mul64(o[0], o[1]); return h }},
	{"mad.lo.s32 %d, %a, %b, %c;", 32, []int{32, 32, 32}, func(o operands) uint64 { return uint64(uint32(o[0])*uint32(o[1]) + uint32(o[2])) }},
	{"mad.wide.u32 %d, %a, %b, %c;", 64, []int{32, 32, 64}, func(o operands) uint64 { return o[0]*o[1] + o[2] }},
	{"min.s32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 { return uint64(uint32(min(int32(o[0]), int32(o[1])))) }},
	{"max.u64 %d, %a, %b;", 64, []int{64, 64}, func(o operands) uint64 { return max(o[0], o[1]) }},
	{"max.s64 %d, %a, %b;", 64, []int{64, 64}, func(o operands) uint64 { return uint64(max(int64(o[0]), int64(o[1]))) }},
	{"neg.s32 %d, %a;", 32, []int{32}, func(o operands) uint64 { return uint64(-uint32(o[0])) }},
	{"abs.s32 %d, %a;", 32, []int{32}, func(o operands) uint64 { v := int32(o[0]); return uint64(uint32(max(v, -v))) }},
	{"div.u32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 {
		if o[1] == 0 {
			return 0xffffffff
		}
		return o[0] / o[1]
	}},
	{"rem.s32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 {
		if o[1] == 0 {
			return 0xffffffff
		}
		return uint64(uint32(int64(int32(o[0])) % int64(int32(o[1]))))
	}},
	{"and.b32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 { return o[0] & o[1] }},
	{"xor.b64 %d, %a, %b;", 64, []int{64, 64}, func(o operands) uint64 { return o[0] ^ o[1] }},
	{"not.b16 %d, %a;", 16, []int{16}, func(o operands) uint64 { return uint64(^uint16(o[0])) }},
	{"cnot.b32 %d, %a;", 32, []int{32}, func(o operands) uint64 { return truth(o[0] == 0) }},
	{"shl.b32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 { return uint64(uint32(o[0]) << o[1]) }},
	{"shl.b64 %d, %a, %b;", 64, []int{64, 32}, func(o operands) uint64 { return o[0] << o[1] }},
	{"shl.b16 %d, %a, %b;", 16, []int{16, 32}, func(o operands) uint64 { return uint64(uint16(o[0]) << o[1]) }},
	{"shr.u32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 { return uint64(uint32(o[0]) >> o[1]) }},
	{"shr.s32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 { return uint64(uint32(int32(o[0]) >> o[1])) }},
	{"shr.s64 %d, %a, %b;", 64, []int{64, 32}, func(o operands) uint64 { return uint64(int64(o[0]) >> o[1]) }},
	{"shr.s16 %d, %a, %b;", 16, []int{16, 32}, func(o operands) uint64 { return uint64(uint16(int16(o[0]) >> o[1])) }},
	{"shf.l.wrap.b32 %d, %a, %b, %c;", 32, []int{32, 32, 32}, func(o operands) uint64 { return (o[1]<<32 | o[0]) << (o[2] % 32) >> 32 }},
	{"shf.r.wrap.b32 %d, %a, %b, %c;", 32, []int{32, 32, 32}, func(o operands) uint64 { return uint64(uint32((o[1]<<32 | o[0]) >> (o[2] % 32))) }},
	{"shf.r.clamp.b32 %d, %a, %b, %c;", 32, []int{32, 32, 32}, func(o operands) uint64 { return uint64(uint32((o[1]<<32 | o[0]) >> min(o[2], 32))) }},
	{"shf.l.clamp.b32 %d, %a, %b, %c;", 32, []int{32, 32, 32}, func(o operands) uint64 { return (o[1]<<32 | o[0]) << min(o[2], 32) >> 32 }},
	{"prmt.b32 %d, %a, %b, 0x7531;", 32, []int{32, 32}, func(o operands) uint64 {
		return o[0]>>8&0xff | o[0]>>24&0xff<<8 | o[1]>>8&0xff<<16 | o[1]>>24&0xff<<24
	}},
	{"prmt.b32 %d, %a, %b, 0x000b;", 32, []int{32, 32}, func(o operands) uint64 { // the sign of byte 3, then byte 0
		return uint64(uint8(int8(o[0]>>24)>>7)) | o[0]&0xff*0x01010100
	}},
	{"prmt.b32.rc16 %d, %a, %b, 1;", 32, []int{32, 32}, func(o operands) uint64 { return o[0] >> 16 * 0x10001 }},
	{"prmt.b32.f4e %d, %a, %b, %c;", 32, []int{32, 32, 32}, func(o operands) uint64 { return uint64(uint32((o[1]<<32 | o[0]) >> (8 * (o[2] % 4)))) }},
	{"lop3.b32 %d, %a, %b, %c, 0xca;", 32, []int{32, 32, 32}, func(o operands) uint64 { return o[0]&o[1] | ^o[0]&o[2]&0xffffffff }},
	{"lop3.b32 %d, %a, %b, %c, 0x96;", 32, []int{32, 32, 32}, func(o operands) uint64 { return o[0] ^ o[1] ^ o[2] }},
	{"bfe.u32 %d, %a, 5, 9;", 32, []int{32}, func(o operands) uint64 { return o[0] >> 5 & 511 }},
	{"bfe.s32 %d, %a, 5, 9;", 32, []int{32}, func(o operands) uint64 { return uint64(uint32(int32(o[0]<<18) >> 23)) }},
	{"bfe.s32 %d, %a, 28, 9;", 32, []int{32}, func(o operands) uint64 { return uint64(uint32(int32(o[0]) >> 28)) }},
	{"bfe.u64 %d, %a, 60, 9;", 64, []int{64}, func(o operands) uint64 { return o[0] >> 60 }},
	{"bfe.u32 %d, %a, %b, %c;", 32, []int{32, 32, 32}, func(o operands) uint64 {
		return uint64(uint32(o[0]) >> (o[1] & 255) & (1<<min(o[2]&255, 32) - 1))
	}},
	{"bfi.b32 %d, %a, %b, 4, 8;", 32, []int{32, 32}, func(o operands) uint64 { return o[1]&^0xff0 | o[0]<<4&0xff0 }},
	{"bfi.b64 %d, %a, %b, 60, 8;", 64, []int{64, 64}, func(o operands) uint64 { return o[1]<<4>>4 | o[0]<<60 }},
	{"bfind.u32 %d, %a;", 32, []int{32}, func(o operands) uint64 { return uint64(uint32(bits.Len32(uint32(o[0])) - 1)) }},
	{"bfind.s32 %d, %a;", 32, []int{32}, func(o operands) uint64 {
		return uint64(uint32(bits.Len32(uint32(int32(o[0])>>31)^uint32(o[0])) - 1))
	}},
	{"clz.b32 %d, %a;", 32, []int{32}, func(o operands) uint64 { return uint64(bits.LeadingZeros32(uint32(o[0]))) }},
	{"clz.b64 %d, %a;", 32, []int{64}, func(o operands) uint64 { return uint64(bits.LeadingZeros64(o[0])) }},
	{"popc.b32 %d, %a;", 32, []int{32}, func(o operands) uint64 { return uint64(bits.OnesCount32(uint32(o[0]))) }},
	{"brev.b32 %d, %a;", 32, []int{32}, func(o operands) uint64 { return uint64(bits.Reverse32(uint32(o[0]))) }},
	{"mov.b64 %d, {%a, %b};", 64, []int{32, 32}, func(o operands) uint64 { return o[0] | o[1]<<32 }},
	{"{ .reg .b16 low; mov.b32 {low, %d}, %a; }", 16, []int{32}, func(o operands) uint64 { return o[0] >> 16 }},
	{"setp.lt.s32 %p1, %a, %b; selp.u32 %d, 1, 0, %p1;", 32, []int{32, 32}, func(o operands) uint64 { return truth(int32(o[0]) < int32(o[1])) }},
	{"setp.ge.u64 %p1, %a, %b; selp.u32 %d, 1, 0, %p1;", 32, []int{64, 64}, func(o operands) uint64 { return truth(o[0] >= o[1]) }},
	{"setp.le.s16 %p1, %a, %b; selp.u32 %d, 1, 0, %p1;", 32, []int{16, 16}, func(o operands) uint64 { return truth(int16(o[0]) <= int16(o[1])) }},
	{"setp.gt.s64 %p1, %a, %b; not.pred %p1, %p1; selp.u32 %d, 1, 0, %p1;", 32, []int{64, 64}, func(o operands) uint64 { return truth(int64(o[0]) <= int64(o[1])) }},
	{"setp.eq.s32 %p1, %a, %b; selp.b32 %d, %a, 7, %p1;", 32, []int{32, 32}, func(o operands) uint64 {
		if o[0] == o[1] {
			return o[0]
		}
		return 7
	}},
	{"mov.u32 %d, 3; setp.ne.s32 %p1, %a, 0; @%p1 mov.u32 %d, %a;", 32, []int{32}, func(o operands) uint64 {
		if o[0] == 0 {
			return 3
		}
		return o[0]
	}},
	{"setp.lt.f32 %p1, %a, %b; selp.u32 %d, 1, 0, %p1;", 32, []int{32, 32}, func(o operands) uint64 { return truth(f32(o[0]) < f32(o[1])) }},
	{"setp.neu.f32 %p1, %a, %b; selp.u32 %d, 1, 0, %p1;", 32, []int{32, 32}, func(o operands) uint64 { return truth(f32(o[0]) != f32(o[1])) }},
	{"setp.nan.f32 %p1, %a, %a; selp.u32 %d, 1, 0, %p1;", 32, []int{32}, func(o operands) uint64 { return truth(f32(o[0]) != f32(o[0])) }},

	{"cvt.u64.u32 %d, %a;", 64, []int{32}, func(o operands) uint64 { return o[0] }},
	{"cvt.s64.s32 %d, %a;", 64, []int{32}, func(o operands) uint64 { return uint64(int64(int32(o[0]))) }},
	{"cvt.u32.u64 %d, %a;", 32, []int{64}, func(o operands) uint64 { return uint64(uint32(o[0])) }},
	{"cvt.s32.s8 %d, %a;", 32, []int{32}, func(o operands) uint64 { return uint64(uint32(int32(int8(o[0])))) }},
	{"cvt.u16.u8 %d, %a;", 16, []int{32}, func(o operands) uint64 { return uint64(uint8(o[0])) }},
	{"cvt.sat.u8.s32 %d, %a;", 16, []int{32}, func(o operands) uint64 { return uint64(max(min(int32(o[0]), 255), 0)) }},
	{"cvt.sat.s16.s32 %d, %a;", 16, []int{32}, func(o operands) uint64 { return uint64(uint16(max(min(int32(o[0]), 32767), -32768))) }},
	{"cvt.rn.f32.s32 %d, %a;", 32, []int{32}, func(o operands) uint64 { return bits32(float32(int32(o[0]))) }},
	{"cvt.rn.f32.u64 %d, %a;", 32, []int{64}, func(o operands) uint64 { return bits32(float32(o[0])) }},
	{"cvt.rn.f32.s64 %d, %a;", 32, []int{64}, func(o operands) uint64 { return bits32(float32(int64(o[0]))) }},
	{"cvt.rn.f64.u64 %d, %a;", 64, []int{64}, func(o operands) uint64 { return math.Float64bits(float64(o[0])) }},
	{"cvt.rzi.s32.f32 %d, %a;", 32, []int{32}, func(o operands) uint64 {
		v := float64(f32(o[0]))
		if v != v {
			return 0
		}
		return uint64(uint32(int32(max(min(v, math.MaxInt32), math.MinInt32))))
	}},
	{"cvt.rni.u32.f32 %d, %a;", 32, []int{32}, func(o operands) uint64 {
		v := math.RoundToEven(float64(f32(o[0])))
		if v != v {
			return 0
		}
		return uint64(max(min(v, math.MaxUint32), 0))
	}},
	{"add.f32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 { return bits32(f32(o[0]) + f32(o[1])) }},
	{"mul.rn.f32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 { return bits32(f32(o[0]) * f32(o[1])) }},
	{"div.rn.f32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 { return bits32(f32(o[0]) / f32(o[1])) }},
	{"min.f32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 {
		x, y := f32(o[0]), f32(o[1])
		switch {
		case x != x:
			return bits32(y)
		case y != y:
			return bits32(x)
		}
		return bits32(min(x, y))
	}},
	{"neg.f32 %d, %a;", 32, []int{32}, func(o operands) uint64 { return bits32(-f32(o[0])) }},
	{"cvt.sat.f32.f32 %d, %a;", 32, []int{32}, func(o operands) uint64 {
		v := f32(o[0])
		if v != v || v <= 0 {
			return 0
		}
		return bits32(min(v, 1))
	}},
	{"cvt.rn.f16.f32 %d, %a;", 16, []int{32}, func(o operands) uint64 { return half(f32(o[0])) }},
	{"cvt.rn.f16x2.f32 %d, %a, %b;", 32, []int{32, 32}, func(o operands) uint64 { return half(f32(o[0]))<<16 | half(f32(o[1])) }},
	{"cvt.rn.bf16.f32 %d, %a;", 16, []int{32}, func(o operands) uint64 { return brain(uint32(o[0])) }},
	{"cvt.rn.f32.f64 %d, %a;", 32, []int{64}, func(o operands) uint64 { return bits32(float32(math.Float64frombits(o[0]))) }},
}

// TestInstructions compares instructions with Go's arithmetic, on random operands and on edges.
func TestInstructions(t *testing.T) {
	for _, c := range instructions {
		rng := rand.New(rand.NewPCG(1, 9))
		var all []operands
		for range 600 {
			var o operands
			for k := range o {
				if o[k] = rng.Uint64() >> rng.IntN(64); rng.IntN(2) == 0 {
					o[k] = edges[rng.IntN(len(edges))]
				}
			}
			all = append(all, o)
		}
		got := compute(t, c.instruction, c.to, c.from, all)
		for i, o := range all {
			for k, w := range c.from {
				o[k] &= mask(w)
			}
			if want := c.want(o); got[i] != want {
				t.Errorf("%s of %#x: %#x, want %#x", c.instruction, o[:len(c.from)], got[i], want)
				break
			}
		}
	}
}

// half rounds to half precision by a search among all halves.
func half(v float32) uint64 {
	sign := uint64(math.Float32bits(v) >> 31 << 15)
	x := math.Abs(float64(v))
	if x != x {
		return 0x7fff
	}
	value := func(bits uint64) float64 {
		if bits < 1<<10 {
			return math.Ldexp(float64(bits), -24)
		}
		return math.Ldexp(float64(bits&1023|1024), int(bits>>10)-25)
	}
	low, high := uint64(0), uint64(0x7c00) // value(low) <= x
	for high-low > 1 {
		if mid := (low + high) / 2; value(mid) <= x {
			low = mid
		} else {
			high = mid
		}
	}
	switch middle := (value(low) + value(high)) / 2; {
	case x > middle || x == middle && low&1 == 1:
		return sign | high
	default:
		return sign | low
	}
}

// brain rounds to bfloat16.
func brain(x uint32) uint64 {
	if x<<1 > 0xff000000 {
		return 0x7fff
	}
	return uint64((x + 0x7fff + x>>16&1) >> 16)
}

// TestHalvesAreExact: every half survives a round trip, and arithmetic on halves is the rounded
// exact result.
func TestHalvesAreExact(t *testing.T) {
	var all [][4]uint64
	for x := range uint64(1 << 16) {
		if x%7 == 0 || x&0x3ff < 2 {
			all = append(all, [4]uint64{x, (x*40503 + 1) & 0xffff, x * 31 & 0xffff})
		}
	}
	f := formats["f16"]
	singles := compute(t, "cvt.f32.f16 %d, %a;", 32, []int{16}, all)
	var back [][4]uint64
	for i, v := range singles {
		assert.Equal(t, bits32(float32(f.decode(all[i][0]))), v)
		back = append(back, [4]uint64{v})
	}
	for i, x := range compute(t, "cvt.rn.f16.f32 %d, %a;", 16, []int{32}, back) {
		if all[i][0]&0x7fff <= 0x7c00 {
			require.Equal(t, all[i][0], x)
		}
	}
	for i, x := range compute(t, "fma.rn.f16 %d, %a, %b, %c;", 16, []int{16, 16, 16}, all) {
		a, b, c := f.decode(all[i][0]), f.decode(all[i][1]), f.decode(all[i][2])
		exact := math.FMA(a, b, c) // of halves, rounded once to 53 bits: hardly ever a tie afterwards
		require.Equal(t, f.encode(exact, "rn"), x, "%v*%v+%v", a, b, c)
	}
}

// TestUnknown: an unknown instruction is an error that names it.
func TestUnknown(t *testing.T) {
	for _, s := range []string{
		"tex.2d.v4.f32 {%r1, %r1, %r1, %r1}, [t, {%r1, %r1}];", "add.cc.s32 %r1, %r1, %r1;", "activemask.b32 %r1;",
		"mul.s32 %r1, %r1, %r1;", "ld.global.v8.u32 %r1, [%r1];", "bar.sync 1;", "mov.u32 %r1, %rd1;", "shf.l.b32 %r1, %r1, %r1, %r1;",
		"cvt.f16.f32 %r1, %r1;", "cvt.rzi.u32.u32.f32 %r1, %r1;", "st.param.u32 [k_param_0], %r1;", "ex2.approx.f32 %r1, %r1;", "bra nowhere;",
		"add.s32 %r1, %r9, %r1;", "setp.xx.s32 %p1, %r1, %r1;",
	} {
		_, err := Parse([]byte(".visible .entry k(.param .u64 k_param_0)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n" + s + "\nret;\n}"))
		if assert.Error(t, err, s) && s != "bra nowhere;" {
			assert.Contains(t, err.Error(), s[:7])
		}
	}
}
