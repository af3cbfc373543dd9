package planner

import (
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/rounding"
	"github.com/restride/restride/layout"
)

// Op is an operation of device.Queue.
type Op uint8

// The operations with kernels.
const (
	OpCopy Op = iota
	OpFill
	OpConvert
	OpTake
	OpPut
	OpMap
	OpWhere
	OpDequantize
	OpQuantize
)

// String returns the name of the operation's method.
func (o Op) String() string { return opNames[o] }

var opNames = [...]string{"Copy", "Fill", "Convert", "Take", "Put", "Map", "Where", "Dequantize", "Quantize"}

// Role is the role of an operand in an operation.
type Role uint8

// The roles: dst, src, and further ones for some operations.
const (
	Dst Role = iota
	Src      // a of a where; a fill has none

	At    = Src + 1 // of a take or a put: the indices
	Table = Src + 1 // of a map
	Cond  = Src + 1 // of a where,
	B     = Src + 2 // and b: the result is src or b
	Scale = Src + 1 // of a dequantization or a quantization
	Zero  = Src + 2
	Add   = Src + 3

	MaxOperands = 5
)

// Operand is a type and a layout of elements. Without a layout, the operand is absent.
type Operand struct {
	Type   layout.DType
	Layout *layout.Layout
}

// Operation is one call of device.Queue, without buffers, that the checks of package backend
// accept. All layouts except Table's have the same shape.
type Operation struct {
	Op       Op
	Operands [MaxOperands]Operand // by role

	Pattern   [2]uint64        // of OpFill: see PatternOf; a launch fits any pattern
	By        []layout.Index   // of OpTake and OpPut
	Reduction device.Reduction // of OpPut
	How       device.Rounding  // of OpConvert; of OpQuantize: whether it saturates

	Subtract  bool         // of OpDequantize
	Precision layout.DType // of OpQuantize
	FindScale bool         // of OpQuantize: Scale is an output
}

// Plan chooses the kernel of an operation, with its parameters and arguments.
func Plan(o *Operation, t Target) (Launch, error) { return o.plan(t, nil) }

// Explain plans an operation, and returns each planner's answer.
func Explain(o *Operation, t Target) (backend.Explanation, error) {
	e := backend.Explanation{Unit: "cycles on one multiprocessor", Candidates: []backend.Candidate{}}
	l, err := o.plan(t, &e.Candidates)
	e.Class, e.Kernel = l.Class, l.Kernel()
	e.Choose(e.Kernel)
	return e, err
}

// plan is Plan; the planners' answers are added to notes unless it is nil.
func (o *Operation) plan(t Target, notes *[]backend.Candidate) (Launch, error) {
	l, err := o.launch(&problem{op: o.Op.String(), target: t, notes: notes})
	if err == nil && l.Groups > 0 {
		l.Arguments = o.arguments()
	}
	return l, err
}

func (o *Operation) launch(p *problem) (Launch, error) {
	dst, src, at := &o.Operands[Dst], &o.Operands[Src], &o.Operands[At]
	bits := dst.Type.Bits()
	switch o.Op {
	case OpFill:
		return p.planFill(*dst.Layout, bits)
	case OpConvert:
		switch backend.ConversionOf(dst.Type, src.Type) {
		case backend.AsPack:
			return p.planPack(*dst.Layout, *src.Layout, bits, src.Type.Bits(), backend.IsSigned(src.Type))
		case backend.ByValue:
			return p.planCast(*dst.Layout, *src.Layout, dst.Type, src.Type, o.How)
		}
	case OpTake, OpPut:
		x := &indexed{problem: p, puts: o.Op == OpPut, by: slices.Clone(o.By), atBits: at.Type.Bits()}
		switch {
		case o.Op == OpTake:
			return x.planTake(*dst.Layout, *src.Layout, *at.Layout, bits)
		case o.Reduction != device.ReduceSet:
			return x.planReduce(*dst.Layout, *src.Layout, *at.Layout, dst.Type, o.Reduction)
		}
		return x.planPut(*dst.Layout, *src.Layout, *at.Layout, bits)
	case OpMap:
		return p.planMap(*dst.Layout, *src.Layout, bits, src.Type.Bits())
	case OpWhere:
		return p.planWhere(*dst.Layout, *o.Operands[Cond].Layout, *src.Layout, *o.Operands[B].Layout, bits)
	case OpDequantize, OpQuantize:
		terms := termLayouts{o.Operands[Scale].Layout, o.Operands[Zero].Layout, o.Operands[Add].Layout}
		return p.planScaling(*dst.Layout, *src.Layout, terms, o.scaling())
	}
	return p.planCopy(*dst.Layout, *src.Layout, bits)
}

// scaling is the input of the scaling kernels apart from layouts.
func (o *Operation) scaling() scaling {
	return scaling{
		Quantize: o.Op == OpQuantize, To: o.Operands[Dst].Type, From: o.Operands[Src].Type,
		Scale: o.Operands[Scale].Type, Zero: o.Operands[Zero].Type, Add: o.Operands[Add].Type,
		Subtract: o.Subtract, Precision: o.Precision, Unsaturated: o.How.Unsaturated, FindScale: o.FindScale,
	}
}

// key identifies a launch apart from layouts and indices: operations that share a launch have
// equal keys.
type key struct {
	op               Op
	dstBits, srcBits uint8
	atBits           uint8
	signed           bool
	to, from         layout.DType
	how              device.Rounding
	reduction        device.Reduction
	scaling          scaling
}

func (o *Operation) key() key {
	dst, src := o.Operands[Dst].Type, o.Operands[Src].Type
	k := key{op: o.Op, dstBits: uint8(dst.Bits()), srcBits: uint8(src.Bits())}
	switch o.Op {
	case OpConvert:
		switch backend.ConversionOf(dst, src) {
		case backend.AsCopy:
			k.op = OpCopy
		case backend.AsPack:
			k.signed = backend.IsSigned(src)
		case backend.ByValue:
			k.to, k.from, k.how = dst, src, rounding.For(o.How, dst)
		}
	case OpTake:
		k.atBits = uint8(o.Operands[At].Type.Bits())
	case OpPut:
		k.atBits = uint8(o.Operands[At].Type.Bits())
		if k.reduction = o.Reduction; k.reduction != device.ReduceSet {
			k.to = dst
		}
	case OpDequantize, OpQuantize:
		k.scaling = o.scaling()
	}
	return k
}

// noLayout is the layout of an absent operand.
var noLayout layout.Layout

// sides are the n layouts that determine a launch: dst's, src's, and others, whose offsets are
// ignored.
func (o *Operation) sides() (sides [MaxOperands]*layout.Layout, n int) {
	for r := range o.Operands {
		if x := o.Operands[r].Layout; x != nil {
			sides[r], n = x, r+1
		} else {
			sides[r] = &noLayout
		}
	}
	switch o.Op {
	case OpFill:
		sides[Src], n = sides[Dst], 2
	case OpMap:
		n = int(Table) // the table's layout is irrelevant
	}
	return sides, n
}
