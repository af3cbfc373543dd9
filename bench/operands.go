package bench

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
)

// Operands are memory for an operation.
type Operands struct {
	Op       oracle.Op
	Dst, Src device.Operand
}

// NewOperands allocates it. What is in it is undefined.
func NewOperands(dev device.Device, c oracle.Case) (o Operands, err error) {
	o = Operands{
		Op:  c.Op,
		Dst: device.Operand{Layout: c.Dst, Type: c.DstType},
		Src: device.Operand{Layout: c.Src, Type: c.SrcType},
	}
	for _, x := range []*device.Operand{&o.Dst, &o.Src} {
		size, err := slots(x.Layout, x.Type)
		if err == nil {
			x.Buffer, err = dev.Alloc(size)
		}
		if err != nil {
			x.Buffer = nil
			return Operands{}, errors.Join(err, o.Free())
		}
	}
	return o, nil
}

// Run queues the operation.
func (o *Operands) Run(q device.Queue) error {
	if o.Op == oracle.OpConvert {
		return q.Convert(o.Dst, o.Src, device.Rounding{})
	}
	return q.Copy(o.Dst, o.Src)
}

// Free gives the memory back.
func (o *Operands) Free() error {
	var errs []error
	for _, b := range []device.Buffer{o.Dst.Buffer, o.Src.Buffer} {
		if b != nil {
			errs = append(errs, b.Free())
		}
	}
	return errors.Join(errs...)
}

func (o *Operands) size() int64 { return o.Dst.Buffer.Size() + o.Src.Buffer.Size() }

// poison fills all of dst with what no case leaves there.
func (o *Operands) poison(q device.Queue) error {
	return q.Fill(Dense(o.Dst.Buffer), []byte{0xa5})
}
