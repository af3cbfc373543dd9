package devicetest

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

func (q *refQueue) Dequantize(dst, src device.Operand, by device.Scaling) error {
	if err := q.first(q.dev.of(operandBuffers(dst, src, by.Scale, by.Zero, by.Add)...), backend.CheckDequantize(&dst, &src, &by)); err != nil {
		return err
	}
	if q.dev.has("no add") {
		by.Add = device.Operand{}
	}
	terms := oracle.Terms{Scale: termOf(by.Scale), Zero: termOf(by.Zero), Add: termOf(by.Add), Subtract: by.Subtract}
	return q.scale(oracle.OpDequantize, dst, src, by.Scale, terms, device.Rounding{})
}

func (q *refQueue) Quantize(dst, src device.Operand, by device.Quantization) error {
	if err := q.first(q.dev.of(operandBuffers(dst, src, by.Scale, by.Zero)...), backend.CheckQuantize(&dst, &src, &by)); err != nil {
		return err
	}
	terms := oracle.Terms{Scale: termOf(by.Scale), Zero: termOf(by.Zero), Precision: by.Precision, FindScale: by.FindScale}
	if q.dev.has("no precision") {
		terms.Precision = layout.Float32
	}
	return q.scale(oracle.OpQuantize, dst, src, by.Scale, terms, device.Rounding{Unsaturated: by.Unsaturated})
}

func (q *refQueue) scale(op oracle.Op, dst, src, scale device.Operand, terms oracle.Terms, how device.Rounding) error {
	return q.launch(dst, func() {
		oracle.Scale(op, memory(dst.Buffer), dst.Layout, dst.Type, memory(src.Buffer), src.Layout, src.Type, &terms, how)
	}, src, scale)
}

// termOf is an operand in the oracle's form.
func termOf(o device.Operand) oracle.Term {
	if o.Buffer == nil {
		return oracle.Term{}
	}
	return oracle.Term{Layout: o.Layout, Type: o.Type, Data: memory(o.Buffer)}
}

// operandBuffers are the buffers of operands that have one, including the first two.
func operandBuffers(operands ...device.Operand) (all []device.Buffer) {
	for i, o := range operands {
		if i < 2 || o.Buffer != nil {
			all = append(all, o.Buffer)
		}
	}
	return all
}
