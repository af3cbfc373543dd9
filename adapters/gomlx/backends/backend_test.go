package backends_test

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context/checkpoints"
	"github.com/stretchr/testify/require"

	restride "github.com/restride/restride/adapters/gomlx/backends"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/tensor"
)

var devices = []string{"cpu", "opencl:0", "cuda:0"}

// open returns a backend on a device, whose memory the test must release.
func open(t testing.TB, name string) *restride.Backend {
	t.Helper()
	s, err := tensor.Open(name)
	kind, _, _ := strings.Cut(name, ":")
	devicetest.Require(t, kind, err)
	t.Cleanup(func() { _ = s.Close() })
	tensor.CheckLeaks(t, s)
	b, err := restride.NewOn(s)
	require.NoError(t, err)
	t.Cleanup(func() { // GoMLX leaves buffers to the garbage collector
		for range 4 {
			runtime.GC()
			time.Sleep(5 * time.Millisecond)
		}
	})
	return b
}

// reference is the Go backend. When it runs operations in parallel, it has a data race.
func reference(t testing.TB) backends.Backend {
	config := ""
	if race.Enabled {
		config = "ops_sequential"
	}
	b, err := simplego.New(config)
	require.NoError(t, err)
	return b
}

// Programs train as on the Go backend, bit for bit, on any device: losses, and weights, which
// are of gradients. Those that the Go backend cannot train do so on all devices alike.
func TestPrograms(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			if race.Enabled && p.name == "convolution" {
				t.Skip("the adapter has the Go backend run convolutions in parallel, where that has a data race")
			}
			const steps = 5
			run := func(b backends.Backend) (losses []float32, weights map[string]any) {
				r := newTraining(t, b, p, 1)
				for range steps {
					losses = append(losses, r.step(t))
				}
				return losses, r.weights()
			}
			by := reference(t)
			if p.alone {
				by = open(t, "cpu")
			}
			want, weights := run(by)
			require.Less(t, want[steps-1], want[0])
			on := devices
			if race.Enabled {
				on = devices[:1]
			}
			for _, name := range on {
				t.Run(name, func(t *testing.T) {
					b := open(t, name)
					got, now := run(b)
					require.Equal(t, want, got)
					require.Equal(t, weights, now)
					require.Positive(t, b.Stats().Operations["Mul"])
				})
			}
		})
	}
}

// A checkpoint that GoMLX writes continues training, on either backend.
func TestCheckpoint(t *testing.T) {
	dir := t.TempDir()
	p := programs[1]
	steps := func(b backends.Backend, from string) (loss float32) {
		r := newTraining(t, b, p, 1)
		saved, err := checkpoints.Build(r.ctx).Dir(from).Done()
		require.NoError(t, err)
		for range 3 {
			loss = r.step(t)
		}
		require.NoError(t, saved.Save())
		return loss
	}
	steps(open(t, "cpu"), dir)
	again := t.TempDir()
	require.NoError(t, os.CopyFS(again, os.DirFS(dir)))
	require.Equal(t, steps(reference(t), again), steps(open(t, "cpu"), dir))
}

func TestByName(t *testing.T) {
	t.Setenv(backends.ConfigEnvVar, "restride:cpu")
	b, err := backends.New()
	require.NoError(t, err)
	defer b.Finalize()
	require.Equal(t, restride.Name, b.Name())
	require.Contains(t, b.Description(), "cpu")
	_, err = backends.NewWithConfig("restride:nothing")
	require.Error(t, err)
}

// The layout operations that the Go backend lacks.
func TestMore(t *testing.T) {
	for _, name := range devices {
		t.Run(name, func(t *testing.T) {
			b := open(t, name)
			out, err := graph.MustNewExec(b, func(x *graph.Node) []*graph.Node {
				g := x.Graph()
				one := graph.Const(g, int32(1))
				return []*graph.Node{
					graph.Reverse(x, 1),
					graph.Pad(x, graph.Const(g, float32(9)), graph.PadAxis{Start: 1}, graph.PadAxis{End: -1, Interior: 1}),
					graph.Bitcast(x, dtypes.Int32),
					graph.DynamicSlice(graph.Neg(x), []*graph.Node{one, one}, []int{1, 2}),
					graph.DynamicSlice(x, []*graph.Node{graph.Const(g, []int32{0, 1})}, []int{2, 1}),
					graph.DynamicUpdateSlice(x, graph.Const(g, [][]float32{{7}}), []*graph.Node{one, one}),
				}
			}).Exec([][]float32{{0, 1, 2}, {3, 4, 5}})
			require.NoError(t, err)
			want := []any{
				[][]float32{{2, 1, 0}, {5, 4, 3}},
				[][]float32{{9, 9, 9, 9}, {0, 9, 1, 9}, {3, 9, 4, 9}},
				[][]int32{{0, 0x3f800000, 0x40000000}, {0x40400000, 0x40800000, 0x40a00000}},
				[][]float32{{-4, -5}}, [][]float32{{1}, {4}},
				[][]float32{{0, 1, 2}, {3, 7, 5}},
			}
			for i, x := range out {
				require.Equal(t, want[i], x.Value(), i)
				require.NoError(t, x.FinalizeAll())
			}
		})
	}
}

func TestErrors(t *testing.T) {
	b := open(t, "cpu")
	fails := func(says string, call func() error) {
		t.Helper()
		require.NotPanics(t, func() { require.ErrorContains(t, call(), says) })
	}
	shape := shapes.Make(dtypes.Float32, 2, 3)
	bu := b.Builder("errors")
	x, err := bu.Parameter("x", shape, nil)
	require.NoError(t, err)
	other, err := b.Builder("other").Parameter("x", shape, nil)
	require.NoError(t, err)
	at, err := bu.Constant([]int32{0})
	require.NoError(t, err)
	for says, call := range map[string]func() (backends.Op, error){
		"int, is a value of another": func() (backends.Op, error) { return bu.Neg(1) },
		"different builder":          func() (backends.Op, error) { return bu.Add(x, other) },
		"axis 2 of shape":            func() (backends.Op, error) { return bu.Reverse(x, 2) },
		"axes [1 0] are not":         func() (backends.Op, error) { return bu.BroadcastInDim(x, shape, []int{1, 0}) },
		"Pad of (Float32)[2 3]":      func() (backends.Op, error) { return bu.Pad(x, x) },
		"a window [3 1]":             func() (backends.Op, error) { return bu.DynamicSlice(x, []backends.Op{at, at}, []int{3, 1}) },
		"FFT":                        func() (backends.Op, error) { return bu.FFT(x, backends.FFTForward, []int{3}) },
		"nil":                        func() (backends.Op, error) { return bu.Add(x, nil) },
		"Restride lacks":             func() (backends.Op, error) { return bu.Parameter("c", shapes.Make(dtypes.Complex64), nil) },
	} {
		fails(says, func() error {
			v, err := call()
			require.Nil(t, v)
			return err
		})
	}
	fails("without outputs", func() error { _, err := bu.Compile(nil, nil); return err })
	exec, err := bu.Compile([]backends.Op{x, x}, nil)
	require.NoError(t, err)
	fails("was compiled before", func() error { _, err := bu.Neg(x); return err })
	fails("of another kind: int", func() error { return b.BufferFinalize(1) })
	fails("of another kind: <nil>", func() error { _, err := exec.Execute([]backends.Buffer{nil}, nil, 0); return err })
	in, err := b.BufferFromFlatData(0, make([]float32, 6), shape)
	require.NoError(t, err)
	out, err := exec.Execute([]backends.Buffer{in}, nil, 0)
	require.NoError(t, err)
	for _, x := range append(out, in) {
		require.NoError(t, b.BufferFinalize(x))
	}
	exec.Finalize()
}
