package gomlx

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/tensor"
	"github.com/stretchr/testify/require"
)

// open returns a backend on a device, whose memory the test must release.
func open(t testing.TB, name string) *Backend {
	t.Helper()
	b := fresh(t, name)
	b.core.Few = 0 // all of the tests' arrays are small
	return b
}

// fresh is open, of a backend with a program's settings.
func fresh(t testing.TB, name string) *Backend {
	t.Helper()
	b, err := New(name)
	kind, _, _ := strings.Cut(name, ":")
	devicetest.Require(t, kind, err)
	t.Cleanup(b.Finalize)
	tensor.CheckLeaks(t, b.core.Stream)
	t.Cleanup(func() { // GoMLX leaves buffers to the garbage collector
		for range 3 {
			collect()
		}
	})
	return b
}

// collect returns when the garbage collector has run, and its cleanups.
func collect() {
	called := make(chan struct{})
	runtime.AddCleanup(new([64]byte), func(called chan struct{}) { close(called) }, called)
	runtime.GC()
	select {
	case <-called:
	case <-time.After(10 * time.Second):
	}
	time.Sleep(5 * time.Millisecond) // for concurrent cleanups
}

var devices = []string{"cpu", "opencl:0", "cuda:0"}

// onDevices runs a test on a device of each kind.
func onDevices(t *testing.T, test func(t *testing.T, b *Backend)) {
	for _, name := range devices {
		t.Run(name, func(t *testing.T) { test(t, open(t, name)) })
	}
}

// values are operands that are known to exist.
type values = []compute.Value

// compile compiles a computation of parameters of the given shapes.
func compile(t testing.TB, b compute.Backend, of []shapes.Shape, build func(f compute.Function, in values) values) compute.Executable {
	t.Helper()
	bu := b.Builder(t.Name())
	f := bu.Main()
	in := make(values, len(of))
	for i, s := range of {
		var err error
		in[i], err = f.Parameter(string(rune('a'+i)), s, nil)
		require.NoError(t, err)
	}
	require.NoError(t, f.Return(build(f, in), nil))
	exec, err := bu.Compile()
	require.NoError(t, err)
	t.Cleanup(exec.Finalize)
	return exec
}

// buffers sends data to a backend.
func buffers(t testing.TB, b compute.Backend, of []shapes.Shape, data []any) []compute.Buffer {
	t.Helper()
	in := make([]compute.Buffer, len(of))
	for i := range of {
		var err error
		in[i], err = b.BufferFromFlatData(0, data[i], of[i])
		require.NoError(t, err)
		t.Cleanup(func() { in[i].Finalize() })
	}
	return in
}

// flats reads results and finalizes them.
func flats(t testing.TB, out []compute.Buffer) []any {
	t.Helper()
	all := make([]any, len(out))
	for i, x := range out {
		s, err := x.Shape()
		require.NoError(t, err)
		all[i] = dtypes.MakeAnySlice(s.DType, s.Size())
		require.NoError(t, x.ToFlatData(all[i]))
		require.NoError(t, x.Finalize())
	}
	return all
}

// run compiles and executes a computation.
func run(t testing.TB, b compute.Backend, of []shapes.Shape, data []any, build func(f compute.Function, in values) values) []any {
	t.Helper()
	out, err := compile(t, b, of, build).Execute(buffers(t, b, of, data), nil, 0)
	require.NoError(t, err)
	return flats(t, out)
}

// counted returns 0, 1, 2 and so on, as data of a shape.
func counted(s shapes.Shape) any {
	flat := reflect.ValueOf(dtypes.MakeAnySlice(s.DType, s.Size()))
	for i := range flat.Len() {
		flat.Index(i).Set(reflect.ValueOf(shapes.CastAsDType(i, s.DType)))
	}
	return flat.Interface()
}

// called returns x by a function that another one calls.
func called(t testing.TB, f compute.Function, x compute.Value) compute.Value {
	t.Helper()
	s, err := f.Shape(x)
	require.NoError(t, err)
	g, err := f.Builder().NewFunction("identity")
	require.NoError(t, err)
	y, err := g.Parameter("y", s, nil)
	require.NoError(t, err)
	require.NoError(t, g.Return(values{y}, nil))
	out, err := f.Call(g, x)
	require.NoError(t, err)
	return out[0]
}

// must returns the result of a call that must not fail.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

func float(dims ...int) shapes.Shape { return shapes.Make(dtypes.Float32, dims...) }
