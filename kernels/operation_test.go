package kernels_test

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/kernels"
	"github.com/restride/restride/layout"
)

// typeOf is a type of elements of so many bits.
func typeOf(bits int) layout.DType {
	return map[int]layout.DType{
		1: layout.Bit, 2: layout.Uint2, 4: layout.Uint4, 8: layout.Uint8, 16: layout.Uint16, 32: layout.Uint32, 64: layout.Uint64, 128: layout.Complex128,
	}[bits]
}

func operation(op kernels.Op, operands ...kernels.Operand) *kernels.Operation {
	o := kernels.Operation{Op: op}
	copy(o.Operands[:], operands)
	return &o
}

func of(l layout.Layout, t layout.DType) kernels.Operand {
	return kernels.Operand{Type: t, Layout: &l}
}

func copying(dst, src layout.Layout, bits int) *kernels.Operation {
	return operation(kernels.OpCopy, of(dst, typeOf(bits)), of(src, typeOf(bits)))
}

func filling(dst layout.Layout, bits int) *kernels.Operation {
	return operation(kernels.OpFill, of(dst, typeOf(bits)))
}

// packing converts integers from or to below a byte.
func packing(dst, src layout.Layout, dstBits, srcBits int, signed bool) *kernels.Operation {
	from := typeOf(srcBits)
	if signed {
		from = map[int]layout.DType{2: layout.Int2, 4: layout.Int4, 8: layout.Int8}[srcBits]
	}
	return operation(kernels.OpConvert, of(dst, typeOf(dstBits)), of(src, from))
}

func casting(dst, src layout.Layout, to, from layout.DType, how device.Rounding) *kernels.Operation {
	o := operation(kernels.OpConvert, of(dst, to), of(src, from))
	o.How = how
	return o
}

func taking(dst, src, at layout.Layout, by []layout.Index, bits, atBits int) *kernels.Operation {
	o := operation(kernels.OpTake, of(dst, typeOf(bits)), of(src, typeOf(bits)), of(at, typeOf(atBits)))
	o.By = by
	return o
}

func putting(dst, src, at layout.Layout, by []layout.Index, t layout.DType, how device.Reduction, atBits int) *kernels.Operation {
	o := operation(kernels.OpPut, of(dst, t), of(src, t), of(at, typeOf(atBits)))
	o.By, o.Reduction = by, how
	return o
}

func mapping(dst, src layout.Layout, dstBits, srcBits int) *kernels.Operation {
	var table layout.Layout
	return operation(kernels.OpMap, of(dst, typeOf(dstBits)), of(src, typeOf(srcBits)), of(table, typeOf(dstBits)))
}

func choosing(dst, cond, a, b layout.Layout, bits int) *kernels.Operation {
	return operation(kernels.OpWhere, of(dst, typeOf(bits)), of(a, typeOf(bits)), of(cond, layout.Bool), of(b, typeOf(bits)))
}

// scaling is a dequantization, or a quantization, by terms: scale, zero and add.
func scaling(op kernels.Op, l layout.Layout, to, from layout.DType, terms ...kernels.Operand) *kernels.Operation {
	return operation(op, append([]kernels.Operand{of(l, to), of(l, from)}, terms...)...)
}
