package cases

import (
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// Pattern is the element that fills of a type write. No two of its bytes are equal, so
// that a fill by smaller units is found.
func Pattern(t layout.DType) []byte {
	p := make([]byte, (t.Bits()+7)/8)
	for i := range p {
		p[i] = byte(i + 1)
	}
	return p
}

// LogicalBytes is the traffic of an operation by its own account: the elements that it
// writes and, except in a fill, as many that it reads. A take also reads its indices,
// each once.
func LogicalBytes(o oracle.Case) (int64, error) {
	shape := o.Dst.Shape()
	total, err := shape.Bytes(o.DstType)
	if err != nil || o.Op == oracle.OpFill || total == 0 {
		return total, err
	}
	read, err := shape.Bytes(o.SrcType)
	if err != nil || o.Op != oracle.OpTake {
		return total + read, err
	}
	for i := range shape {
		if o.At.Stride(i) == 0 {
			shape[i] = 1
		}
	}
	indices, err := shape.Bytes(o.AtType)
	return total + read + indices, err
}
