package gomlx

import (
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/stretchr/testify/require"
)

// A chain of views is one copy, at its end.
func TestViewsMoveNothing(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		s := float(8, 6, 4)
		exec := compile(t, b, []shapes.Shape{s}, func(f compute.Function, in values) values {
			x := must[compute.Value](t)(f.Transpose(in[0], 2, 0, 1))
			x = must[compute.Value](t)(f.Slice(x, []int{1, 0, 0}, []int{4, 8, 6}, []int{1, 2, 1}))
			x = must[compute.Value](t)(f.Reverse(x, 0, 2))
			x = must[compute.Value](t)(f.BroadcastInDim(x, float(3, 5, 4, 6), []int{0, 2, 3}))
			return values{x, x}
		})
		in := buffers(t, b, []shapes.Shape{s}, []any{counted(s)})
		before := b.core.Stream.Device().Stats()
		out, err := exec.Execute(in, nil, 0)
		require.NoError(t, err)
		after := b.core.Stream.Device().Stats()
		require.Equal(t, int64(2), after.Launches-before.Launches, "a copy for each result")
		got := flats(t, out)
		require.Equal(t, got[0], got[1])
		y := got[0].([]float32)
		require.Equal(t, []float32{5*4 + 3, 6*24 + 1}, []float32{y[0], y[len(y)-1]})
	})
}

// Between layout operations the Go backend runs as many operations in one execution as
// possible, and makes constants, broadcasts and reshapes itself.
func TestTurns(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		s := float(4, 6)
		exec := compile(t, b, []shapes.Shape{s}, func(f compute.Function, in values) values {
			v := must[compute.Value](t)
			two := v(f.BroadcastInDim(v(f.Constant([]float32{2})), s, nil))
			x := v(f.Mul(v(f.Add(in[0], two)), two))             // on the Go backend
			x = v(f.Neg(v(f.Reshape(x, 6, 4))))                  // still there
			y := v(f.Transpose(x, 1, 0))                         // on the device
			z := v(f.Add(v(f.Exp(v(f.Sub(y, y)))), v(f.Abs(y)))) // on the Go backend
			return values{z, v(f.Concatenate(0, y, y))}
		})
		layouts, runs, constants := exec.(*executable).Steps()
		require.Equal(t, []int{2, 2}, []int{layouts, runs})
		require.Zero(t, constants, "which the Go backend makes")
		for range 3 {
			out, err := exec.Execute(buffers(t, b, []shapes.Shape{s}, []any{counted(s)}), nil, 0)
			require.NoError(t, err)
			got := flats(t, out)
			require.Equal(t, float32(1+2*(4+2)), got[0].([]float32)[1])
			require.Equal(t, float32(-2*(4+2)), got[1].([]float32)[1])
		}
		stats := b.Stats()
		require.Equal(t, []int64{6, 6}, []int64{stats.Layout, stats.Fallback})
		if !b.core.Shared() {
			require.Equal(t, int64(3*2*4*24), stats.ToHost, "the parameter, and y")
			require.Equal(t, int64(3*4*24), stats.ToDevice, "x")
		} else {
			require.Zero(t, stats.ToHost+stats.ToDevice)
		}
	})
}

// Where memory is shared, small arrays stay with the Go backend.
func TestFewBytes(t *testing.T) {
	b := open(t, "cpu")
	b.core.Few = 1 << 20
	for n, want := range map[int][2]int{3: {0, 1}, 4: {1, 2}} {
		exec := compile(t, b, []shapes.Shape{float(n, 1<<16)}, func(f compute.Function, in values) values {
			v := must[compute.Value](t)
			return values{v(f.Neg(v(f.Transpose(v(f.Abs(in[0])), 1, 0))))}
		})
		layouts, runs, _ := exec.(*executable).Steps()
		require.Equal(t, want, [2]int{layouts, runs}, "%d bytes", n<<18)
	}
}

// Where memory is shared, layout operations that gain less than another execution of the Go
// backend costs stay with it.
func TestWhatPays(t *testing.T) {
	b := open(t, "cpu")
	b.core.Few = 4096
	for n, want := range map[int][2]int{40: {0, 1}, 400: {1, 2}} {
		exec := compile(t, b, []shapes.Shape{float(n, n)}, func(f compute.Function, in values) values {
			v := must[compute.Value](t)
			return values{v(f.Neg(v(f.Transpose(v(f.Abs(in[0])), 1, 0)))), in[0]}
		})
		layouts, runs, _ := exec.(*executable).Steps()
		require.Equal(t, want, [2]int{layouts, runs}, "%d by %d", n, n)
	}
}

// Planning is not slower if there are many paths to an operand.
func TestManyPaths(t *testing.T) {
	b := open(t, "cpu")
	for _, b.core.Few = range []int64{0, 4096} {
		got := run(t, b, []shapes.Shape{float(2)}, []any{[]float32{1, -1}}, func(f compute.Function, in values) values {
			v := must[compute.Value](t)
			x := v(f.Neg(in[0]))
			for i := range 200 {
				twice := v(f.Concatenate(0, x, x, x))
				if i%50 == 0 {
					twice = v(f.Add(twice, twice))
				}
				x = v(f.Slice(twice, []int{1}, []int{3}, nil))
			}
			return values{v(f.Abs(x)), x}
		})
		require.Equal(t, []any{[]float32{16, 16}, []float32{-16, 16}}, got)
	}
}

// Slices passed to a call may change after it.
func TestBugSlicesOfTheCaller(t *testing.T) {
	b := open(t, "cpu")
	got := run(t, b, []shapes.Shape{float(2, 3)}, []any{counted(float(2, 3))}, func(f compute.Function, in values) values {
		v := must[compute.Value](t)
		perm, axes, dims := []int{1, 0}, []int{0}, []int{3}
		x := v(f.Transpose(in[0], perm...))
		y := v(f.Reshape(v(f.ReduceSum(in[0], axes...)), dims...))
		z := v(f.Neg(v(f.Reverse(x, axes...))))
		perm[0], perm[1], axes[0], dims[0] = 0, 1, 1, 1
		return values{x, y, z}
	})
	require.Equal(t, []any{[]float32{0, 3, 1, 4, 2, 5}, []float32{3, 5, 7}, []float32{-2, -5, -1, -4, 0, -3}}, got)
}

// A computation that calls functions runs completely on the Go backend.
func TestControlFlow(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		s := shapes.Make(dtypes.Int32, 2, 3)
		got := run(t, b, []shapes.Shape{s}, []any{counted(s)}, func(f compute.Function, in values) values {
			v := must[compute.Value](t)
			less := must[compute.Function](t)(f.Closure())
			scalar := shapes.Make(dtypes.Int32)
			p, q := v(less.Parameter("p", scalar, nil)), v(less.Parameter("q", scalar, nil))
			require.NoError(t, less.Return(values{v(less.GreaterThan(p, q))}, nil))
			sorted := must[[]compute.Value](t)(f.Sort(less, 1, false, v(f.Transpose(in[0], 1, 0))))
			return values{v(f.Reverse(sorted[0], 0)), in[0], sorted[0]}
		})
		require.Equal(t, []any{[]int32{5, 2, 4, 1, 3, 0}, []int32{0, 1, 2, 3, 4, 5}, []int32{3, 0, 4, 1, 5, 2}}, got)
		require.Zero(t, b.Stats().Layout)
	})
}

// Operations that the Go backend does not have.
func TestDynamicSlice(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		s, scalar := float(4, 5), shapes.Make(dtypes.Int64)
		u := float(2, 2)
		of := []shapes.Shape{s, scalar, shapes.Make(dtypes.Int8), u}
		data := []any{counted(s), []int64{1}, []int8{100}, []float32{-1, -2, -3, -4}}
		got := run(t, b, of, data, func(f compute.Function, in values) values {
			v := must[compute.Value](t)
			x := v(f.DynamicSlice(in[0], values{in[1], in[2]}, []int{2, 3}))
			y := v(f.DynamicUpdateSlice(in[0], v(f.Add(in[3], in[3])), values{in[1], in[2]}))
			w := v(f.DynamicSlice(in[1], nil, nil))
			return values{x, y, v(f.Neg(x)), w}
		})
		want := counted(s).([]float32)
		require.Equal(t, []float32{7, 8, 9, 12, 13, 14}, got[0])
		want[8], want[9], want[13], want[14] = -2, -4, -6, -8
		require.Equal(t, want, got[1])
		require.Equal(t, []float32{-7, -8, -9, -12, -13, -14}, got[2])
		require.Equal(t, []int64{1}, got[3])
	})
}

// XLA's Pad removes elements, too, where the Go backend panics.
func TestNegativePad(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		of := []shapes.Shape{float(4), float()}
		got := run(t, b, of, []any{[]float32{1, 2, 3, 4}, []float32{9}}, func(f compute.Function, in values) values {
			v := must[compute.Value](t)
			return values{
				v(f.Pad(in[0], in[1], compute.PadAxis{Start: -1, End: 2, Interior: 1})),
				v(f.Pad(in[0], in[1], compute.PadAxis{Start: -1, End: -1})),
			}
		})
		require.Equal(t, []any{[]float32{9, 2, 9, 3, 9, 4, 9, 9}, []float32{2, 3}}, got)
	})
}

// Arrays without elements.
func TestEmpty(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		of := []shapes.Shape{float(0, 3), float(2, 3), shapes.Make(dtypes.Int32, 0, 1)}
		got := run(t, b, of, []any{[]float32{}, counted(of[1]), []int32{}}, func(f compute.Function, in values) values {
			v := must[compute.Value](t)
			x := v(f.Transpose(in[0], 1, 0))
			y := v(f.Slice(in[1], []int{1, 0}, []int{1, 3}, nil))
			return values{x, y, v(f.Neg(x)), v(f.Concatenate(0, in[0], y, in[1])), v(f.ConvertDType(y, dtypes.Int32)),
				v(f.Gather(in[1], in[2], 1, []int{1}, []int{0}, []int{0}, []int{1, 3}, false))}
		})
		none := []float32{}
		require.Equal(t, []any{none, none, none, []float32{0, 1, 2, 3, 4, 5}, []int32{}, none}, got)
	})
}

// Elements below a byte.
func TestPacked(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		s := shapes.Make(dtypes.Uint4, 3, 3)
		got := run(t, b, []shapes.Shape{s}, []any{[]uint8{0x10, 0x32, 0x54, 0x76, 0x8}}, func(f compute.Function, in values) values {
			v := must[compute.Value](t)
			x := v(f.Transpose(in[0], 1, 0))
			return values{x, v(f.ConvertDType(x, dtypes.Int32)), v(f.Slice(in[0], []int{1, 0}, []int{2, 3}, nil))}
		})
		require.Equal(t, []any{[]uint8{0x30, 0x16, 0x74, 0x52, 0x8}, []int32{0, 3, 6, 1, 4, 7, 2, 5, 8}, []uint8{0x43, 0x5}}, got)
	})
}
