package main

import (
	"reflect"
	"runtime"
	"slices"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"

	"github.com/restride/restride/internal/bench/peers"
)

// gomlx is github.com/gomlx/compute with its backend in Go: a case is a program of
// Slice, Reverse, Transpose, BroadcastInDim or ConvertDType, which allocates its results, from
// a pool. It has its own buffers. Operators run one after the other, as there is seldom more
// than one: in parallel, a panic could not be recovered.
type gomlx struct{ backend compute.Backend }

func newGomlx() (library, error) {
	b, err := gobackend.New("ops_sequential")
	return &gomlx{b}, err
}

func (g *gomlx) name() string { return "gomlx compute " + version("github.com/gomlx/compute") }

func (g *gomlx) threads() int { return runtime.GOMAXPROCS(0) }

func (g *gomlx) ops() []string { return []string{"copy", "convert"} }

var gomlxTypes = map[string]dtypes.DType{
	"uint8": dtypes.Uint8, "int8": dtypes.Int8, "float16": dtypes.Float16, "bfloat16": dtypes.BFloat16, "float": dtypes.Float32, "double": dtypes.Float64,
	"complex128": dtypes.Complex128, "int4": dtypes.Int4, "int2": dtypes.Int2,
}

func (g *gomlx) prepare(e *peers.Entry, b buffers) (operation, error) {
	to, from := gomlxTypes[e.Dst.Type], gomlxTypes[e.Src.Type]
	if to == dtypes.InvalidDType || from == dtypes.InvalidDType {
		return nil, unsupported("no " + e.Dst.Type)
	}
	if from == dtypes.Float32 && to == dtypes.Float16 {
		return nil, unsupported("makes subnormal halves 0") // version 0.1.2
	}
	if r := e.Dst.Recipe; r == nil || e.Src.Recipe == nil || permuted(r) || !slices.Equal(r.Dims, e.Dst.Dims) {
		return nil, unsupported("no operator writes into a part of a tensor")
	}
	r := e.Src.Recipe
	if e.Src.Bits < 8 && slices.ContainsFunc(r.Step, func(n int64) bool { return n < 0 }) {
		return nil, unsupported("Reverse of " + e.Src.Type + " panics") // version 0.1.2
	}
	shape := shapes.Make(from, ints(r.Dims)...)
	builder := g.backend.Builder(e.Name)
	f := builder.Main()
	x, err := f.Parameter("x", shape, nil)
	if err != nil {
		return nil, err
	}
	if x, err = view(f, x, r); err != nil {
		return nil, err
	}
	if !slices.Equal(permute(counts(r), r.Perm), e.Src.Dims) {
		axes := make([]int, len(r.Dims))
		for i := range axes {
			axes[i] = i
		}
		if x, err = f.BroadcastInDim(x, shapes.Make(from, ints(e.Src.Dims)...), axes); err != nil {
			return nil, err
		}
	}
	if to != from {
		if x, err = f.ConvertDType(x, to); err != nil {
			return nil, err
		}
	}
	if err := f.Return([]compute.Value{x}, nil); err != nil {
		return nil, err
	}
	op := new(gomlxOperation)
	if op.program, err = builder.Compile(); err != nil {
		return nil, err
	}
	var flat any
	if op.in, flat, err = g.backend.NewSharedBuffer(0, shape); err != nil {
		return nil, err
	}
	if copy(raw(flat), b.src) != len(b.src) {
		return nil, unsupported("other bytes for " + e.Src.Type)
	}
	return op, nil
}

// view adds a recipe's operators.
func view(f compute.Function, x compute.Value, r *peers.Recipe) (compute.Value, error) {
	var err error
	steps, backwards, whole := make([]int, len(r.Dims)), []int{}, true
	for i, s := range ints(r.Step) {
		steps[i] = max(s, -s)
		if s < 0 {
			backwards = append(backwards, i)
		}
		whole = whole && steps[i] == 1 && r.Low[i] == 0 && r.High[i] == r.Dims[i]
	}
	if !whole {
		if x, err = f.Slice(x, ints(r.Low), ints(r.High), steps); err != nil {
			return nil, err
		}
	}
	if len(backwards) > 0 {
		if x, err = f.Reverse(x, backwards...); err != nil {
			return nil, err
		}
	}
	if permuted(r) {
		x, err = f.Transpose(x, r.Perm...)
	}
	return x, err
}

func permute(dims []int64, perm []int) []int64 {
	out := make([]int64, len(perm))
	for i, axis := range perm {
		out[i] = dims[axis]
	}
	return out
}

type gomlxOperation struct {
	program compute.Executable
	in, out compute.Buffer
}

func (o *gomlxOperation) run() error {
	if err := o.drop(); err != nil {
		return err
	}
	out, err := o.program.Execute([]compute.Buffer{o.in}, nil, 0)
	if err == nil {
		o.out = out[0]
	}
	return err
}

// drop returns the last result to the pool.
func (o *gomlxOperation) drop() error {
	if o.out == nil {
		return nil
	}
	out := o.out
	o.out = nil
	return out.Finalize()
}

func (o *gomlxOperation) result() ([]byte, error) {
	flat, err := o.out.Data()
	if err != nil {
		return nil, err
	}
	return raw(flat), nil
}

func (o *gomlxOperation) free() {
	_ = o.drop() // its error has no consequence
	_ = o.in.Finalize()
	o.program.Finalize()
}

// raw is the bytes of a slice of any type.
func raw(flat any) []byte {
	v := reflect.ValueOf(flat)
	return unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*int(v.Type().Elem().Size()))
}
