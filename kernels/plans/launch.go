package main

import (
	"fmt"

	"github.com/restride/restride/bench/cases"
	"github.com/restride/restride/device/backend"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/kernels"
)

// launchOf plans an operation for a GPU. lo and hi are the kernel's last arguments.
func launchOf(o oracle.Case) (l kernels.Launch, lo, hi uint64, err error) {
	var gpu kernels.Target
	bits := o.DstType.Bits()
	switch o.Op {
	case oracle.OpCopy:
		l, err = kernels.PlanCopy(o.Dst, o.Src, bits, gpu)
	case oracle.OpFill:
		lo, hi = kernels.Pattern(cases.Pattern(o.DstType), bits)
		l, err = kernels.PlanFill(o.Dst, bits, gpu)
	case oracle.OpConvert:
		switch backend.ConversionOf(o.DstType, o.SrcType) {
		case backend.AsCopy:
			l, err = kernels.PlanCopy(o.Dst, o.Src, bits, gpu)
		case backend.AsPack:
			l, err = kernels.PlanPack(o.Dst, o.Src, bits, o.SrcType.Bits(), backend.IsSigned(o.SrcType), gpu)
		case backend.ByValue:
			lo, hi = kernels.Numbers(o.DstType, o.SrcType, o.How)
			l, err = kernels.PlanCast(o.Dst, o.Src, o.DstType, o.SrcType, o.How, gpu)
		}
	case oracle.OpTake:
		if l, err = kernels.PlanTake(o.Dst, o.Src, o.At, o.By, bits, o.AtType.Bits(), gpu); err == nil {
			lo = uint64(l.AtBase(o.At.Offset()))
		}
	default:
		err = fmt.Errorf("%w: no kernel does %s", oracle.ErrSkipped, o.Op)
	}
	return l, lo, hi, err
}
