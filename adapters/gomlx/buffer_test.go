package gomlx

import (
	"sync"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/restride/restride/tensor"
	"github.com/stretchr/testify/require"
)

// transposed is a computation on the device, and added one on the Go backend.
func transposed(t testing.TB) func(f compute.Function, in values) values {
	return func(f compute.Function, in values) values {
		return values{must[compute.Value](t)(f.Transpose(in[0], 1, 0))}
	}
}

func added(t testing.TB) func(f compute.Function, in values) values {
	return func(f compute.Function, in values) values { return values{must[compute.Value](t)(f.Add(in[0], in[0]))} }
}

// Data returns the memory itself, which both kinds of operations use.
func TestData(t *testing.T) {
	b := open(t, "cpu")
	of := []shapes.Shape{float(2, 2)}
	add := compile(t, b, of, added(t))
	made, err := compile(t, b, of, transposed(t)).Execute(buffers(t, b, of, []any{[]float32{1, 2, 3, 4}}), nil, 0)
	require.NoError(t, err)
	shared, _, err := b.NewSharedBuffer(0, of[0])
	require.NoError(t, err)
	for _, x := range []compute.Buffer{made[0], shared} {
		defer x.Finalize()
		for k := range 3 {
			data := must[any](t)(x.Data()).([]float32)
			copy(data, []float32{0, 1, 2, float32(k)})
			out, err := add.Execute([]compute.Buffer{x}, nil, 0)
			require.NoError(t, err)
			require.Equal(t, []any{[]float32{0, 2, 4, float32(2 * k)}}, flats(t, out))
		}
	}
}

// Results do not change when their inputs do, or other results.
func TestResultsAreTheirOwn(t *testing.T) {
	b := open(t, "cpu")
	of := []shapes.Shape{float(4)}
	exec := compile(t, b, of, func(f compute.Function, in values) values {
		v := must[compute.Value](t)
		c := v(f.Constant([]float32{5, 6}, 2))
		y := v(f.Neg(in[0]))
		z := v(f.Reshape(y, 2, 2))
		return values{in[0], v(f.Reshape(in[0], 2, 2)), v(f.Slice(in[0], []int{0}, []int{2}, nil)), c, c, y, y, z, z}
	})
	x, data, err := b.NewSharedBuffer(0, of[0])
	require.NoError(t, err)
	defer x.Finalize()
	copy(data.([]float32), []float32{1, 2, 3, 4})
	out, err := exec.Execute([]compute.Buffer{x}, nil, 0)
	require.NoError(t, err)
	seen := map[*float32]bool{}
	for _, y := range append([]compute.Buffer{x}, out...) {
		flat := must[any](t)(y.Data()).([]float32)
		require.False(t, seen[&flat[0]])
		seen[&flat[0]] = true
		clear(flat)
	}
	again, err := exec.Execute([]compute.Buffer{x}, nil, 0)
	require.NoError(t, err)
	require.Equal(t, []float32{5, 6}, flats(t, again)[3], "the constant")
	flats(t, out)
}

// A donated buffer is gone, on either backend.
func TestDonation(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		of := []shapes.Shape{float(2, 2), float(2, 2)}
		for _, build := range []func(f compute.Function, in values) values{transposed(t), added(t)} {
			exec := compile(t, b, of, build)
			in := buffers(t, b, append(of, of[0]), []any{[]float32{1, 2, 3, 4}, []float32{5, 6, 7, 8}, []float32{0, 0, 0, 0}})
			for _, in := range [][]compute.Buffer{in[:2], {in[2], in[2]}} {
				out, err := exec.Execute(in, []bool{true, true}, 0)
				require.NoError(t, err)
				flats(t, out)
				_, err = in[0].Shape()
				require.ErrorContains(t, err, "finalized or donated")
				require.NoError(t, in[0].Finalize())
			}
		}
	})
}

// Executables and buffers may be used by several goroutines.
func TestGoroutines(t *testing.T) {
	onDevices(t, func(t *testing.T, b *Backend) {
		of := []shapes.Shape{float(16, 8)}
		exec := compile(t, b, of, func(f compute.Function, in values) values {
			v := must[compute.Value](t)
			x := v(f.Concatenate(0, v(f.Transpose(in[0], 1, 0)), v(f.Transpose(in[0], 1, 0))))
			return values{v(f.Transpose(v(f.Add(x, x)), 1, 0)), x}
		})
		first, err := exec.Execute(buffers(t, b, of, []any{counted(of[0])}), nil, 0)
		require.NoError(t, err)
		want := flats(t, first)
		in := buffers(t, b, of, []any{counted(of[0])})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 20 {
					out, err := exec.Execute(in, nil, 0)
					if err != nil {
						t.Error(err)
						return
					}
					for i, x := range out {
						got := dtypes.MakeAnySlice(dtypes.Float32, 256)
						if err := x.ToFlatData(got); err != nil {
							t.Error(err)
						}
						if a, b := got.([]float32), want[i].([]float32); a[100] != b[100] || a[255] != b[255] {
							t.Errorf("%v, not %v", a[100], b[100])
						}
						_ = x.Finalize()
					}
				}
			})
		}
		wg.Wait()
	})
}

// A buffer that both kinds of operations use is transferred once.
func TestTransfersOnce(t *testing.T) {
	b := open(t, "opencl:0")
	of := []shapes.Shape{float(2, 2)}
	add := compile(t, b, of, added(t))
	in := buffers(t, b, of, []any{[]float32{1, 2, 3, 4}})
	for range 3 {
		out, err := add.Execute(in, nil, 0)
		require.NoError(t, err)
		flats(t, out)
	}
	require.Equal(t, Stats{Fallback: 3, ToHost: 16, Operations: map[string]int64{"Add": 3}}, b.Stats())
}

func TestNewOn(t *testing.T) {
	s, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer s.Close()
	tensor.CheckLeaks(t, s)
	b, err := NewOn(s)
	require.NoError(t, err)
	of := []shapes.Shape{float(2, 2)}
	require.Equal(t, []any{[]float32{1, 3, 2, 4}}, run(t, b, of, []any{[]float32{1, 2, 3, 4}}, transposed(t)))
	b.Finalize()
	require.True(t, b.IsFinalized())
	x, err := tensor.FromSlice(s, []int32{1})
	require.NoError(t, err, "the stream stays open")
	require.NoError(t, x.Release())
	_, err = NewOn(nil)
	require.ErrorContains(t, err, "the stream is nil")
}

func TestByName(t *testing.T) {
	b, err := compute.NewWithConfig("restride:cpu")
	require.NoError(t, err)
	defer b.Finalize()
	require.Equal(t, "restride", b.Name())
	require.Contains(t, b.Description(), "cpu")
	_, err = compute.NewWithConfig("restride:nothing")
	require.Error(t, err)
}
