// Package launches says what a GPU is given for an operation: the launch and its
// arguments, for commands and tests that have no device.
package launches

import (
	"fmt"

	"github.com/restride/restride/bench/cases"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/backend"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/kernels"
	"github.com/restride/restride/layout"
)

// Launch is a kernels.Launch with its arguments. Groups are 0 where there is nothing to
// do.
type Launch struct {
	kernels.Launch
	D, S   int64  // the kernel's bases, in elements of its width
	Lo, Hi uint64 // its last arguments
	Extent int64  // of the index of a take or a put, of what a map looks up, or of conditions: numbers are below
	Add    int64  // of a scaling: the base of what is added

	Read, Written int64 // bytes that memory moves at least: see cases.Touched
	Fetched       int64 // and that it reads if all sectors of dst are written as a whole
	Reach         int64 // bytes in which a take or a put finds its rows, by indices; 0: there are none
}

// sector is the least that a GPU's memory moves, in bytes.
const sector = 32

// Of plans an operation.
func Of(o oracle.Case, target kernels.Target) (l Launch, err error) {
	if err := l.plan(o, target); err != nil {
		return l, fmt.Errorf("%v: %w", o, err)
	}
	l.Read, l.Written = cases.Touched(o, sector)
	if l.Fetched, err = fetched(o); err != nil {
		return l, err
	}
	for _, x := range o.By {
		l.Reach = max(l.Reach, x.Extent*max(x.Stride, -x.Stride)*int64(o.DstType.Bits())/8)
	}
	src := o.Src
	if o.Op == oracle.OpFill {
		src = o.Dst
	}
	l.D, l.S = l.Bases(o.Dst.Offset(), src.Offset())
	return l, nil
}

// fetched is the bytes that are read, but for those of dst. A put's are those of copies of
// src and of the indices.
func fetched(o oracle.Case) (int64, error) {
	switch {
	case o.Op == oracle.OpFill:
		return 0, nil
	case o.Op == oracle.OpPut:
		src, err := fetched(oracle.Case{Op: oracle.OpCopy, DstType: o.SrcType, SrcType: o.SrcType, Dst: o.Src, Src: o.Src})
		if err != nil {
			return 0, err
		}
		at, err := fetched(oracle.Case{Op: oracle.OpCopy, DstType: o.AtType, SrcType: o.AtType, Dst: o.At, Src: o.At})
		return src + at, err
	}
	dense, err := layout.Contiguous(o.Dst.Shape()...)
	if err != nil {
		return 0, err
	}
	o.Dst = dense
	read, _ := cases.Touched(o, sector)
	return read, nil
}

func (l *Launch) plan(o oracle.Case, target kernels.Target) (err error) {
	bits := o.DstType.Bits()
	if bits == 0 {
		return fmt.Errorf("%w: no kernel moves elements of the type %v", oracle.ErrSkipped, o.DstType)
	}
	switch o.Op {
	case oracle.OpCopy:
		l.Launch, err = kernels.PlanCopy(o.Dst, o.Src, bits, target)
	case oracle.OpFill:
		l.Lo, l.Hi = kernels.Pattern(cases.Pattern(o.DstType), bits)
		l.Launch, err = kernels.PlanFill(o.Dst, bits, target)
	case oracle.OpConvert:
		switch backend.ConversionOf(o.DstType, o.SrcType) {
		case backend.AsCopy:
			l.Launch, err = kernels.PlanCopy(o.Dst, o.Src, bits, target)
		case backend.AsPack:
			l.Launch, err = kernels.PlanPack(o.Dst, o.Src, bits, o.SrcType.Bits(), backend.IsSigned(o.SrcType), target)
		case backend.ByValue:
			l.Lo, l.Hi = kernels.Numbers(o.DstType, o.SrcType, o.How)
			l.Launch, err = kernels.PlanCast(o.Dst, o.Src, o.DstType, o.SrcType, o.How, target)
		}
	case oracle.OpTake:
		if l.Launch, err = kernels.PlanTake(o.Dst, o.Src, o.At, o.By, bits, o.AtType.Bits(), target); err == nil {
			l.Lo, l.Extent = uint64(l.AtBase(o.At.Offset())), o.By[0].Extent
		}
	case oracle.OpDequantize, oracle.OpQuantize:
		err = l.planScaling(o, target)
	case oracle.OpMap:
		l.Lo, l.Hi, l.Extent = uint64(o.Table), uint64(o.SrcType.Bits()), 1<<32
		l.Launch, err = kernels.PlanMap(o.Dst, o.Src, bits, o.SrcType.Bits(), target)
	case oracle.OpWhere:
		if l.Launch, err = kernels.PlanWhere(o.Dst, o.Cond, o.Src, o.B, bits, target); err == nil {
			l.Lo, l.Hi, l.Extent = uint64(l.AtBase(o.Cond.Offset())), uint64(l.BBase(o.B.Offset())), 2
		}
	case oracle.OpPut:
		if o.Reduction == device.Set {
			l.Launch, err = kernels.PlanPut(o.Dst, o.Src, o.At, o.By, bits, o.AtType.Bits(), target)
		} else {
			l.Hi = kernels.Reducing(o.DstType, o.Reduction)
			l.Launch, err = kernels.PlanReduce(o.Dst, o.Src, o.At, o.By, o.DstType, o.Reduction, o.AtType.Bits(), target)
		}
		if err == nil {
			l.Lo, l.Extent = uint64(l.AtBase(o.At.Offset())), o.By[0].Extent
		}
	default:
		err = fmt.Errorf("%w: no kernel does %s", oracle.ErrSkipped, o.Op)
	}
	return err
}

func (l *Launch) planScaling(o oracle.Case, target kernels.Target) (err error) {
	by := kernels.Scaling{
		Quantize: o.Op == oracle.OpQuantize, To: o.DstType, From: o.SrcType, Scale: o.Terms.Scale.Type, Zero: o.Terms.Zero.Type, Add: o.Terms.Add.Type,
		Subtract: o.Terms.Subtract, Precision: o.Terms.Precision, Unsaturated: o.How.Unsaturated, FindScale: o.Terms.FindScale,
	}
	var terms kernels.TermLayouts
	for i, t := range []*oracle.Term{&o.Terms.Scale, &o.Terms.Zero, &o.Terms.Add} {
		if t.Type != 0 {
			terms[i] = &t.Layout
		}
	}
	if l.Launch, err = kernels.PlanScaling(o.Dst, o.Src, terms, by, target); err == nil {
		l.Lo, l.Hi = uint64(l.TermBase(0, o.Terms.Scale.Layout.Offset())), uint64(l.TermBase(1, o.Terms.Zero.Layout.Offset()))
		l.Add = l.TermBase(2, o.Terms.Add.Layout.Offset())
	}
	return err
}
