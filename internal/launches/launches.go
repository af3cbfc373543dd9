// Package launches says what a GPU is given for an operation: the launch and its
// arguments, and why it is that one, for commands and tests that have no device.
package launches

import (
	"fmt"

	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// Target is what an operation is planned for.
type Target = planner.Target

// Launch is a planner.Launch with its arguments. Groups are 0 where there is nothing to
// do.
type Launch struct {
	planner.Launch
	Numbers []uint64 // of the arguments; 0 for memory
	Extent  int64    // numbers in memory are below it: the index of a take or a put, a map's elements, or conditions

	Read, Written int64 // the least bytes that memory moves: see cases.Touched
	Fetched       int64 // bytes that it reads if all sectors of dst are written as a whole
	Reach         int64 // bytes in which a take or a put finds its rows, by indices; 0: none
}

// sector is the smallest unit of GPU memory traffic, in bytes.
const sector = 32

// Of plans an operation.
func Of(o oracle.Case, target Target) (l Launch, err error) {
	call, err := operation(o)
	if err == nil {
		l.Launch, err = planner.Plan(&call, target)
	}
	if err != nil {
		return l, fmt.Errorf("%v: %w", o, err)
	}
	for i := range l.Arguments {
		l.Numbers = append(l.Numbers, l.Number(i, &call))
	}
	l.Extent = extent(o)
	l.Read, l.Written = cases.Touched(o, sector)
	if l.Fetched, err = fetched(o); err != nil {
		return l, err
	}
	for _, x := range o.By {
		l.Reach = max(l.Reach, x.Extent*max(x.Stride, -x.Stride)*int64(o.DstType.Bits())/8)
	}
	return l, nil
}

// Explain says how a GPU carries out an operation, and why.
func Explain(o oracle.Case, target Target) (e backend.Explanation, err error) {
	call, err := operation(o)
	if err == nil {
		e, err = planner.Explain(&call, target)
	}
	if err != nil {
		return e, fmt.Errorf("%v: %w", o, err)
	}
	return e, nil
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

// ops are the operations of cases for which there are kernels.
var ops = map[oracle.Op]planner.Op{
	oracle.OpCopy: planner.OpCopy, oracle.OpFill: planner.OpFill, oracle.OpConvert: planner.OpConvert,
	oracle.OpTake: planner.OpTake, oracle.OpPut: planner.OpPut, oracle.OpMap: planner.OpMap, oracle.OpWhere: planner.OpWhere,
	oracle.OpDequantize: planner.OpDequantize, oracle.OpQuantize: planner.OpQuantize,
}

// operation is the operation of a case.
func operation(o oracle.Case) (planner.Operation, error) {
	op, ok := ops[o.Op]
	if !ok {
		return planner.Operation{}, fmt.Errorf("%w: no kernel does %s", oracle.ErrSkipped, o.Op)
	}
	if o.DstType.Bits() == 0 {
		return planner.Operation{}, fmt.Errorf("%w: no kernel moves elements of the type %v", oracle.ErrSkipped, o.DstType)
	}
	call := planner.Operation{
		Op: op, By: o.By, Reduction: o.Reduction, How: o.How,
		Subtract: o.Terms.Subtract, Precision: o.Terms.Precision, FindScale: o.Terms.FindScale,
	}
	set := func(r planner.Role, t layout.DType, l layout.Layout) {
		call.Operands[r] = planner.Operand{Type: t, Layout: &l}
	}
	set(planner.Dst, o.DstType, o.Dst)
	if op == planner.OpFill {
		call.Pattern = planner.PatternOf(cases.Pattern(o.DstType), o.DstType.Bits())
	} else {
		set(planner.Src, o.SrcType, o.Src)
	}
	switch op {
	case planner.OpTake, planner.OpPut:
		set(planner.At, o.AtType, o.At)
	case planner.OpMap:
		table, err := layout.Strided([]int64{1 << o.SrcType.Bits()}, []int64{1}, o.Table)
		if err != nil {
			return call, err
		}
		set(planner.Table, o.DstType, table)
	case planner.OpWhere:
		set(planner.Cond, layout.Bool, o.Cond)
		set(planner.B, o.DstType, o.B)
	}
	for i, t := range []*oracle.Term{&o.Terms.Scale, &o.Terms.Zero, &o.Terms.Add} {
		if t.Type != layout.Invalid {
			set(planner.Scale+planner.Role(i), t.Type, t.Layout)
		}
	}
	return call, nil
}

// extent is the extent of the numbers that a case finds in memory.
func extent(o oracle.Case) int64 {
	switch o.Op {
	case oracle.OpTake, oracle.OpPut:
		return o.By[0].Extent
	case oracle.OpMap:
		return 1 << 32
	case oracle.OpWhere:
		return 2
	}
	return 0
}
