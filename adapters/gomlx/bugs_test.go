package gomlx

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/stretchr/testify/require"
)

// The contract requires increasing axes, which shape inference does not check: the Go backend
// panics then, in its own goroutine.
func TestBugBroadcastAxesNotIncreasing(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		f := b.Builder(t.Name()).Main()
		x, err := f.Parameter("x", float(3, 2), nil)
		require.NoError(t, err)
		sum := must[compute.Value](t)(f.Add(x, x))
		for _, operand := range (values{x, sum}) {
			for _, axes := range [][]int{{1, 0}, {0, 0}, {0, 5}, {-1, 1}, {0}, {0, 1, 2}} {
				v, err := f.BroadcastInDim(operand, float(2, 3), axes)
				require.ErrorContains(t, err, "BroadcastInDim", axes)
				require.Nil(t, v)
			}
			_, err := f.BroadcastInDim(operand, float(2, 3), []int{1, 0})
			require.ErrorContains(t, err, "BroadcastInDim of (Float32)[3, 2]: axes [1 0] are not increasing")
			_, err = f.DynamicBroadcastInDim(operand, []int{1, 0}, compute.DynamicDimensionSpec{Static: 2}, compute.DynamicDimensionSpec{Static: 3})
			require.ErrorContains(t, err, "axes [1 0] are not increasing")
		}
	})
}

// The Go backend cannot remove elements: it panics in its own goroutine.
func TestBugNegativePadOfFewBytes(t *testing.T) {
	b := fresh(t, "cpu")
	for _, c := range []struct {
		axis compute.PadAxis
		want []float32
	}{
		{compute.PadAxis{Start: -1}, []float32{-4, -6, -8}},
		{compute.PadAxis{End: -2}, []float32{-2, -4}},
		{compute.PadAxis{Start: -1, End: 1, Interior: 1}, []float32{-7, -4, -7, -6, -7, -8, -7}},
	} {
		got := run(t, b, []shapes.Shape{float(4)}, []any{[]float32{1, 2, 3, 4}}, func(f compute.Function, in values) values {
			v := must[compute.Value](t)
			x := v(f.Pad(v(f.Add(in[0], in[0])), v(f.Constant([]float32{7})), c.axis))
			return values{v(f.Neg(x))}
		})
		require.Equal(t, []any{c.want}, got)
	}
	// Control flow runs the whole computation on the Go backend.
	bu := b.Builder(t.Name())
	f := bu.Main()
	v := must[compute.Value](t)
	x := v(f.Parameter("x", float(4), nil))
	x = called(t, f, x)
	x = v(f.Pad(x, v(f.Constant([]float32{7})), compute.PadAxis{Start: -1}))
	require.NoError(t, f.Return(values{x}, nil))
	fails(t, "Pad that takes elements away, and", func() error { _, err := bu.Compile(); return err })
}

// Numbers that the new type does not have convert alike in small arrays, which the Go backend
// converts, and large ones.
func TestBugConversionsOfFewBytes(t *testing.T) {
	b := fresh(t, "cpu")
	types := []dtypes.DType{dtypes.Bool, dtypes.Int8, dtypes.Uint8, dtypes.Int16, dtypes.Uint16, dtypes.Int32, dtypes.Uint32,
		dtypes.Int64, dtypes.Uint64, dtypes.Float16, dtypes.BFloat16, dtypes.Float32, dtypes.Float64}
	const few, many = 8, 4096
	for _, from := range []dtypes.DType{dtypes.Int16, dtypes.Int64, dtypes.Uint64, dtypes.Float16, dtypes.BFloat16, dtypes.Float32, dtypes.Float64} {
		var results [2][]any
		for i, n := range []int{few, many} {
			s := shapes.Make(from, n)
			flat := reflect.ValueOf(dtypes.MakeAnySlice(from, n))
			for k, x := range []float64{-1, -300, 70000, 2.5, 1e9 + 1, -1e20, 65519, -.1} {
				if from.IsFloat() {
					flat.Index(k).Set(reflect.ValueOf(shapes.CastAsDType(x, from)))
				} else {
					flat.Index(k).Set(reflect.ValueOf(shapes.CastAsDType(int64(max(x, -1<<62)), from)))
				}
			}
			results[i] = run(t, b, []shapes.Shape{s}, []any{flat.Interface()}, func(f compute.Function, in values) (out values) {
				v := must[compute.Value](t)
				x := v(f.Max(in[0], in[0]))
				for _, to := range types {
					y := v(f.ConvertDType(x, to))
					if to == dtypes.Bool {
						out = append(out, v(f.LogicalNot(y)))
					} else {
						out = append(out, v(f.Max(y, y)))
					}
				}
				return out
			})
		}
		for i, to := range types {
			want := reflect.ValueOf(results[1][i]).Slice(0, few).Interface()
			require.Equal(t, fmt.Sprint(want), fmt.Sprint(results[0][i]), "%s to %s", from, to)
		}
	}
}

// In the shadow, a parameter replaces each operation that the Go backend lacks: the shadow must
// not run although there are no layout operations.
func TestBugUnusedDynamicSlice(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		got := run(t, b, []shapes.Shape{float(4), shapes.Make(dtypes.Int32)}, []any{[]float32{1, 2, 3, 4}, []int32{1}},
			func(f compute.Function, in values) values {
				v := must[compute.Value](t)
				v(f.DynamicSlice(in[0], values{in[1]}, []int{2}))
				v(f.DynamicUpdateSlice(in[0], in[0], values{in[1]}))
				sum := v(f.Add(in[0], in[0]))
				return values{sum, sum}
			})
		require.Equal(t, []any{[]float32{2, 4, 6, 8}, []float32{2, 4, 6, 8}}, got)
	})
}

func TestBugGatherByFloats(t *testing.T) {
	f := open(t, "cpu").Builder(t.Name()).Main()
	v := must[compute.Value](t)
	x := v(f.Parameter("x", float(4, 3), nil))
	for _, flat := range []any{[]float32{1, 2}, []bool{true, false}} {
		at := v(f.Constant(flat, 2, 1))
		fails(t, "integers are wanted", func() error {
			y, err := f.Gather(x, at, 1, []int{1}, []int{0}, []int{0}, []int{1, 3}, false)
			require.Nil(t, y)
			return err
		})
	}
}

// Like on the Go backend, an axis named twice is reversed once.
func TestBugReverseOfAnAxisTwice(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		for range 2 {
			got := run(t, b, []shapes.Shape{float(2, 2)}, []any{[]float32{1, 2, 3, 4}}, func(f compute.Function, in values) values {
				v := must[compute.Value](t)
				return values{v(f.Reverse(in[0], 1, 1)), v(f.Neg(v(f.Reverse(v(f.Neg(in[0])), 1, 0, 1))))}
			})
			require.Equal(t, []any{[]float32{2, 1, 4, 3}, []float32{4, 3, 2, 1}}, got)
			if b.core.Shared() {
				b.core.Few = 4096
			}
		}
	})
}
