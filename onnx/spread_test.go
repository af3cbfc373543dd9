package onnx_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// What the operators that repeat, cut and rearrange make, element by element.

// TestSpreadAtRandom holds the operators against their models: any type, rank,
// extents with zeros, any view as the input, on the cpu and on a fake device.
func TestSpreadAtRandom(t *testing.T) {
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
				x := a.uploadAs(t, s, typ, views[rng.IntN(len(views))])
				before := dev.Stats()
				made := map[*tensor.Tensor]array{}
				spread(t, rng, x, a, made)
				after := dev.Stats()
				require.Equal(t, before.Downloads+before.Uploads, after.Downloads+after.Uploads)
				for y, want := range made {
					same(t, typ, want, y)
				}
			})
		}
	}
}

// spread calls each operator that x can be given to.
func spread(t *testing.T, rng *rand.Rand, x *tensor.Tensor, a array, made map[*tensor.Tensor]array) {
	rank := len(a.dims)
	shape, dims := []int64{}, []int64{}
	for range rng.IntN(3) {
		n := rng.Int64N(4)
		shape, dims = append(shape, n), append(dims, n)
	}
	repeats := []int64{}
	for _, d := range a.dims {
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
	expanded := held(t)(onnx.Expand(x, 13, shape))
	made[expanded] = a.expand(dims...)
	require.Equal(t, tensor.View, expanded.Verdict().Kind)
	made[held(t)(onnx.Tile(x, 13, repeats))] = a.tile(repeats...)

	if rank > 0 {
		axis := rng.IntN(rank)
		extent, at, sizes := a.dims[axis], int64(0), []int64{}
		for at < extent {
			sizes = append(sizes, rng.Int64N(extent-at+1))
			at += sizes[len(sizes)-1]
		}
		sizes = append(sizes, 0)
		parts, err := onnx.Split(x, 13, int64(axis-rank), sizes)
		require.NoError(t, err)
		at = 0
		for i, part := range parts {
			made[held(t)(part, nil)] = a.window(axis, at, at+sizes[i])
			require.Equal(t, tensor.View, part.Verdict().Kind)
			at += sizes[i]
		}
	}
	if rank == 4 {
		b := 1 + rng.Int64N(3)
		mode := []string{"DCR", "CRD"}[rng.IntN(2)]
		made[held(t)(onnx.Tile(x, 28, []int64{1, b * b, b, b}))] = a.tile(1, b*b, b, b)
		deep := held(t)(onnx.Tile(x, 13, []int64{1, b * b, 1, 1}))
		made[held(t)(onnx.DepthToSpace(deep, 13, b, mode))] = a.tile(1, b*b, 1, 1).depthToSpace(b, mode)
		wide := held(t)(onnx.Tile(x, 13, []int64{1, 1, b, b}))
		made[held(t)(onnx.SpaceToDepth(wide, 28, b, mode))] = a.tile(1, 1, b, b).spaceToDepth(b, mode)
	}
}

// spread adds one of the operators that repeat, cut and rearrange to a random
// graph.
func (g *graphBuilder) spread(from string, a array) {
	add := func(op string, out array, in []string, attrs ...onnx.Attr) string {
		name := fmt.Sprint("v", len(g.data))
		g.data[name], g.names = out, append(g.names, name)
		g.m.Graph.Nodes = append(g.m.Graph.Nodes, node(op, name, in, attrs...))
		return name
	}
	rank := len(a.dims)
	small := len(a.elems) < 200 // or the graph's values would grow and grow
	kind := g.rng.IntN(6)
	switch {
	case kind == 0 && small:
		dims := append([]int64{1 + g.rng.Int64N(3)}, a.dims...)
		add("Expand", a.expand(dims...), []string{from, g.list(dims...)})
	case kind == 1 && small:
		repeats := []int64{}
		for range rank {
			repeats = append(repeats, []int64{0, 1, 1, 1, 1, 1, 2, 3}[g.rng.IntN(8)])
		}
		add("Tile", a.tile(repeats...), []string{from, g.list(repeats...)})
	case kind == 2:
		dims := make([]int64, g.rng.IntN(4))
		for i := range dims {
			dims[i] = 1 + g.rng.Int64N(3)
		}
		value := numbers(g.rng.Int64())
		add("ConstantOfShape", array{dims, slices.Repeat(value.elems, int(count(dims)))}, []string{g.list(dims...)},
			onnx.Attr{Name: "value", Value: value.tensorOf(layout.Int64)})
	case kind == 3 && rank == 3: // as channels, as pixels
		b := []int64{1, 2, 3}[g.rng.IntN(3)]
		axes := g.list(0)
		flat := add("Unsqueeze", a.reshape(1, a.dims[0], a.dims[1], a.dims[2]), []string{from, axes})
		if a = g.data[flat]; a.dims[1]%(b*b) == 0 {
			mode := []string{"DCR", "CRD"}[g.rng.IntN(2)]
			add("DepthToSpace", a.depthToSpace(b, mode), []string{flat}, onnx.Int("blocksize", b), onnx.Attr{Name: "mode", Value: mode})
		}
		if a.dims[2]%b == 0 && a.dims[3]%b == 0 {
			add("SpaceToDepth", a.spaceToDepth(b, "DCR"), []string{flat}, onnx.Int("blocksize", b))
		}
	case kind == 4 && small && rank > 0: // beside itself and once more
		axis := g.rng.IntN(rank)
		repeats := slices.Repeat([]int64{1}, rank)
		repeats[axis] = 2
		tiled := add("Tile", a.tile(repeats...), []string{from, g.list(repeats...)})
		if g.rng.IntN(2) == 0 {
			g.names = g.names[:len(g.names)-1] // only the Concat uses it
		}
		thrice := slices.Clone(repeats) // the list's node has repeats itself
		thrice[axis] = 3
		add("Concat", a.tile(thrice...), []string{from, tiled}, onnx.Int("axis", int64(axis)))
	case rank > 0:
		axis := g.rng.IntN(rank)
		at := g.rng.Int64N(a.dims[axis] + 1)
		n := model.NewNode("Split", []string{from, g.list(at, a.dims[axis]-at)}, nil, onnx.Int("axis", int64(axis-rank)))
		for _, part := range []array{a.window(axis, 0, at), a.window(axis, at, a.dims[axis])} {
			name := fmt.Sprint("v", len(g.data))
			g.data[name], g.names = part, append(g.names, name)
			n.Outputs = append(n.Outputs, name)
		}
		g.m.Graph.Nodes = append(g.m.Graph.Nodes, n)
	}
}

// sinceSpread is since of these operators, whose newest types are those of
// opset 13, if they lived to see it.
func sinceSpread(op string, t layout.DType) onnx.Opset {
	switch {
	case t > layout.BFloat16 || t == layout.BFloat16 && op == "DynamicSlice":
		return 0
	case t == layout.BFloat16:
		return 13
	case op == "Expand":
		return 8
	case t == layout.Float16 || t == layout.Float32 || t == layout.Float64:
		return 1
	case op == "Split":
		return 2
	case op == "Tile":
		return 6
	}
	return 1
}

func init() { typeCases = append(typeCases, spreadCases...) }

var spreadCases = []typeCase{
	{
		op: "Expand",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.Expand(x, v, []int64{2, 1, 4})
		},
		form: func(onnx.Opset) (onnx.Attrs, [][]int64) { return nil, [][]int64{{2, 1, 4}} },
		want: func(a array) array { return a.expand(2, 2, 3, 4) },
	},
	{
		op: "Tile",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.Tile(x, v, []int64{1, 1, 3, 1})
		},
		form: func(v onnx.Opset) (onnx.Attrs, [][]int64) {
			if v < 6 {
				return nil, [][]int64{{3}, {2}}
			}
			return nil, [][]int64{{1, 1, 3, 1}}
		},
		want: func(a array) array { return a.tile(1, 1, 3, 1) },
	},
	{ // by name it makes one output, as the fewest
		op: "Split",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			parts, err := onnx.Split(x, v, 2, []int64{3})
			if err != nil {
				return nil, err
			}
			return parts[0], nil
		},
		form: func(v onnx.Opset) (onnx.Attrs, [][]int64) {
			if v < 13 {
				return onnx.Attrs{onnx.Int("axis", 2), onnx.Ints("split", 3)}, nil
			}
			return onnx.Attrs{onnx.Int("axis", -2)}, [][]int64{{3}}
		},
		want: func(a array) array { return a },
	},
	{
		op: "DepthToSpace",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.DepthToSpace(x, v, 1, "")
		},
		form: func(onnx.Opset) (onnx.Attrs, [][]int64) { return onnx.Attrs{onnx.Int("blocksize", 1)}, nil },
		want: func(a array) array { return a },
	},
	{
		op: "SpaceToDepth",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			return onnx.SpaceToDepth(x, v, 1, "")
		},
		form: func(onnx.Opset) (onnx.Attrs, [][]int64) { return onnx.Attrs{onnx.Int("blocksize", 1)}, nil },
		want: func(a array) array { return a },
	},
	{
		op: "DynamicSlice",
		direct: func(x *tensor.Tensor, v onnx.Opset) (*tensor.Tensor, error) {
			var in [3]*tensor.Tensor // starts, ends, axes
			for i := range in {
				var err error
				if in[i], err = tensor.FromHost([]int32{int32(i + 1)}); err != nil {
					return nil, err
				}
				defer in[i].Release()
			}
			out, err := onnx.Run("DynamicSlice", v, nil, x, in[0], in[1], in[2])
			if err != nil {
				return nil, err
			}
			return out[0].(*tensor.Tensor), nil
		},
		form: func(onnx.Opset) (onnx.Attrs, [][]int64) { return nil, [][]int64{{1}, {2}, {3}} },
		want: func(a array) array { return a.take(3, []int64{1}) },
	},
}
