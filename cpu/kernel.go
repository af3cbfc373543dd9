package cpu

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/arguments"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Kernel turns a Go function into a user kernel for Launch on cpu devices' queues
// (device.Launcher). f has the kernel's parameters, and returns a function that runs once for
// each block:
//
//	func(y []float32, by float32, x []float32, offset, n, step int) func(cpu.Block)
//
// Each launch, and each run of a replay, calls f once with the arguments, then the function that
// f returned for each block, on several goroutines and in any order. The threads of a block are
// the function's own loop. Parameters are
//
//	[]T             memory, to its last whole T
//	a number        int8 to uint64, int, uint, float32 or float64
//	struct, array   by value
//
// where T, fields and elements are numbers of a fixed width (including complex numbers), or
// structs or arrays of these; an address that is not aligned for T is device.ErrInvalid. [Local]
// returns the memory of device.Local arguments, which have no parameter, as in CUDA.
//
// A panic of f or of its function ends the launch: Launch, or Run of the replay, returns
// device.ErrInvalid with the kernel's name, the block, the panic and its place in the source;
// data written before the panic stays. Slices must not be used after the launch. f must not call
// or close the queue that runs it, nor close the kernel or the device: it would wait for itself.
//
// For any other type of f, the error is device.ErrInvalid. The kernel runs on every cpu device.
// Its Close waits for launches; replays keep it.
func Kernel(name string, f any) (device.Kernel, error) {
	k := &kernelFunc{Kernel: arguments.Kernel{Name: name, SizesShared: true}, f: reflect.ValueOf(f)}
	refuse := func(format string, args ...any) (device.Kernel, error) {
		return nil, layout.Named("Kernel "+quote.Name(name), layout.Errorf(device.ErrInvalid, "", format, args...))
	}
	if k.f.Kind() != reflect.Func || k.f.IsNil() {
		return refuse("a %T is not a function", f)
	}
	t := k.f.Type()
	if t.IsVariadic() || t.NumOut() != 1 || t.Out(0) != reflect.TypeFor[func(Block)]() {
		return refuse("a %v: want a function with the kernel's parameters that returns a func(cpu.Block)", t)
	}
	for i := range t.NumIn() {
		p := parameterOf(t.In(i))
		if p.Kind == 0 {
			return refuse("parameter %d is a %v: want a slice of numbers, a number, a struct or an array", i, t.In(i))
		}
		k.Parameters = append(k.Parameters, p)
	}
	return k, nil
}

// Block is a block of a launch: its place in the grid, and the numbers of blocks and threads along
// x, y and z.
type Block struct {
	At, Grid, Size [3]int
	local          []byte
}

// Local returns a block's local memory, rounded down to whole elements: the total bytes of the
// launch's device.Local arguments. Earlier blocks may have used it.
func Local[T any](b Block) []T {
	t := reflect.TypeFor[T]()
	if !isPlain(t) {
		panic("cpu.Local of " + t.String() + ", which is not made of numbers of a fixed width")
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b.local))), len(b.local)/int(t.Size()))
}

// kernelFunc is a device.Kernel.
type kernelFunc struct {
	arguments.Kernel
	f reflect.Value

	mu     sync.RWMutex // held for reading during launches
	closed bool
}

// Name returns the kernel's name.
func (k *kernelFunc) Name() string { return k.Kernel.Name }

// Close waits for launches of the kernel.
func (k *kernelFunc) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return layout.Errorf(device.ErrClosed, "Close", "the kernel %s was closed before", quote.Name(k.Name()))
	}
	k.closed = true
	return nil
}

// parameterOf describes a parameter of a type; if it has no kind, the type cannot be a
// parameter's.
func parameterOf(t reflect.Type) arguments.Parameter {
	p := arguments.Parameter{Type: t.String(), Bytes: int(t.Size())}
	switch kind := t.Kind(); {
	case kind == reflect.Slice && isPlain(t.Elem()):
		p.Kind = arguments.Pointer
	case kind >= reflect.Int && kind <= reflect.Uint64:
		p.Kind = arguments.Integer | arguments.Struct
	case kind == reflect.Float32 || kind == reflect.Float64:
		p.Kind = arguments.Float | arguments.Struct
	case isPlain(t):
		p.Kind = arguments.Struct
	}
	return p
}

// isPlain reports whether any bytes are a valid value of a type, and its size is the same
// everywhere.
func isPlain(t reflect.Type) bool {
	if t.Size() == 0 {
		return false
	}
	switch kind := t.Kind(); kind {
	case reflect.Array:
		return isPlain(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !isPlain(t.Field(i).Type) {
				return false
			}
		}
		return true
	case reflect.Int, reflect.Uint, reflect.Uintptr:
		return false
	default:
		return kind >= reflect.Int && kind <= reflect.Complex128
	}
}
