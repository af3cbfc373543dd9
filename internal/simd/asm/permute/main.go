// Command permute writes the kernels for blocks that gather bytes from anywhere.
package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/restride/restride/internal/simd/asm/emit"
)

// Offsets of the fields of simd.permuteTerm.
const (
	fieldLow   = 0
	fieldHigh  = 8
	fieldMask  = 16
	fieldTable = 24
	termBytes  = fieldTable + 64
)

// mostHeld is the largest number of terms whose tables fit in registers.
const mostHeld = 4

func main() {
	for _, count := range []int{1, 2, 3, 4, 6, 8, 12, 16} {
		mergeAVX2(count)
		mergeAVX512(count)
	}
	for _, v := range Both {
		pairNibbles(v)
		swapNibbles(v)
	}
	WriteFiles()
}

// merge is a function that computes blocks of count terms.
type merge struct {
	count    int
	src, all reg.GPVirtual
}

func begin(v Vec, count int) *merge {
	TEXT(v.Name(fmt.Sprintf("merge%d", count)), attr.NOSPLIT, "func(dst, src *byte, dStep, sStep, n int64, terms *byte)")
	Pragma("noescape")
	return &merge{count, Arg("src"), Arg("terms")}
}

// held reports whether all terms are in registers.
func (m *merge) held() bool { return m.count <= mostHeld }

func (m *merge) field(term, field int) Mem {
	return Mem{Base: m.all, Disp: term*termBytes + field}
}

// offsets returns a function that returns the address of a term's vector: its offset is held in
// a register, or loaded each time.
func (m *merge) offsets(field int) func(term int) Mem {
	held := make([]reg.GPVirtual, m.count)
	if m.count <= 3 {
		for i := range held {
			held[i] = GP64()
			MOVQ(m.field(i, field), held[i])
		}
	}
	return func(term int) Mem {
		r := held[term]
		if r == nil {
			r = GP64()
			MOVQ(m.field(term, field), r)
		}
		return Mem{Base: m.src, Index: r, Scale: 1}
	}
}

// loop emits the rest of a function: body for each block.
func (m *merge) loop(body func(dst Mem)) {
	dst, dStep, sStep, n := Arg("dst"), Arg("dStep"), Arg("sStep"), Arg("n")
	Label("block")
	body(Mem{Base: dst})
	ADDQ(dStep, dst)
	ADDQ(sStep, m.src)
	DECQ(n)
	JNE(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// mergeAVX2 computes each half of a vector from one lane of the source per term; terms are
// combined by or.
func mergeAVX2(count int) {
	m := begin(AVX2, count)
	low, high := m.offsets(fieldLow), m.offsets(fieldHigh)
	tables := make([]Op, count)
	for i := range tables {
		tables[i] = m.field(i, fieldTable)
		if m.held() {
			r := YMM()
			VMOVDQU(tables[i], r)
			tables[i] = r
		}
	}
	m.loop(func(dst Mem) {
		// Two independent sums.
		sums := [2]reg.VecVirtual{}
		for i := range count {
			x := YMM()
			VMOVDQU(low(i), x.AsX())
			VINSERTI128(Imm(1), high(i), x, x)
			VPSHUFB(tables[i], x, x)
			if sum := &sums[i%2]; *sum == nil {
				*sum = x
			} else {
				VPOR(x, *sum, *sum)
			}
		}
		if count > 1 {
			VPOR(sums[1], sums[0], sums[0])
		}
		VMOVDQU(sums[0], dst)
	})
}

// mergeAVX512 permutes whole vectors, and merges each result under a mask.
func mergeAVX512(count int) {
	m := begin(AVX512, count)
	at := m.offsets(fieldLow)
	store, loads := K(), K()
	KMOVQ(m.field(0, fieldMask), store)
	KMOVQ(m.field(0, fieldHigh), loads)
	tables, masks := make([]reg.VecVirtual, count), make([]reg.OpmaskVirtual, count)
	for i := range count {
		if m.held() {
			tables[i] = ZMM()
			VMOVDQU8(m.field(i, fieldTable), tables[i])
			masks[i] = K()
			if i > 0 {
				KMOVQ(m.field(i, fieldMask), masks[i])
			}
		}
	}
	m.loop(func(dst Mem) {
		sum := ZMM()
		for i := range count {
			table, mask := tables[i], masks[i]
			if table == nil {
				table, mask = ZMM(), K()
				VMOVDQU8(m.field(i, fieldTable), table)
				if i > 0 {
					KMOVQ(m.field(i, fieldMask), mask)
				}
			}
			switch {
			case count == 1:
				x := ZMM()
				VMOVDQU8_Z(at(i), loads, x)
				VPERMB(x, table, sum)
			case i == 0:
				VPERMB(at(i), table, sum)
			default:
				VPERMB(at(i), table, mask, sum)
			}
		}
		VMOVDQU8(sum, store, dst)
	})
}
