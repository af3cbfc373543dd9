package onnx_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

// TestRepeatAndCutAtRandom holds the operators that repeat, cut and rearrange
// against their models: any type, rank, extents with zeros, any view as the input,
// on the cpu and on a fake device.
func TestRepeatAndCutAtRandom(t *testing.T) {
	onCPU := open(t)
	onFake, dev := openFake(t)
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 5))
		typ := layout.DTypes()[rng.IntN(int(layout.BFloat16))] // the 16 of opset 13
		dims := make([]int64, rng.IntN(6))
		for i := range dims {
			dims[i] = []int64{0, 1, 1, 2, 3, 4, 5}[rng.IntN(7)]
		}
		for _, s := range []*tensor.Stream{onCPU, onFake} {
			if typ == layout.String && s == onFake {
				continue
			}
			t.Run(fmt.Sprintf("%d/%v%v/%s", seed, typ, dims, s.Device().Info().Backend), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 6))
				a := numbered(typ, dims...)
				x := uploadAs(t, a, s, typ, views[rng.IntN(len(views))])
				before := dev.Stats()
				made := map[*tensor.Tensor]array{}
				repeatAndCut(t, rng, x, a, made)
				after := dev.Stats()
				require.Equal(t, before.Downloads+before.Uploads, after.Downloads+after.Uploads)
				for y, want := range made {
					same(t, typ, want, y)
				}
			})
		}
	}
}

// repeatAndCut calls each operator that x can be given to.
func repeatAndCut(t *testing.T, rng *rand.Rand, x *tensor.Tensor, a array, made map[*tensor.Tensor]array) {
	rank := len(a.Dims)
	shape, dims := []int64{}, []int64{}
	for range rng.IntN(3) {
		n := rng.Int64N(4)
		shape, dims = append(shape, n), append(dims, n)
	}
	repeats := []int64{}
	for _, d := range a.Dims {
		repeats = append(repeats, []int64{0, 1, 1, 1, 2, 3}[rng.IntN(6)])
		want := d
		if d == 1 {
			want = rng.Int64N(4)
		}
		dims = append(dims, want)
		if rng.IntN(2) == 0 && d != 1 {
			want = 1 // x's extent stays
		}
		shape = append(shape, want)
	}
	expanded := held(t)(runExpand(x, 13, shape))
	made[expanded] = a.Expand(dims...)
	require.Equal(t, tensor.View, expanded.Verdict().Kind)
	made[held(t)(runTile(x, 13, repeats))] = a.Tile(repeats...)

	if rank > 0 {
		axis := rng.IntN(rank)
		extent, at, sizes := a.Dims[axis], int64(0), []int64{}
		for at < extent {
			sizes = append(sizes, rng.Int64N(extent-at+1))
			at += sizes[len(sizes)-1]
		}
		sizes = append(sizes, 0)
		parts, err := calls("Split", 13, onnx.Attrs{onnx.Int("axis", int64(axis-rank))}, x, sizes)
		require.NoError(t, err)
		at = 0
		for i, part := range parts {
			made[held(t)(part, nil)] = a.Window(axis, at, at+sizes[i])
			require.Equal(t, tensor.View, part.Verdict().Kind)
			at += sizes[i]
		}
	}
	if rank == 4 {
		b := 1 + rng.Int64N(3)
		mode := []string{"DCR", "CRD"}[rng.IntN(2)]
		made[held(t)(runTile(x, 28, []int64{1, b * b, b, b}))] = a.Tile(1, b*b, b, b)
		deep := held(t)(runTile(x, 13, []int64{1, b * b, 1, 1}))
		made[held(t)(runDepthToSpace(deep, 13, b, mode))] = a.Tile(1, b*b, 1, 1).DepthToSpace(b, mode)
		wide := held(t)(runTile(x, 13, []int64{1, 1, b, b}))
		made[held(t)(runSpaceToDepth(wide, 28, b, mode))] = a.Tile(1, 1, b, b).SpaceToDepth(b, mode)
	}
}
