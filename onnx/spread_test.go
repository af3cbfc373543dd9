package onnx_test

import (
	"encoding/binary"
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

// expand repeats the elements along axes of extent 1, and new ones before them.
func (a array) expand(dims ...int64) array {
	return a.at(dims, func(index, of []int64) {
		for i, d := range a.dims {
			of[i] = 0
			if d > 1 {
				of[i] = index[len(dims)-len(a.dims)+i]
			}
		}
	})
}

func (a array) tile(repeats ...int64) array {
	dims := make([]int64, len(repeats))
	for i, n := range repeats {
		dims[i] = n * a.dims[i]
	}
	return a.at(dims, func(index, of []int64) {
		for i, d := range a.dims {
			of[i] = index[i] % d
		}
	})
}

// window keeps the indices of an axis from one up to, and without, another.
func (a array) window(axis int, from, to int64) array {
	keep := []int64{}
	for i := from; i < to; i++ {
		keep = append(keep, i)
	}
	return a.take(axis, keep)
}

func (a array) depthToSpace(b int64, mode string) array {
	deep := a.dims[1] / (b * b)
	return a.at([]int64{a.dims[0], deep, a.dims[2] * b, a.dims[3] * b}, func(index, of []int64) {
		block, channel := index[2]%b*b+index[3]%b, index[1]
		of[0], of[1], of[2], of[3] = index[0], block*deep+channel, index[2]/b, index[3]/b
		if mode == "CRD" {
			of[1] = channel*b*b + block
		}
	})
}

func (a array) spaceToDepth(b int64, mode string) array {
	return a.at([]int64{a.dims[0], a.dims[1] * b * b, a.dims[2] / b, a.dims[3] / b}, func(index, of []int64) {
		block, channel := index[1]/a.dims[1], index[1]%a.dims[1]
		if mode == "CRD" {
			block, channel = index[1]%(b*b), index[1]/(b*b)
		}
		of[0], of[1], of[2], of[3] = index[0], channel, index[2]*b+block/b, index[3]*b+block%b
	})
}

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

// spreadSeed is a model of all these operators, for the fuzzer.
func spreadSeed(tb testing.TB) *model.Model {
	m := graphOf(layout.Float32,
		node("DepthToSpace", "wide", []string{"x"}, onnx.Int("blocksize", 2), onnx.Attr{Name: "mode", Value: "CRD"}),
		node("SpaceToDepth", "deep", []string{"wide"}, onnx.Int("blocksize", 2)),
		node("Tile", "tiled", []string{"deep", "list"}),
		node("Expand", "more", []string{"deep", "list"}),
		node("ConstantOfShape", "ones", []string{"list"}),
		node("DynamicSlice", "z", []string{"ones", "one", "one", "one"}),
		model.NewNode("Split", []string{"more", "two"}, []string{"left", "right"}, onnx.Int("axis", 1)),
		node("Concat", "y", []string{"tiled", "left", "right"}, onnx.Int("axis", 1)),
	)
	m.Graph.Inputs[0].Type = model.TensorOf(layout.Float32, model.Known(1), model.Known(4), model.Known(1), model.Known(1))
	m.Graph.Initializers = []model.Tensor{constant(tb, "list", []int64{2, 1, 1, 1}), constant(tb, "one", []int64{1}), constant(tb, "two", []int64{1, 3})}
	m.Graph.Outputs = outputs("y", "z")
	return m
}

// growth bounds how many times as many elements as it is given a model makes.
// False: it cannot be told, or is more than the fuzzer wants to wait for.
func growth(m *model.Model) (int64, bool) {
	lists := map[string]*model.Tensor{}
	for i := range m.Graph.Initializers {
		lists[m.Graph.Initializers[i].Name] = &m.Graph.Initializers[i]
	}
	times, ok := padGrowth(m)
	if !ok {
		return 0, false
	}
	for _, n := range m.Graph.Nodes {
		of := map[string]int{"Expand": 1, "Tile": 1, "ConstantOfShape": 0}
		i, grows := of[n.OpType]
		if !grows {
			continue
		}
		if i >= len(n.Inputs) || lists[n.Inputs[i]] == nil || slices.ContainsFunc(m.Graph.Inputs, func(in model.ValueInfo) bool { return in.Name == n.Inputs[i] }) {
			return 0, false
		}
		raw, err := lists[n.Inputs[i]].Bytes()
		for ; err == nil && len(raw) >= 8; raw = raw[8:] {
			// What is negative or of another type is refused, whatever it says.
			extent := int64(binary.LittleEndian.Uint64(raw))
			if extent > 256 || times > 256 {
				return 0, false
			}
			times *= max(extent, 1)
		}
	}
	return times, times <= 256
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

// What only a Concat uses is written straight into its output: a Tile, a
// DepthToSpace, a SpaceToDepth and a ConstantOfShape.
func TestSpreadIntoConcat(t *testing.T) {
	s, dev := openFake(t)
	one := numbered(layout.Float32, 1)
	axis := func(i int64) onnx.Attr { return onnx.Int("axis", i) }
	block := onnx.Int("blocksize", 2)
	m := graphOf(layout.Float32,
		node("Tile", "tiled", []string{"x", "repeats"}),
		node("ConstantOfShape", "ones", []string{"shape"}, onnx.Attr{Name: "value", Value: one.tensorOf(layout.Float32)}),
		node("Concat", "a", []string{"tiled", "ones"}, axis(1)),
		node("DepthToSpace", "dcr", []string{"x"}, block),
		node("DepthToSpace", "crd", []string{"x"}, block, onnx.Attr{Name: "mode", Value: "CRD"}),
		node("Concat", "b", []string{"dcr", "crd"}, axis(3)),
		node("SpaceToDepth", "deep", []string{"x"}, block),
		node("Reshape", "flat", []string{"x", "column"}),
		node("Concat", "c", []string{"flat", "deep"}, axis(0)),
		node("Expand", "wide", []string{"x", "five"}),
		node("Concat", "d", []string{"wide", "x"}, axis(0)),
	)
	m.Graph.Initializers = []model.Tensor{constant(t, "repeats", []int64{1, 1, 2, 3}), constant(t, "shape", []int64{1, 2, 4, 6}),
		constant(t, "column", []int64{1, 16, 1, 1}), constant(t, "five", []int64{5, 1, 1, 1})}
	m.Graph.Outputs = outputs("a", "b", "c", "d")
	sess := session(t, s, m)
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	x := numbered(layout.Float32, 1, 4, 2, 2)
	in := onnx.Values{"x": x.upload(t, s, layout.Float32)}
	before := dev.Stats()
	out := run(t, sess, in)
	require.EqualValues(t, 8, dev.Stats().Launches-before.Launches, "each element is copied once")
	plan, err := sess.Plan(map[string]layout.Shape{"x": x.dims}, nil)
	require.NoError(t, err)
	require.EqualValues(t, 8, plan.Copies)
	require.Equal(t, before.Downloads+before.Uploads, dev.Stats().Downloads+dev.Stats().Uploads)
	ones := array{[]int64{1, 2, 4, 6}, slices.Repeat(one.elems, 48)}
	for name, parts := range map[string][]array{
		"a": {x.tile(1, 1, 2, 3).transpose(1, 0, 2, 3), ones.transpose(1, 0, 2, 3)},
		"b": {x.depthToSpace(2, "DCR").transpose(3, 1, 2, 0), x.depthToSpace(2, "CRD").transpose(3, 1, 2, 0)},
		"c": {x.reshape(1, 16, 1, 1), x.spaceToDepth(2, "DCR")},
		"d": {x.expand(5, 4, 2, 2), x},
	} {
		// With the axis of the Concat in front, its output is one part after the other.
		whole := array{append([]int64{}, parts[0].dims...), append(slices.Clone(parts[0].elems), parts[1].elems...)}
		whole.dims[0] += parts[1].dims[0]
		switch name {
		case "a":
			whole = whole.transpose(1, 0, 2, 3)
		case "b":
			whole = whole.transpose(3, 1, 2, 0)
		}
		y, err := out.Tensor(name)
		require.NoError(t, err)
		same(t, layout.Float32, whole, y)
	}
	for _, name := range []string{"tiled", "ones", "dcr", "crd", "deep"} {
		require.True(t, reports[name].Elided, name)
	}
	require.False(t, reports["wide"].Elided)
	require.Equal(t, "strides [0,4,2,1] over the same elements", reports["wide"].Why)
}

// TestSpreadReports: what is no part of another's output says why it is a view
// or a copy.
func TestSpreadReports(t *testing.T) {
	s, _ := openFake(t)
	split := model.NewNode("Split", []string{"x"}, []string{"top", "", "bottom"}, onnx.Int("axis", 1))
	split.Name = "cut"
	m := graphOf(layout.Float32,
		node("Tile", "tiled", []string{"x", "repeats"}),
		node("Tile", "same", []string{"x", "once"}),
		node("DepthToSpace", "wide", []string{"x"}, onnx.Int("blocksize", 2)),
		node("SpaceToDepth", "deep", []string{"x"}, onnx.Int("blocksize", 1)),
		node("Expand", "more", []string{"x", "shape"}),
		node("ConstantOfShape", "zeros", []string{"shape"}),
		node("ConstantOfShape", "none", []string{"empty"}),
		split,
	)
	m.Opsets[""] = 13
	m.Graph.Initializers = []model.Tensor{constant(t, "repeats", []int64{1, 1, 2, 1}), constant(t, "once", []int64{1, 1, 1, 1}),
		constant(t, "shape", []int64{2, 12, 1, 1}), constant(t, "empty", []int64{0, 7})}
	m.Graph.Outputs = outputs("tiled", "same", "wide", "deep", "more", "zeros", "none", "top", "bottom")
	sess := session(t, s, m)
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	x := numbered(layout.Float32, 1, 12, 2, 1)
	out := run(t, sess, onnx.Values{"x": x.upload(t, s, layout.Float32)})
	for name, want := range map[string]struct {
		kind  tensor.Kind
		bytes int64
		why   string
	}{
		"tiled": {tensor.Copy, 192, "no strides over [1,12,2,1]:{24,2,1,1}+0 make it [1,12,4,1]"},
		"same":  {tensor.View, 0, "nothing changes"},
		"wide":  {tensor.Copy, 96, "no strides over [1,12,2,1]:{24,2,1,1}+0 make it [1,3,4,2]"},
		"deep":  {tensor.View, 0, "nothing changes"},
		"more":  {tensor.View, 0, "strides [0,2,1,1] over the same elements"},
		"zeros": {tensor.Copy, 96, "new elements, all of one value"},
		"none":  {tensor.View, 0, "worked out from the shape: no element is read"},
		"top":   {tensor.View, 0, "contiguous: only the extents change"},
	} {
		n := reports[name]
		require.Equal(t, want.kind, n.Kind, name)
		require.Equal(t, want.bytes, n.Bytes, name)
		require.Equal(t, want.why, n.Why, name)
		require.False(t, n.Host || n.Elided, name)
	}
	require.Len(t, reports["top"].More, 2)
	require.Equal(t, onnx.Made{Output: "bottom", Type: layout.Float32, Shape: layout.Shape{1, 4, 2, 1}}, reports["top"].More[1])
	y, err := out.Tensor("bottom")
	require.NoError(t, err)
	same(t, layout.Float32, x.window(1, 8, 12), y)
}

// TestSpreadOnTheHost: the arithmetic of shapes may cut, repeat and fill. It
// stays on the host, and nothing is transferred.
func TestSpreadOnTheHost(t *testing.T) {
	s, _ := openFake(t)
	split := model.NewNode("Split", []string{"all"}, []string{"head", "tail"})
	m := shapeModel(layout.Float32,
		node("Shape", "all", []string{"x"}),
		split,
		node("ConstantOfShape", "ones", []string{"one"}, onnx.Attr{Name: "value", Value: numbers(1).tensorOf(layout.Int64)}),
		node("Tile", "more", []string{"ones", "two"}),
		node("Concat", "turned", []string{"tail", "more", "head"}, onnx.Int("axis", 0)),
		node("Expand", "shape", []string{"turned", "four"}),
	)
	m.Opsets[""] = 13
	m.Graph.Initializers = []model.Tensor{constant(t, "one", []int64{1}), constant(t, "two", []int64{2}), constant(t, "four", []int64{4})}
	sess := session(t, s, m)
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	in := onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 2, 3))}
	up, down, _ := transfers(t, s, sess, in)
	require.Zero(t, up+down)
	y, err := run(t, sess, in).Tensor("y")
	require.NoError(t, err)
	require.Equal(t, layout.Shape{3, 1, 1, 2}, y.Shape())
	for _, name := range []string{"head", "turned", "shape"} {
		require.True(t, reports[name].Host, name)
	}
}
