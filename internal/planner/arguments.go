package planner

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/rounding"
)

// Argument is one argument of a kernel: 8 bytes, except for parameters passed by value (see
// Spec.ParameterBytes).
type Argument struct {
	Is     ArgumentKind
	Role   Role   // of Memory and Base
	Number uint64 // of Number; of Pattern: which 8 bytes of it
}

// ArgumentKind says where an argument comes from.
type ArgumentKind uint8

// The kinds of arguments.
const (
	Memory     ArgumentKind = iota // of an operand; if the operation lacks it, any memory
	Parameters                     // the launch's: see Launch.Params
	Base                           // the same for all operations that share the launch
	Number                         // the same for all operations that have the launch in common
	Pattern                        // of a fill: see Operation.Pattern
	Status                         // records an index out of range: see source/indices.h
)

// Number returns the value of a number argument for an operation that the launch fits, or 0.
func (l *Launch) Number(i int, o *Operation) uint64 {
	switch a := &l.Arguments[i]; a.Is {
	case Base:
		if x := o.Operands[a.Role].Layout; x != nil {
			return uint64(l.Base(a.Role, x.Offset()))
		}
	case Number:
		return a.Number
	case Pattern:
		return o.Pattern[a.Number]
	}
	return 0
}

// arguments lists the arguments of an operation's kernel, in the kernel's order.
func (o *Operation) arguments() []Argument {
	memory := func(r Role) Argument { return Argument{Is: Memory, Role: r} }
	base := func(r Role) Argument { return Argument{Is: Base, Role: r} }
	number := func(n uint64) Argument { return Argument{Is: Number, Number: n} }
	all := func(more ...Argument) []Argument {
		return append([]Argument{memory(Dst), memory(Src), {Is: Parameters}, base(Dst), base(Src)}, more...)
	}
	switch o.Op {
	case OpFill:
		return []Argument{memory(Dst), memory(Dst), {Is: Parameters}, base(Dst), base(Dst), {Is: Pattern}, {Is: Pattern, Number: 1}}
	case OpConvert:
		if to, from := o.Operands[Dst].Type, o.Operands[Src].Type; backend.ConversionOf(to, from) == backend.ByValue {
			read, written := Numbers(to, from, rounding.For(o.How, to))
			return all(number(read), number(written))
		}
	case OpTake:
		return all(base(At), number(0), memory(At), Argument{Is: Status})
	case OpPut:
		how := uint64(0)
		if o.Reduction != device.ReduceSet {
			how = reducing(o.Operands[Dst].Type, o.Reduction)
		}
		return all(base(At), number(how), memory(At), Argument{Is: Status})
	case OpMap:
		return all(base(Table), number(uint64(o.Operands[Src].Type.Bits())), memory(Table))
	case OpWhere:
		return all(base(Cond), base(B), memory(Cond), memory(B))
	case OpDequantize, OpQuantize:
		return all(base(Scale), base(Zero), memory(Scale), memory(Zero), memory(Add), base(Add))
	}
	return all(number(0), number(0))
}
