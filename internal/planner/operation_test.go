package planner_test

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// typeOf is a type of elements of so many bits.
func typeOf(bits int) layout.DType {
	return map[int]layout.DType{
		1: layout.Bit, 2: layout.Uint2, 4: layout.Uint4, 8: layout.Uint8, 16: layout.Uint16, 32: layout.Uint32, 64: layout.Uint64, 128: layout.Complex128,
	}[bits]
}

func operation(op planner.Op, operands ...planner.Operand) *planner.Operation {
	o := planner.Operation{Op: op}
	copy(o.Operands[:], operands)
	return &o
}

func of(l layout.Layout, t layout.DType) planner.Operand {
	return planner.Operand{Type: t, Layout: &l}
}

func copying(dst, src layout.Layout, bits int) *planner.Operation {
	return operation(planner.OpCopy, of(dst, typeOf(bits)), of(src, typeOf(bits)))
}

func filling(dst layout.Layout, bits int) *planner.Operation {
	return operation(planner.OpFill, of(dst, typeOf(bits)))
}

// packing converts integers from or to below a byte.
func packing(dst, src layout.Layout, dstBits, srcBits int, signed bool) *planner.Operation {
	from := typeOf(srcBits)
	if signed {
		from = map[int]layout.DType{2: layout.Int2, 4: layout.Int4, 8: layout.Int8}[srcBits]
	}
	return operation(planner.OpConvert, of(dst, typeOf(dstBits)), of(src, from))
}

func casting(dst, src layout.Layout, to, from layout.DType, how device.Rounding) *planner.Operation {
	o := operation(planner.OpConvert, of(dst, to), of(src, from))
	o.How = how
	return o
}

func taking(dst, src, at layout.Layout, by []layout.Index, bits, atBits int) *planner.Operation {
	o := operation(planner.OpTake, of(dst, typeOf(bits)), of(src, typeOf(bits)), of(at, typeOf(atBits)))
	o.By = by
	return o
}

func putting(dst, src, at layout.Layout, by []layout.Index, t layout.DType, how device.Reduction, atBits int) *planner.Operation {
	o := operation(planner.OpPut, of(dst, t), of(src, t), of(at, typeOf(atBits)))
	o.By, o.Reduction = by, how
	return o
}

func mapping(dst, src layout.Layout, dstBits, srcBits int) *planner.Operation {
	var table layout.Layout
	return operation(planner.OpMap, of(dst, typeOf(dstBits)), of(src, typeOf(srcBits)), of(table, typeOf(dstBits)))
}

func choosing(dst, cond, a, b layout.Layout, bits int) *planner.Operation {
	return operation(planner.OpWhere, of(dst, typeOf(bits)), of(a, typeOf(bits)), of(cond, layout.Bool), of(b, typeOf(bits)))
}

// scaling is a dequantization, or a quantization, by terms: scale, zero and add.
func scaling(op planner.Op, l layout.Layout, to, from layout.DType, terms ...planner.Operand) *planner.Operation {
	return operation(op, append([]planner.Operand{of(l, to), of(l, from)}, terms...)...)
}
