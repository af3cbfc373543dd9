package cases

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// OpTake is the operation of device.Queue that takes elements by indices.
const OpTake oracle.Op = "take"

// Operation is a case at a size: a Copy, Fill, Convert or Take of device.Queue. A
// fill has no source. A take has indices; its source is where elements lie whose
// index is 0.
type Operation struct {
	oracle.Case
	At     layout.Layout // of a take's indices
	AtType layout.DType
	By     device.Index
}

// String is the operation's name, which restride verify reads.
func (o Operation) String() string {
	if o.Op == OpTake {
		return o.take().String()
	}
	return o.Case.String()
}

func (o Operation) take() oracle.TakeCase {
	return oracle.TakeCase{Type: o.DstType, AtType: o.AtType, Dst: o.Dst, Src: o.Src, At: o.At, By: []device.Index{o.By}}
}

// Check compares the operation with the index walk, in memory of its own.
func (o Operation) Check(dev device.Device, q device.Queue, seed uint64) error {
	if o.Op == OpTake {
		return oracle.CheckTakeOn(dev, q, o.take(), seed)
	}
	return oracle.CheckOn(dev, q, o.Case, seed)
}

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
func LogicalBytes(o Operation) (int64, error) {
	shape := o.Dst.Shape()
	total, err := shape.Bytes(o.DstType)
	if err != nil || o.Op == oracle.OpFill || total == 0 {
		return total, err
	}
	read, err := shape.Bytes(o.SrcType)
	if err != nil || o.Op != OpTake {
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
