package device

import "github.com/restride/restride/layout"

// UnsupportedQueue returns ErrUnsupported from the optional operations of Queue. Queues embed it
// and override what they have, so they still compile when Queue gets another operation.
type UnsupportedQueue struct{}

func unsupported(op string) error {
	return layout.Errorf(ErrUnsupported, op, "the device lacks this operation")
}

func (UnsupportedQueue) Convert(dst, src Operand, how Rounding) error { return unsupported("Convert") }

func (UnsupportedQueue) Take(dst, src, at Operand, by ...layout.Index) error {
	return unsupported("Take")
}

func (UnsupportedQueue) Put(dst, src, at Operand, how Reduction, by ...layout.Index) error {
	return unsupported("Put")
}

func (UnsupportedQueue) Dequantize(dst, src Operand, by Scaling) error {
	return unsupported("Dequantize")
}

func (UnsupportedQueue) Quantize(dst, src Operand, by Quantization) error {
	return unsupported("Quantize")
}

func (UnsupportedQueue) Map(dst, src, table Operand) error { return unsupported("Map") }

func (UnsupportedQueue) Where(dst, cond, a, b Operand) error { return unsupported("Where") }
