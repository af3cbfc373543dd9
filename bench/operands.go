package bench

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// Operands are memory for an operation. Absent ones have no buffer: Src of a fill, At of all
// but takes and puts.
type Operands struct {
	Dst, Src, At device.Operand
	cond, b      device.Operand // of a where
	table        device.Operand // of a map
	scale, zero  device.Operand // of scalings
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
	spanned := func(x *device.Operand, l layout.Layout, t layout.DType) {
		*x = device.Operand{Layout: l, Type: t}
		if _, last, some := l.Extent(); err == nil && some {
			bytes, _ := layout.PackedBytes(last+1, t.Bits()) // not more than dst's elements
			alloc(x, bytes)
		}
	}
	switch o.Op {
	case oracle.OpTake, oracle.OpPut:
		alloc(&all.At, at)
	case oracle.OpWhere:
		spanned(&all.cond, o.Cond, layout.Bool)
		spanned(&all.b, o.B, o.DstType)
	case oracle.OpMap:
		if all.table.Layout, err = layout.Contiguous(1 << o.SrcType.Bits()); err == nil {
			spanned(&all.table, all.table.Layout, o.DstType)
		}
	case oracle.OpDequantize, oracle.OpQuantize:
		spanned(&all.scale, o.Terms.Scale.Layout, o.Terms.Scale.Type)
		if zero := o.Terms.Zero; zero.Type != layout.Invalid {
			spanned(&all.zero, zero.Layout, zero.Type)
		}
	}
	if err != nil {
		return Operands{}, errors.Join(err, all.Free())
	}
	return all, nil
}

// Fill writes all inputs, from a slice of at least Noise bytes: sources unchanged, conditions
// that are true with probability 1/2, scales of 1/8, and uniform indices: the same for the same
// seed. It overwrites all of Dst.
func (o *Operands) Fill(q device.Queue, src []byte, seed uint64) error {
	return o.fill(q, &contents{noise: src, seed: seed}, &Operands{})
}

// fill writes all inputs. Indices and conditions are copied from filled operands of the same
// operation, if they have buffers.
func (o *Operands) fill(q device.Queue, c *contents, filled *Operands) error {
	for _, x := range []device.Operand{o.Src, o.b, o.table, o.zero} {
		if x.Buffer == nil {
			continue
		}
		if err := c.putNoise(q, x.Buffer); err != nil {
			return err
		}
	}
	for _, x := range [][2]device.Operand{{o.cond, filled.cond}, {o.At, filled.At}} {
		if x[0].Buffer == nil {
			continue
		}
		if err := c.putMade(q, x[0].Buffer, x[1].Buffer, &o.operation); err != nil {
			return err
		}
	}
	if b := o.scale.Buffer; b != nil {
		if err := q.Fill(whole(b, o.scale.Type), cases.Scale(o.scale.Type)); err != nil {
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
	case oracle.OpPut:
		return q.Put(o.Dst, o.Src, o.At, o.operation.Reduction, o.operation.By...)
	case oracle.OpWhere:
		return q.Where(o.Dst, o.cond, o.Src, o.b)
	case oracle.OpMap:
		return q.Map(o.Dst, o.Src, o.table)
	case oracle.OpDequantize:
		return q.Dequantize(o.Dst, o.Src, device.Scaling{Scale: o.scale, Zero: o.zero})
	case oracle.OpQuantize:
		by := o.operation.Terms
		return q.Quantize(o.Dst, o.Src, device.Quantization{Scale: o.scale, Zero: o.zero, Precision: by.Precision, Unsaturated: o.operation.How.Unsaturated, FindScale: by.FindScale})
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

// Noise is the number of bytes that Fill needs.
func (o *Operands) Noise() (bytes int64) {
	for _, x := range []device.Operand{o.Src, o.cond, o.b, o.table, o.zero} {
		if x.Buffer != nil {
			bytes = max(bytes, x.Buffer.Size())
		}
	}
	return bytes
}

// size is the bytes of all buffers.
func (o *Operands) size() (bytes int64) {
	for _, b := range o.buffers() {
		bytes += b.Size()
	}
	return bytes
}

func (o *Operands) buffers() (all []device.Buffer) {
	for _, x := range []device.Operand{o.Dst, o.Src, o.At, o.cond, o.b, o.table, o.scale, o.zero} {
		if x.Buffer != nil {
			all = append(all, x.Buffer)
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
func dense(b device.Buffer) device.Operand { return whole(b, layout.Uint8) }

// whole is a buffer as an operand of a type of whole bytes.
func whole(b device.Buffer, t layout.DType) device.Operand {
	l, err := layout.Contiguous(b.Size() * 8 / int64(t.Bits()))
	if err != nil {
		panic(err) // the size exists
	}
	return device.Operand{Buffer: b, Layout: l, Type: t}
}
