package cases

import (
	"errors"

	"github.com/restride/restride/internal/oracle"
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

// Scale is the element of all scales of a type, 1/8; nil: cases have no such scales.
func Scale(t layout.DType) []byte {
	switch t {
	case layout.Float16:
		return []byte{0x00, 0x30}
	case layout.BFloat16:
		return []byte{0x00, 0x3e}
	case layout.Float32:
		return []byte{0, 0, 0, 0x3e}
	case layout.Float8E8M0:
		return []byte{0x7c}
	}
	return nil
}

// LogicalBytes is the logical traffic of an operation: the elements that it writes and, except
// in a fill, as many that it reads. A take or a put also reads its indices, a where its
// conditions, and a scaling its terms, each once.
func LogicalBytes(o oracle.Case) (int64, error) {
	shape := o.Dst.Shape()
	total, err := shape.Bytes(o.DstType)
	if err != nil || o.Op == oracle.OpFill || total == 0 {
		return total, err
	}
	read, err := shape.Bytes(o.SrcType)
	total += read
	once := func(l layout.Layout, t layout.DType) {
		dims := l.Shape()
		for i := range dims {
			if l.Stride(i) == 0 {
				dims[i] = 1
			}
		}
		n, e := dims.Bytes(t)
		total, err = total+n, errors.Join(err, e)
	}
	switch o.Op {
	case oracle.OpTake, oracle.OpPut:
		once(o.At, o.AtType)
	case oracle.OpWhere:
		once(o.Cond, layout.Bool)
	case oracle.OpDequantize, oracle.OpQuantize:
		for _, t := range []oracle.Term{o.Terms.Scale, o.Terms.Zero} {
			if t.Type != layout.Invalid {
				once(t.Layout, t.Type)
			}
		}
	}
	return total, err
}
