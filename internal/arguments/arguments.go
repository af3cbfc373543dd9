// Package arguments converts the arguments of a launch (device.Launcher) to values for the
// parameters of a user's kernel, and checks them.
package arguments

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Kind is a set of the kinds of value that a parameter of a kernel accepts.
type Kind uint8

// The kinds of value.
const (
	Pointer     Kind = 1 << iota // to global memory
	LocalMemory                  // a pointer to a number of bytes of it
	Integer
	Float
	Struct
)

// ByValue are the kinds other than pointers.
const ByValue = Integer | Float | Struct

// Parameter is a driver's description of a parameter.
type Parameter struct {
	Name, Type string // for errors; "": unknown
	Kind       Kind
	Bytes      int // of a value; 0: unknown
}

func (p *Parameter) String() string {
	switch {
	case p.Name == "":
		return quote.Plain(p.Type)
	case p.Type == "":
		return quote.Plain(p.Name)
	}
	return quote.Plain(p.Type) + " " + quote.Plain(p.Name)
}

// Value is the value of a parameter: memory, local memory or bytes.
type Value struct {
	Kind  Kind
	Bytes []byte // of an Integer, a Float or a Struct
	Local uint32 // bytes of LocalMemory

	// Of a Pointer:
	Memory        device.Operand // the buffer; without a type, all of it
	Reads, Writes bool           // what the kernel may do there
	Role          string         // the argument's name, for errors
}

// Kernel is what launches of a kernel are checked against.
type Kernel struct {
	Name        string
	Parameters  []Parameter
	MostThreads uint32 // in a block; 0: unknown
	SizesShared bool   // Local arguments that fill no parameter are local memory of the launch
}

// Launch is a launch of a kernel that has been checked.
type Launch struct {
	Grid, Block device.Dim3
	Values      []Value // one for each parameter
	Shared      uint32  // bytes of local memory that is not a parameter
}

// Empty reports whether the launch has no blocks.
func (l *Launch) Empty() bool { return slices.Contains(l.Grid[:], 0) }

// Named names the kernel in an error of a launch.
func (k *Kernel) Named(err error) error {
	return layout.Named("Launch of kernel "+quote.Name(k.Name), err)
}

// Bind checks the size of a launch, and converts its arguments.
func (k *Kernel) Bind(grid, block device.Dim3, args []any) (Launch, error) {
	b := binding{Kernel: k, Launch: Launch{Grid: filled(grid), Block: filled(block)}}
	err := k.checkBlock(b.Block)
	for i := 0; i < len(args) && err == nil; i++ {
		err = b.one(i, args[i])
	}
	if n := len(b.Values); err == nil && n != len(k.Parameters) {
		err = layout.Errorf(device.ErrInvalid, "", "%d arguments, which fill %d parameters; the kernel has %d", len(args), n, len(k.Parameters))
	}
	return b.Launch, k.Named(err)
}

// filled replaces the zeros that stand for 1, those after the last extent that is not 0.
func filled(g device.Dim3) device.Dim3 {
	for i := len(g) - 1; i > 0 && g[i] == 0; i-- {
		g[i] = 1
	}
	return g
}

func (k *Kernel) checkBlock(block device.Dim3) error {
	threads := uint64(1)
	for _, n := range block {
		threads = min(threads*uint64(n), 1<<31)
	}
	switch {
	case threads == 0:
		return layout.Errorf(device.ErrInvalid, "", "a block of %d by %d by %d threads has none", block[0], block[1], block[2])
	case k.MostThreads > 0 && threads > uint64(k.MostThreads):
		return layout.Errorf(device.ErrInvalid, "", "a block of %d by %d by %d threads; the kernel runs with at most %d here", block[0], block[1], block[2], k.MostThreads)
	}
	return nil
}

// binding converts arguments to values.
type binding struct {
	*Kernel
	Launch
	access device.AccessArgument // to the memory of the argument
}

// one binds an argument.
func (b *binding) one(i int, arg any) error {
	b.access = device.AccessArgument{Reads: true, Writes: true}
	if x, ok := arg.(device.AccessArgument); ok {
		b.access, arg = x, x.X
		switch arg.(type) {
		case device.StridedArgument, device.Operander, device.Buffer:
		default:
			return b.refuse(i, "is the access to a %T, which is not memory", arg)
		}
	}
	switch x := arg.(type) {
	case device.StridedArgument:
		return b.strided(i, x)
	case device.Operander:
		return b.memory(i, x.Operand())
	case device.Buffer:
		return b.memory(i, device.Operand{Buffer: x})
	case device.Local:
		return b.local(i, x)
	case int:
		return b.integer(i, "an int", int64(x))
	case []byte:
		return b.put(i, "[]byte", Value{Kind: Struct, Bytes: append([]byte(nil), x...)})
	}
	v, ok := scalar(arg)
	if !ok {
		return b.refuse(i, "is a %T: want a tensor, a device.Operand, Buffer, Strided or Local, a number or []byte", arg)
	}
	return b.put(i, fmt.Sprintf("%T", arg), v)
}

// scalar returns the bytes of a number of a fixed width.
func scalar(arg any) (Value, bool) {
	le := binary.LittleEndian
	switch x := arg.(type) {
	case int8:
		return Value{Kind: Integer, Bytes: []byte{byte(x)}}, true
	case uint8:
		return Value{Kind: Integer, Bytes: []byte{x}}, true
	case int16:
		return Value{Kind: Integer, Bytes: le.AppendUint16(nil, uint16(x))}, true
	case uint16:
		return Value{Kind: Integer, Bytes: le.AppendUint16(nil, x)}, true
	case int32:
		return Value{Kind: Integer, Bytes: le.AppendUint32(nil, uint32(x))}, true
	case uint32:
		return Value{Kind: Integer, Bytes: le.AppendUint32(nil, x)}, true
	case int64:
		return Value{Kind: Integer, Bytes: le.AppendUint64(nil, uint64(x))}, true
	case uint64:
		return Value{Kind: Integer, Bytes: le.AppendUint64(nil, x)}, true
	case float32:
		return Value{Kind: Float, Bytes: le.AppendUint32(nil, math.Float32bits(x))}, true
	case float64:
		return Value{Kind: Float, Bytes: le.AppendUint64(nil, math.Float64bits(x))}, true
	}
	return Value{}, false
}

// refuse is the error of argument i.
func (b *binding) refuse(i int, format string, args ...any) error {
	to := ""
	if n := len(b.Values); n < len(b.Parameters) {
		to = fmt.Sprintf(" for parameter %d, %v,", n, &b.Parameters[n])
	}
	return layout.Errorf(device.ErrInvalid, "", "argument %d%s %s", i, to, fmt.Sprintf(format, args...))
}

// put fills the next parameter.
func (b *binding) put(i int, what string, v Value) error {
	n := len(b.Values)
	if n >= len(b.Parameters) {
		return b.refuse(i, "is one too many: the kernel has %d parameters", len(b.Parameters))
	}
	p := &b.Parameters[n]
	switch size := len(v.Bytes); {
	case p.Kind == 0:
		return b.refuse(i, "cannot be given: the parameter is neither memory nor a value")
	case p.Kind&v.Kind == 0:
		return b.refuse(i, "is %s, which that is not", what)
	case v.Kind&ByValue != 0 && p.Bytes > 0 && size != p.Bytes:
		return b.refuse(i, "is %s of %d bytes; the parameter has %d", what, size, p.Bytes)
	}
	b.Values = append(b.Values, v)
	return nil
}

func (b *binding) memory(i int, x device.Operand) error {
	v := Value{Kind: Pointer, Memory: x, Reads: b.access.Reads, Writes: b.access.Writes, Role: fmt.Sprintf("argument %d", i)}
	return b.put(i, "memory", v)
}

// integer fills a parameter with an integer of its width.
func (b *binding) integer(i int, what string, x int64) error {
	width := 8
	if n := len(b.Values); n < len(b.Parameters) {
		width = b.Parameters[n].Bytes
	}
	switch width {
	case 1, 2, 4, 8:
	case 0:
		return b.refuse(i, "is %s, and the driver does not tell of how many bytes the parameter is: give an int32 or int64", what)
	default:
		return b.refuse(i, "is %s; the parameter has %d bytes", what, width)
	}
	if s := 64 - 8*width; x<<s>>s != x {
		return b.refuse(i, "is %s of value %d, which %d bytes do not hold", what, x, width)
	}
	return b.put(i, what, Value{Kind: Integer, Bytes: binary.LittleEndian.AppendUint64(nil, uint64(x))[:width]})
}

// strided fills the parameters of a buffer and a layout.
func (b *binding) strided(i int, x device.StridedArgument) error {
	if x.X == nil {
		return b.refuse(i, "is the Strided of nothing")
	}
	o := x.X.Operand()
	if err := b.memory(i, o); err != nil {
		return err
	}
	numbers := append(o.Layout.AppendDims([]int64{o.Layout.Offset()}), o.Layout.Strides()...)
	for k, n := range numbers {
		what := "an extent"
		switch {
		case k == 0:
			what = "the offset"
		case k > o.Layout.Rank():
			what = "a stride"
		}
		if err := b.integer(i, what, n); err != nil {
			return err
		}
	}
	return nil
}

// local is a parameter where the kernel has one for it, otherwise a property of the launch.
func (b *binding) local(i int, bytes device.Local) error {
	if n := len(b.Values); n < len(b.Parameters) && b.Parameters[n].Kind&LocalMemory != 0 {
		b.Values = append(b.Values, Value{Kind: LocalMemory, Local: uint32(bytes)})
		return nil
	}
	if !b.SizesShared {
		return b.refuse(i, "is local memory, which that is not")
	}
	if b.Shared += uint32(bytes); b.Shared < uint32(bytes) {
		return b.refuse(i, "makes more local memory than there is")
	}
	return nil
}
