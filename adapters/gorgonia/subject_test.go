package gorgonia_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "github.com/restride/restride"
	"github.com/restride/restride/adapters/gorgonia"
	"github.com/restride/restride/device"
	"github.com/restride/restride/tensor"
	"github.com/stretchr/testify/require"

	gt "gorgonia.org/tensor"
)

// types are the types that both engines move.
var types = []gt.Dtype{gt.Bool, gt.Int8, gt.Int16, gt.Int32, gt.Int64, gt.Int, gt.Uint8, gt.Uint16, gt.Uint32,
	gt.Uint64, gt.Uint, gt.Uintptr, gt.Float32, gt.Float64, gt.Complex64, gt.Complex128}

// subject is an engine under test.
type subject struct {
	stream      *tensor.Stream
	put         func(*gt.Dense) (*gt.Dense, error) // copies to the engine
	get         func(gt.Tensor) (*gt.Dense, error) // copies to the host
	materialize func(gt.Tensor) (gt.Tensor, error)
	free        func(gt.Tensor) error
}

// onEngines runs a test for each engine: Host, and Device on every available device.
func onEngines(t *testing.T, test func(t *testing.T, s subject)) {
	t.Run("host", func(t *testing.T) { test(t, hostSubject()) })
	onDevices(t, func(t *testing.T, e *gorgonia.Device, s *tensor.Stream) {
		test(t, subject{stream: s,
			put: func(x *gt.Dense) (*gt.Dense, error) { return e.ToDevice(x) }, get: e.ToHost, materialize: e.Materialize,
			free: func(x gt.Tensor) error { return e.Free(x, 0) }})
	})
}

func hostSubject() subject {
	var e gorgonia.Host
	return subject{stream: tensor.Host(),
		put: func(x *gt.Dense) (*gt.Dense, error) {
			y := x.Clone().(*gt.Dense)
			gt.WithEngine(e)(y)
			return y, nil
		},
		get: func(x gt.Tensor) (*gt.Dense, error) {
			y, err := e.Materialize(x)
			if err != nil {
				return nil, err
			}
			return y.(*gt.Dense), nil
		},
		materialize: e.Materialize,
		free:        func(gt.Tensor) error { return nil }}
}

func onDevices(t *testing.T, test func(*testing.T, *gorgonia.Device, *tensor.Stream)) {
	for _, name := range []string{"cpu", "opencl", "cuda"} {
		t.Run(name, func(t *testing.T) {
			if name == "cuda" && os.Getenv("RESTRIDE_LIBCUDA") == "" {
				t.Skip("RESTRIDE_LIBCUDA names no simulated driver")
			}
			s, err := tensor.Open(name)
			if err != nil && !slices.Contains(strings.Split(os.Getenv("RESTRIDE_REQUIRE"), ","), name) {
				t.Skip(err)
			}
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			tensor.CheckLeaks(t, s)
			e, err := gorgonia.NewDevice(s)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, e.Close()) })
			test(t, e, s)
		})
	}
}

// seeded returns a source of random numbers whose seed a failed test prints.
func seeded(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("RESTRIDE_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("RESTRIDE_SEED=%d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// random returns a tensor of random bits.
func random(r *rand.Rand, of gt.Dtype, shape ...int) *gt.Dense {
	x := gt.NewDense(of, shape)
	for i := range x.Raw {
		x.Raw[i] = byte(r.Uint32())
	}
	return x
}

// content is the elements of a tensor in row-major order, located one by one by its strides.
func content(x *gt.Dense) []byte {
	var out []byte
	size := int(x.Dtype().Size())
	var walk func(axis, at int)
	walk = func(axis, at int) {
		if axis == x.Dims() {
			out = append(out, x.Raw[at*size:(at+1)*size]...)
			return
		}
		for i := range x.Shape()[axis] {
			walk(axis+1, at+i*x.Strides()[axis])
		}
	}
	walk(0, 0)
	return out
}

// refusals are the kinds of error; every refusal is one of these.
var refusals = []error{device.ErrInvalid, device.ErrUnsupported, device.ErrOutOfMemory}
