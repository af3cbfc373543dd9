package tensor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// moved is what a device did between two moments.
func moved(before, after device.Stats) (onDevice, launches, transfers int64) {
	return after.DeviceToDevice - before.DeviceToDevice, after.Launches - before.Launches,
		after.Uploads - before.Uploads + after.Downloads - before.Downloads
}

// TestWalk applies random calls in turn to tensors of every element type on
// every kind of stream, and holds each result, its verdict and the device's
// figures against arrays.
func TestWalk(t *testing.T) {
	for name, open := range streams {
		for _, of := range layout.DTypes() {
			if name == "fake" && of == layout.String {
				continue
			}
			t.Run(name+"/"+of.String(), func(t *testing.T) {
				s := open(t)
				for seed := range uint64(12) {
					walk(t, s, of, seed)
				}
			})
		}
	}
}

func walk(t *testing.T, s *tensor.Stream, of layout.DType, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, uint64(of)))
	start := [][]int64{{2, 3, 4}, {5, 7}, {}, {0, 3}, {13}, {2, 1, 3, 1, 2}, {1, 2, 1, 2, 1, 2, 1, 2, 1, 3}}[rng.IntN(7)]
	x, a := fill(t, s, of, seed, start...)
	trail := fmt.Sprint("seed ", seed, " ", start)
	for range 6 {
		next := ndarray.RandomStep(rng, a)
		trail += " " + next.Name
		before := s.Device().Stats()
		y, err := next.Call(x)
		require.NoError(t, err, trail)
		keep(t)(y, nil)
		bytes, launches, transfers := moved(before, s.Device().Stats())
		require.Zero(t, transfers, trail)
		switch v := y.Verdict(); v.Kind {
		case tensor.View:
			require.False(t, next.Copy, trail)
			require.Equal(t, tensor.Verdict{}, v, trail)
			require.Zero(t, bytes, trail)
			require.Zero(t, launches, trail)
			require.Equal(t, before.Live, s.Device().Stats().Live, trail)
			require.Same(t, x.Buffer(), y.Buffer(), trail)
		case tensor.Copy:
			require.False(t, next.View, trail)
			require.Equal(t, bytes, v.Bytes, trail)
			require.NotEmpty(t, v.Class, trail)
			require.True(t, new(y.Layout()).IsContiguous(), trail)
			require.Zero(t, new(y.Layout()).Offset(), trail)
		default:
			t.Fatal(trail, v)
		}
		require.Equal(t, of, y.DType())
		require.Equal(t, int64(len(next.Want.Elems)), y.Count(), trail)
		requireIs(t, next.Want, y, trail)
		requirePieces(t, next.Want, y, int64(1+len(trail)%40), trail)
		x, a = y, next.Want
	}
	requireIs(t, a, keep(t)(x.To(openCPU(t))), trail)
	if of != layout.String {
		requireIs(t, a, keep(t)(x.To(openFake(t))), trail)
	}
}
