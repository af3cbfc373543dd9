package tensor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// A step is one call on a tensor and what it must do to the array.
type step struct {
	name string
	call func(*tensor.Tensor) (*tensor.Tensor, error)
	want array
	view bool // it must be a view
}

// randomStep draws a call that is valid for an array.
func randomStep(rng *rand.Rand, a array) step {
	rank := len(a.Dims)
	ints := func(n int) []int64 {
		dims := make([]int64, n)
		for i := range dims {
			dims[i] = int64(1 + rng.IntN(3))
		}
		return dims
	}
	switch rng.IntN(9) {
	case 0:
		perm := rng.Perm(rank)
		if rank == 0 {
			break
		}
		return step{fmt.Sprint("Transpose", perm), func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Transpose(perm...) }, transposed(a, perm), true}
	case 1:
		if rank == 0 {
			break
		}
		axis := rng.IntN(rank)
		start, end, by := rng.Int64N(13)-6, rng.Int64N(17)-8, rng.Int64N(3)+1
		if rng.IntN(2) == 0 {
			by = -by
		}
		want := sliced(a, axis, start, end, by)
		if len(want.Elems) == 0 && rng.IntN(4) > 0 {
			break // empty arrays stay empty: not too many
		}
		return step{fmt.Sprint("Slice", axis, start, end, by), func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Slice(axis, start, end, by) }, want, true}
	case 2:
		if len(a.Elems) > 500 {
			break
		}
		dims := append(ints(rng.IntN(2)), a.Dims...)
		for i, d := range dims {
			if d == 1 {
				dims[i] = int64(1 + rng.IntN(3))
			}
		}
		return step{fmt.Sprint("Expand", dims), func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Expand(dims...) }, a.Expand(dims...), true}
	case 3:
		var dims []int64
		for _, d := range a.Dims {
			if d != 1 {
				dims = append(dims, d)
			}
		}
		return step{"Squeeze", func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Squeeze() }, a.Reshape(dims...), true}
	case 4:
		at := rng.IntN(rank + 1)
		dims := append(append(append([]int64{}, a.Dims[:at]...), 1), a.Dims[at:]...)
		return step{fmt.Sprint("Unsqueeze", at), func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Unsqueeze(at) }, a.Reshape(dims...), true}
	case 5:
		dims, rest := []int64{}, int64(len(a.Elems))
		for _, p := range []int64{2, 3, 2, 5} {
			if rest%p == 0 && rest > 0 && rng.IntN(2) == 0 {
				dims, rest = append(dims, p), rest/p
			}
		}
		dims = append(dims, rest)
		asked := append([]int64{}, dims...)
		if rest > 0 && rng.IntN(2) == 0 {
			asked[len(asked)-1] = -1
		}
		return step{fmt.Sprint("Reshape", asked), func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Reshape(asked...) }, a.Reshape(dims...), false}
	case 6:
		axis := rng.IntN(rank + 1)
		dims := []int64{1, 1}
		for i, d := range a.Dims {
			if i < axis {
				dims[0] *= d
			} else {
				dims[1] *= d
			}
		}
		return step{fmt.Sprint("Flatten", axis), func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Flatten(axis) }, a.Reshape(dims...), false}
	case 7:
		return step{"Contiguous", (*tensor.Tensor).Contiguous, a, false}
	}
	if rng.IntN(2) == 0 {
		return step{"Alias", (*tensor.Tensor).Alias, a, true}
	}
	return step{"Clone", (*tensor.Tensor).Clone, a, false}
}

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
		next := randomStep(rng, a)
		trail += " " + next.name
		before := s.Device().Stats()
		y, err := next.call(x)
		require.NoError(t, err, trail)
		keep(t)(y, nil)
		bytes, launches, transfers := moved(before, s.Device().Stats())
		require.Zero(t, transfers, trail)
		switch v := y.Verdict(); v.Kind {
		case tensor.View:
			require.NotEqual(t, "Clone", next.name)
			require.Equal(t, tensor.Verdict{}, v, trail)
			require.Zero(t, bytes, trail)
			require.Zero(t, launches, trail)
			require.Equal(t, before.Live, s.Device().Stats().Live, trail)
			require.Same(t, x.Buffer(), y.Buffer(), trail)
		case tensor.Copy:
			require.False(t, next.view, trail)
			require.Equal(t, bytes, v.Bytes, trail)
			require.NotEmpty(t, v.Kernel, trail)
			require.True(t, new(y.Layout()).IsContiguous(), trail)
			require.Zero(t, new(y.Layout()).Offset(), trail)
		default:
			t.Fatal(trail, v)
		}
		require.Equal(t, of, y.DType())
		require.Equal(t, int64(len(next.want.Elems)), y.Count(), trail)
		requireIs(t, next.want, y, trail)
		requirePieces(t, next.want, y, int64(1+len(trail)%40), trail)
		x, a = y, next.want
	}
	requireIs(t, a, keep(t)(x.To(openCPU(t))), trail)
	if of != layout.String {
		requireIs(t, a, keep(t)(x.To(openFake(t))), trail)
	}
}
