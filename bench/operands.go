package bench

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"

	"github.com/restride/restride/bench/cases"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// Operands are memory for an operation. A fill has no Src, and only a take has At: the
// others' are without a buffer.
type Operands struct {
	Dst, Src, At device.Operand
	operation    oracle.Case
}

// NewOperands allocates operands, whose contents are undefined.
func NewOperands(dev device.Device, o oracle.Case) (all Operands, err error) {
	if dev == nil {
		return all, layout.Errorf(device.ErrInvalid, "bench", "the device is nil")
	}
	all = Operands{
		Dst:       device.Operand{Layout: o.Dst, Type: o.DstType},
		Src:       device.Operand{Layout: o.Src, Type: o.SrcType},
		At:        device.Operand{Layout: o.At, Type: o.AtType},
		operation: o,
	}
	dst, src, at := o.Sizes()
	alloc := func(x *device.Operand, bytes int64) {
		if err != nil {
			return
		}
		var b device.Buffer
		if b, err = dev.Alloc(bytes); err == nil {
			x.Buffer = b
		}
	}
	alloc(&all.Dst, dst)
	if o.Op != oracle.OpFill {
		alloc(&all.Src, src)
	}
	if o.Op == oracle.OpTake {
		alloc(&all.At, at)
	}
	if err != nil {
		return Operands{}, errors.Join(err, all.Free())
	}
	return all, nil
}

// Fill writes the source, from a slice that is at least as long, and a take's indices,
// each as likely as any other: the same for the same seed. It overwrites all of Dst.
func (o *Operands) Fill(q device.Queue, src []byte, seed uint64) error {
	if b := o.Src.Buffer; b != nil {
		if err := q.Write(b, 0, src[:b.Size()]); err != nil {
			return err
		}
	}
	if b := o.At.Buffer; b != nil {
		if err := q.Write(b, 0, indices(o.operation, b.Size(), seed)); err != nil {
			return err
		}
	}
	return o.poison(q)
}

// Run queues the operation.
func (o *Operands) Run(q device.Queue) error {
	switch o.operation.Op {
	case oracle.OpConvert:
		return q.Convert(o.Dst, o.Src, o.operation.How)
	case oracle.OpFill:
		return q.Fill(o.Dst, cases.Pattern(o.Dst.Type))
	case oracle.OpTake:
		return q.Take(o.Dst, o.Src, o.At, o.operation.By...)
	}
	return q.Copy(o.Dst, o.Src)
}

// Free frees the memory.
func (o *Operands) Free() error {
	var errs []error
	for _, b := range o.buffers() {
		errs = append(errs, b.Free())
	}
	return errors.Join(errs...)
}

// size is the bytes of all buffers.
func (o *Operands) size() (bytes int64) {
	for _, b := range o.buffers() {
		bytes += b.Size()
	}
	return bytes
}

func (o *Operands) buffers() (all []device.Buffer) {
	for _, b := range []device.Buffer{o.Dst.Buffer, o.Src.Buffer, o.At.Buffer} {
		if b != nil {
			all = append(all, b)
		}
	}
	return all
}

// poisoned is a byte that no case leaves in dst.
const poisoned = 0xa5

// poison fills dst's whole buffer with it.
func (o *Operands) poison(q device.Queue) error {
	return q.Fill(dense(o.Dst.Buffer), []byte{poisoned})
}

// dense is a buffer as an operand of bytes.
func dense(b device.Buffer) device.Operand {
	l, err := layout.Contiguous(b.Size())
	if err != nil {
		panic(err) // a size that exists
	}
	return device.Operand{Buffer: b, Layout: l, Type: layout.Uint8}
}

// indices are so many bytes of a take's indices.
func indices(o oracle.Case, size int64, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 3))
	at := make([]byte, 0, size)
	for int64(len(at)) < size {
		if i := uint64(rng.Int64N(o.By[0].Extent)); o.AtType == layout.Int32 {
			at = binary.LittleEndian.AppendUint32(at, uint32(i))
		} else {
			at = binary.LittleEndian.AppendUint64(at, i)
		}
	}
	return at
}
