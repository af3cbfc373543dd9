// Package emit has what the programs that write kernels share: one vocabulary for
// vectors of 32 and of 64 bytes, and the loop around a kernel's body.
package emit

import (
	"encoding/binary"
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Line is how many bytes of the destination an iteration writes: stores past the
// caches are of whole lines.
const Line = 64

// Vec is the size of a level's vectors, in bytes.
type Vec int

// The sizes.
const (
	AVX2   Vec = 32
	AVX512 Vec = 64
)

// Both has both sizes.
var Both = []Vec{AVX2, AVX512}

// Name adds the level to a name.
func (v Vec) Name(name string) string {
	if v == AVX512 {
		return name + "AVX512"
	}
	return name + "AVX2"
}

// Reg returns a register.
func (v Vec) Reg() reg.VecVirtual {
	switch v {
	case 16:
		return XMM()
	case AVX2:
		return YMM()
	}
	return ZMM()
}

// First returns the register that is the first bytes of r.
func First(r reg.VecVirtual, bytes int) reg.VecVirtual {
	switch bytes {
	case 16:
		return r.AsX().(reg.VecVirtual)
	case 32:
		return r.AsY().(reg.VecVirtual)
	}
	return r
}

// Read loads all of a register.
func Read(from Mem, r reg.Register) {
	if r.Size() == 64 {
		VMOVDQU64(from, r)
	} else {
		VMOVDQU(from, r)
	}
}

// Write stores all of a register.
func Write(r reg.Register, to Mem, past bool) {
	switch {
	case past:
		VMOVNTDQ(r, to)
	case r.Size() == 64:
		VMOVDQU64(r, to)
	default:
		VMOVDQU(r, to)
	}
}

// Or sets a to a | b.
func Or(b, a reg.Register) {
	if a.Size() == 64 {
		VPORQ(b, a, a)
	} else {
		VPOR(b, a, a)
	}
}

// And sets a to a & b.
func And(b, a reg.Register) {
	if a.Size() == 64 {
		VPANDQ(b, a, a)
	} else {
		VPAND(b, a, a)
	}
}

var globals = map[string]Mem{}

// global returns constants, which a file has once.
func global(name string, data []byte) Mem {
	m, ok := globals[name]
	if !ok {
		m = GLOBL(name, attr.RODATA|attr.NOPTR)
		for i := 0; i < len(data); i += 8 {
			DATA(i, U64(binary.LittleEndian.Uint64(data[i:])))
		}
		globals[name] = m
	}
	return m
}

// Splat64 returns a vector of one word. So do the others.
func (v Vec) Splat64(word uint64) reg.VecVirtual {
	r := v.Reg()
	VPBROADCASTQ(global(fmt.Sprintf("word%016x", word), binary.LittleEndian.AppendUint64(nil, word)), r)
	return r
}

func (v Vec) Splat32(word uint32) reg.VecVirtual { return v.Splat64(uint64(word) * 0x100000001) }
func (v Vec) Splat16(word uint16) reg.VecVirtual { return v.Splat32(uint32(word) * 0x10001) }
func (v Vec) Splat8(word uint8) reg.VecVirtual   { return v.Splat16(uint16(word) * 0x101) }

// Table returns a vector of constant bytes.
func (v Vec) Table(name string, entry func(i int) byte) reg.VecVirtual {
	data := make([]byte, v)
	for i := range data {
		data[i] = entry(i)
	}
	r := v.Reg()
	Read(global(v.Name(name), data), r)
	return r
}

// Lanes returns the 16 bytes at an address, in each lane of a vector.
func (v Vec) Lanes(from Mem) reg.VecVirtual {
	r := v.Reg()
	if v == AVX512 {
		VBROADCASTI32X4(from, r)
	} else {
		VBROADCASTI128(from, r)
	}
	return r
}

// Packed returns the order that VPERMD needs after vectors were packed to one
// within their lanes, with elements of bytes bytes from each in turn.
func (v Vec) Packed(vectors int) reg.VecVirtual {
	lanes, run := int(v)/16, 4/vectors // words of a vector in a lane
	return v.Table(fmt.Sprintf("packed%d", vectors), func(i int) byte {
		if i%4 != 0 {
			return 0
		}
		word := i / 4
		vector, lane, part := word/(lanes*run), word/run%lanes, word%run
		return byte(lane*4 + vector*run + part)
	})
}

// Begin starts a function of the form func(dst, src *byte, lines int64, more).
func (v Vec) Begin(name, more string) {
	TEXT(v.Name(name), attr.NOSPLIT, "func(dst, src *byte, lines int64"+more+", past bool)")
	Pragma("noescape")
}

// Arg returns a parameter of 64 bits.
func Arg(name string) reg.GPVirtual {
	r := GP64()
	Load(Param(name), r)
	return r
}

// Loop emits the rest of a function: body once for each line of the destination,
// with stores to the caches or past them.
func Loop(body func(past bool)) {
	lines, past := Arg("lines"), GP8()
	Load(Param("past"), past)
	TESTQ(lines, lines)
	JE(LabelRef("done"))
	TESTB(past, past)
	JNE(LabelRef("past"))
	Label("near")
	body(false)
	DECQ(lines)
	JNE(LabelRef("near"))
	JMP(LabelRef("done"))
	Label("past")
	body(true)
	DECQ(lines)
	JNE(LabelRef("past"))
	SFENCE()
	Label("done")
	VZEROUPPER()
	RET()
}
