package gomlx

import (
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/stretchr/testify/require"
)

// fails checks that a call returns an error with a message, and does not panic.
func fails(t *testing.T, says string, call func() error) {
	t.Helper()
	require.NotPanics(t, func() { require.ErrorContains(t, call(), says) })
}

func TestDataErrors(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		from := func(flat any, s shapes.Shape) func() error {
			return func() error { _, err := b.BufferFromFlatData(0, flat, s); return err }
		}
		fails(t, "in a slice of 3; 4 are wanted", from([]float32{1, 2, 3}, float(2, 2)))
		fails(t, "in a []int32", from([]int32{1}, float(1)))
		fails(t, "a slice is wanted", from(nil, float(1)))
		fails(t, "a slice is wanted", from(1, float(1)))
		fails(t, "(InvalidDType)[1], whose type Restride lacks", from([]string{"a"}, shapes.Shape{Dimensions: []int{1}}))
		fails(t, "in a []string", from([]string{"a"}, float(1)))
		fails(t, "(Complex64)[1], whose type Restride lacks", from([]complex64{1}, shapes.Make(dtypes.Complex64, 1)))
		fails(t, "open dimensions", from([]float32{1}, shapes.MakeDynamic(dtypes.Float32, []int{-1}, []string{"n"})))
		fails(t, "in a slice of 3; 2 are wanted", from([]uint8{1, 2, 3}, shapes.Make(dtypes.Int4, 3)))
		_, err := b.BufferFromFlatData(1, []float32{1}, float(1))
		require.ErrorContains(t, err, "device number 1")
		_, err = b.BufferFromFlatData(0, []complex64{1}, shapes.Make(dtypes.Complex64, 1))
		require.True(t, compute.IsNotImplemented(err))

		x := buffers(t, b, []shapes.Shape{float(2)}, []any{[]float32{1, 2}})[0]
		fails(t, "in a slice of 1; 2 are wanted", func() error { return x.ToFlatData([]float32{0}) })
		fails(t, "in a []int32", func() error { return x.ToFlatData([]int32{0, 0}) })
		fails(t, "device number 3", func() error { _, err := x.CopyToDevice(3); return err })
		for _, dims := range [][]int{{1 << 50}, {1 << 40, 1 << 40}} {
			absurd := shapes.Shape{DType: dtypes.Float32, Dimensions: dims}
			require.NotPanics(t, func() { _, _, err = b.NewSharedBuffer(0, absurd) })
			require.Error(t, err)
		}
		if !b.core.Shared() {
			fails(t, "shared buffers", func() error { _, _, err := b.NewSharedBuffer(0, float(1)); return err })
			fails(t, "the memory of", func() error { _, err := x.Data(); return err })
		}
		require.NoError(t, x.Finalize())
		for _, call := range []func() error{
			func() error { return x.ToFlatData([]float32{1, 2}) },
			func() error { _, err := x.Data(); return err },
			func() error { _, err := x.Shape(); return err },
			func() error { _, err := x.CopyToDevice(0); return err },
		} {
			fails(t, "finalized or donated", call)
		}
	})
}

func TestExecuteErrors(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		of := []shapes.Shape{float(2, 2)}
		in := buffers(t, b, of, []any{counted(of[0])})
		other, err := gobackend.New("")
		require.NoError(t, err)
		second, err := New("cpu")
		require.NoError(t, err)
		defer second.Finalize()
		for _, build := range []func(f compute.Function, in values) values{transposed(t), added(t)} {
			exec := compile(t, b, of, build)
			execute := func(donate []bool, num compute.DeviceNum, in ...compute.Buffer) func() error {
				return func() error { _, err := exec.Execute(in, donate, num); return err }
			}
			fails(t, "takes 1 inputs, and was given 0", execute(nil, 0))
			fails(t, "was told of 2", execute([]bool{true, false}, 0, in...))
			fails(t, "device number 1", execute(nil, 1, in...))
			fails(t, "of another kind: <nil>", execute(nil, 0, nil))
			fails(t, "of another kind: *gobackend.Buffer", execute(nil, 0, buffers(t, other, of, []any{counted(of[0])})[0]))
			fails(t, "of another backend", execute(nil, 0, buffers(t, second, of, []any{counted(of[0])})[0]))
			wide := buffers(t, b, []shapes.Shape{float(4)}, []any{counted(float(4))})
			fails(t, "has shape (Float32)[4]; (Float32)[2, 2] is wanted", execute(nil, 0, wide...))
			gone := buffers(t, b, of, []any{counted(of[0])})
			require.NoError(t, gone[0].Finalize())
			fails(t, "finalized or donated", execute(nil, 0, gone...))
			exec.Finalize()
			exec.Finalize()
			fails(t, "was finalized", execute(nil, 0, in...))
		}
	})
}

func TestBuildErrors(t *testing.T) {
	b := open(t, "cpu")
	bu, other := b.Builder("build"), b.Builder("other")
	f := bu.Main()
	x, err := f.Parameter("x", float(2, 3), nil)
	require.NoError(t, err)
	y, err := other.Main().Parameter("y", float(2, 3), nil)
	require.NoError(t, err)
	fails(t, "has not returned", func() error { _, err := bu.Compile(); return err })
	for says, call := range map[string]func() (compute.Value, error){
		"operand 0, int, is a value of another": func() (compute.Value, error) { return f.Transpose(1, 1, 0) },
		"with a different builder (\"other\")":  func() (compute.Value, error) { return f.Add(x, y) },
		"nil":                                   func() (compute.Value, error) { return f.Add(x, nil) },
		"Transpose":                             func() (compute.Value, error) { return f.Transpose(x, 1) },
		"Reshape":                               func() (compute.Value, error) { return f.Reshape(x, 7) },
		"Slice":                                 func() (compute.Value, error) { return f.Slice(x, []int{0}, []int{1}, nil) },
		"Reverse":                               func() (compute.Value, error) { return f.Reverse(x, 2) },
		"Concatenate":                           func() (compute.Value, error) { return f.Concatenate(0) },
		"Pad":                                   func() (compute.Value, error) { return f.Pad(x, x, compute.PadAxis{Interior: -1}) },
		"parameter \"c\" of shape (Complex64)":  func() (compute.Value, error) { return f.Parameter("c", shapes.Make(dtypes.Complex64), nil) },
		"in a slice of 2; 1 are wanted":         func() (compute.Value, error) { return f.Constant([]float32{1, 2}, 1) },
		"whose type Restride lacks":             func() (compute.Value, error) { return f.Constant([]string{"a"}, 1) },
		"none may be negative":                  func() (compute.Value, error) { return f.Constant([]float32{1}, -1) },
		"a slice is wanted":                     func() (compute.Value, error) { return f.Constant(nil) },
		"Gather":                                func() (compute.Value, error) { return f.Gather(x, x, 2, nil, nil, nil, nil, false) },
		"1 starts; there must be one for each":  func() (compute.Value, error) { return f.DynamicSlice(x, values{x}, []int{1, 1}) },
		"an integer is wanted":                  func() (compute.Value, error) { return f.DynamicSlice(x, values{x, x}, []int{1, 1}) },
		"operand 1 is nil":                      func() (compute.Value, error) { return f.DynamicSlice(x, values{nil, nil}, []int{1, 1}) },
		"op not implemented":                    func() (compute.Value, error) { return f.FFT(x, compute.FFTForward, []int{3}) },
		"Iota":                                  func() (compute.Value, error) { return f.Iota(float(2), 1) },
	} {
		fails(t, says, func() error {
			v, err := call()
			require.Nil(t, v, says)
			return err
		})
	}
	fails(t, "function of another backend: <nil>", func() error { _, err := f.Call(nil); return err })
	fails(t, "must have Return() called", func() error {
		c, err := f.Closure()
		require.NoError(t, err)
		_, err = f.While(c, c, x)
		return err
	})
	require.NoError(t, f.Return(values{x}, nil))
	fails(t, "Return was called before", func() error { return f.Return(values{x}, nil) })
	fails(t, "has returned", func() error { _, err := f.Abs(x); return err })
	exec, err := bu.Compile()
	require.NoError(t, err)
	defer exec.Finalize()
	fails(t, "was compiled before", func() error { _, err := bu.Compile(); return err })
	fails(t, "2 devices", func() error { return bu.DeviceAssignment(0, 1) })
	fails(t, "0 devices", func() error { return bu.DeviceAssignment() })
}

// The Go backend lacks DynamicSlice, and runs all of a computation with control flow.
func TestDynamicSliceBesideControlFlow(t *testing.T) {
	b := open(t, "cpu")
	bu := b.Builder("both")
	f := bu.Main()
	v := must[compute.Value](t)
	x := v(f.Parameter("x", float(2, 3), nil))
	i := v(f.Constant([]int32{0}))
	y := v(f.DynamicSlice(x, values{i, i}, []int{1, 1}))
	require.NoError(t, f.Return(values{called(t, f, y)}, nil))
	fails(t, "has DynamicSlice, and a result that is not recorded beside it", func() error { _, err := bu.Compile(); return err })
	c, err := b.Builder("closure").Main().Closure()
	require.NoError(t, err)
	fails(t, "not implemented", func() error { _, err := c.DynamicSlice(nil, nil, nil); return err })
}

func TestFinalizedBackend(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		of := []shapes.Shape{float(2, 2)}
		x, err := b.BufferFromFlatData(0, []float32{1, 2, 3, 4}, of[0])
		require.NoError(t, err)
		exec := compile(t, b, of, transposed(t))
		out, err := exec.Execute([]compute.Buffer{x}, nil, 0)
		require.NoError(t, err)
		bu := b.Builder("late")
		v := must[compute.Value](t)(bu.Main().Parameter("x", of[0], nil))
		require.NoError(t, bu.Main().Return(values{v}, nil))
		b.Finalize()
		b.Finalize()
		for _, call := range []func() error{
			func() error { return x.ToFlatData(make([]float32, 4)) },
			func() error { _, err := out[0].Data(); return err },
			func() error { _, err := exec.Execute([]compute.Buffer{x}, nil, 0); return err },
			func() error { _, err := b.BufferFromFlatData(0, []float32{1, 2, 3, 4}, of[0]); return err },
			func() error { _, err := bu.Compile(); return err },
		} {
			fails(t, "the backend is finalized", call)
		}
		require.NoError(t, x.Finalize())
		require.NoError(t, out[0].Finalize())
	})
	_, err := New("nothing")
	require.Error(t, err)
}
