package bench

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
)

// Operands are memory for an operation. A fill has no Src, and only a take has At:
// these are without a buffer.
type Operands struct {
	Operation    Operation
	Dst, Src, At device.Operand
}

// NewOperands allocates it. What is in it is undefined: a take's indices, too, before
// DrawIndices.
func NewOperands(dev device.Device, c Operation) (o Operands, err error) {
	o = Operands{
		Operation: c,
		Dst:       device.Operand{Layout: c.Dst, Type: c.DstType},
		Src:       device.Operand{Layout: c.Src, Type: c.SrcType},
		At:        device.Operand{Layout: c.At, Type: c.AtType},
	}
	alloc := func(x *device.Operand, by ...device.Index) {
		if err != nil {
			return
		}
		var size int64
		if size, err = slots(x.Layout, x.Type, by...); err == nil {
			x.Buffer, err = dev.Alloc(size)
		}
		if err != nil {
			x.Buffer = nil
		}
	}
	alloc(&o.Dst)
	switch c.Op {
	case oracle.OpFill:
	case OpTake:
		alloc(&o.Src, c.By)
		alloc(&o.At)
	default:
		alloc(&o.Src)
	}
	if err != nil {
		return Operands{}, errors.Join(err, o.Free())
	}
	return o, nil
}

// DrawIndices writes a take's indices: each as likely as any other, and the same
// for the same seed. It does nothing for other operations.
func (o *Operands) DrawIndices(q device.Queue, seed uint64) error {
	at, err := o.Operation.indices(seed)
	if err != nil {
		return err
	}
	return o.writeIndices(q, at)
}

func (o *Operands) writeIndices(q device.Queue, indices []byte) error {
	if o.At.Buffer == nil {
		return nil
	}
	return q.Write(o.At.Buffer, 0, indices)
}

// Run queues the operation.
func (o *Operands) Run(q device.Queue) error {
	switch o.Operation.Op {
	case oracle.OpConvert:
		return q.Convert(o.Dst, o.Src, o.Operation.How)
	case oracle.OpFill:
		return q.Fill(o.Dst, o.Operation.pattern())
	case OpTake:
		return q.Take(o.Dst, o.Src, o.At, o.Operation.By)
	}
	return q.Copy(o.Dst, o.Src)
}

// Buffers are those that the operation has.
func (o *Operands) Buffers() []device.Buffer {
	var all []device.Buffer
	for _, b := range []device.Buffer{o.Dst.Buffer, o.Src.Buffer, o.At.Buffer} {
		if b != nil {
			all = append(all, b)
		}
	}
	return all
}

// Free gives the memory back.
func (o *Operands) Free() error {
	var errs []error
	for _, b := range o.Buffers() {
		errs = append(errs, b.Free())
	}
	return errors.Join(errs...)
}

func (o *Operands) size() (bytes int64) {
	for _, b := range o.Buffers() {
		bytes += b.Size()
	}
	return bytes
}

// poisoned is a byte of what no case leaves in dst.
const poisoned = 0xa5

// poison fills all of dst with it.
func (o *Operands) poison(q device.Queue) error {
	return q.Fill(Dense(o.Dst.Buffer), []byte{poisoned})
}
