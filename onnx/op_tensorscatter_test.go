package onnx_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "TensorScatter", versions: []onnx.Opset{24},
		note: "a session writes to a cache that nothing else uses",
	})
}

func TestTensorScatter(t *testing.T) {
	s, dev := openFake(t)
	cache := held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4, 1))
	two := held(t)(tensor.FromSlice(s, []int64{10, 20, 30, 40}, 2, 2, 1))
	all := held(t)(tensor.FromSlice(s, []int64{10, 20, 30, 40, 50, 60, 70, 80}, 2, 4, 1))
	none := held(t)(tensor.FromSlice(s, []int64{}, 2, 0, 1))
	for _, c := range []struct {
		update   *tensor.Tensor
		indices  []int64
		circular bool
		want     []int64
		launches int64
	}{
		{two, nil, false, []int64{10, 20, 3, 4, 30, 40, 7, 8}, 2},
		{two, []int64{1, 1}, false, []int64{1, 10, 20, 4, 5, 30, 40, 8}, 2},
		{two, []int64{0, 2}, false, []int64{10, 20, 3, 4, 5, 6, 30, 40}, 3},
		{two, []int64{3, 2}, true, []int64{20, 2, 3, 10, 5, 6, 30, 40}, 4},
		{two, []int64{7, 3}, true, []int64{20, 2, 3, 10, 40, 6, 7, 30}, 3},
		{two, []int64{-1, math.MinInt64}, true, []int64{20, 2, 3, 10, 30, 40, 7, 8}, 4},
		{all, nil, false, []int64{10, 20, 30, 40, 50, 60, 70, 80}, 1},
		{all, []int64{1, 0}, true, []int64{40, 10, 20, 30, 50, 60, 70, 80}, 3},
		{none, []int64{4, 1}, false, []int64{1, 2, 3, 4, 5, 6, 7, 8}, 0},
	} {
		before := dev.Stats().Launches
		y := held(t)(runTensorScatter(cache, c.update, 24, c.indices, -2, c.circular))
		require.Equal(t, c.launches, dev.Stats().Launches-before, "%v", c.indices)
		got, err := tensor.Values[int64](y)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%v", c.indices)
	}
	got, err := tensor.Values[int64](cache)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7, 8}, got, "the cache is the caller's")
}

// TestTensorScatterTypes runs it with all types, at all opsets.
func TestTensorScatterTypes(t *testing.T) {
	s := open(t)
	for _, typ := range layout.DTypes() {
		a, b := numbered(typ, 2, 3, 4), numbered(typ, 2, 2, 4).Reshape(2, 2, 4)
		x, u := uploadAs(t, a, s, typ, "strided"), uploadAs(t, b, s, typ, "transposed")
		for v := onnx.Opset(1); v <= onnx.MaxOpset; v++ {
			y, err := runTensorScatter(x, u, v, []int64{1, 0}, 1, false)
			switch {
			case v < 24:
				require.ErrorContains(t, err, "the operator exists from opset 24")
			case typ == layout.Int2 || typ == layout.Uint2:
				require.ErrorContains(t, err, "is not allowed, in no version of TensorScatter")
			default:
				require.NoError(t, err)
				same(t, typ, a.Scattered(b, []int64{1, 0}, 1), y)
				require.NoError(t, y.Release())
				continue
			}
			require.ErrorIs(t, err, device.ErrInvalid)
		}
	}
}

// TestTensorScatterRandom checks random updates of random caches of every width.
func TestTensorScatterRandom(t *testing.T) {
	onCPU := open(t)
	onFake, _ := openFake(t)
	const seed = 29
	rng := rand.New(rand.NewPCG(seed, seed))
	types := []layout.DType{layout.Int4, layout.Bool, layout.Float16, layout.Float32, layout.Int64, layout.Complex128, layout.String}
	for range 600 {
		typ := types[rng.IntN(len(types))]
		s := onCPU
		if typ != layout.String && rng.IntN(2) == 0 {
			s = onFake
		}
		dims := []int64{1 + rng.Int64N(4), 1 + rng.Int64N(4), 1 + rng.Int64N(4), 1 + rng.Int64N(4)}[:2+rng.IntN(3)]
		axis := 1 + rng.IntN(len(dims)-1)
		sizes := append([]int64{}, dims...)
		sizes[axis] = rng.Int64N(dims[axis] + 1)
		mode, indices := "linear", make([]int64, dims[0])
		for i := range indices {
			indices[i] = rng.Int64N(dims[axis] - sizes[axis] + 1)
		}
		if rng.IntN(2) == 0 {
			mode = "circular"
			for i := range indices {
				indices[i] = rng.Int64N(20)
			}
		}
		a, b := numbered(typ, dims...), numbered(typ, sizes...)
		x := uploadAs(t, a, s, typ, views[rng.IntN(len(views))])
		u := uploadAs(t, b, s, typ, views[rng.IntN(len(views))])
		attrs := onnx.Attrs{{Name: "mode", Value: mode}, onnx.Int("axis", int64(axis-rng.IntN(2)*len(dims)))}
		out, err := onnx.Run("TensorScatter", 24, attrs, x, u, ints(t, tensor.Host(), indices...))
		require.NoError(t, err, "seed %d: %v %v %v %s", seed, dims, sizes, indices, mode)
		same(t, typ, a.Scattered(b, indices, axis), out[0].(*tensor.Tensor))
		require.NoError(t, out[0].Release())
	}
}

// TestTensorScatterTypesOfPositionsThere has the indices where the cache is: they are not
// read, and an index out of range is an error, at once or of the result.
func TestTensorScatterTypesOfPositionsThere(t *testing.T) {
	s := open(t)
	const seed = 36
	rng := rand.New(rand.NewPCG(seed, seed))
	for _, typ := range layout.DTypes() {
		if typ == layout.Int2 || typ == layout.Uint2 || typ == layout.String && !s.Device().Info().Strings {
			continue
		}
		for range 4 {
			dims := []int64{1 + rng.Int64N(3), 1 + rng.Int64N(3), 2 + rng.Int64N(5), 1 + rng.Int64N(4)}
			sizes := []int64{dims[0], dims[1], 1 + rng.Int64N(dims[2]-1), dims[3]}
			indices := make([]int64, dims[0])
			for i := range indices {
				indices[i] = rng.Int64N(dims[2] - sizes[2] + 1)
			}
			a, b := numbered(typ, dims...), numbered(typ, sizes...)
			x, u := uploadAs(t, a, s, typ, views[rng.IntN(len(views))]), uploadAs(t, b, s, typ, views[rng.IntN(len(views))])
			at := ints(t, s, indices...)
			down := s.Device().Stats().Downloads
			out, err := onnx.Run("TensorScatter", 24, nil, x, u, at)
			require.NoError(t, err, "%v %v %v %v", typ, dims, sizes, indices)
			require.Equal(t, down, s.Device().Stats().Downloads)
			same(t, typ, a.Scattered(b, indices, 2), out[0].(*tensor.Tensor))
			require.NoError(t, out[0].Release())

			wrong := []int64{-1, dims[2] - sizes[2] + 1, math.MinInt64}[rng.IntN(3)]
			indices[rng.IntN(len(indices))] = wrong
			out, err = onnx.Run("TensorScatter", 24, nil, x, u, ints(t, s, indices...))
			if err == nil {
				_, err = out[0].(*tensor.Tensor).Bytes()
				require.NoError(t, out[0].Release())
			}
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, fmt.Sprintf("index %d is outside [0,%d]", wrong, dims[2]-sizes[2]))
		}
	}
	x, u := held(t)(tensor.New(s, layout.Int8, 2, 4, 3)), held(t)(tensor.New(s, layout.Int8, 2, 2, 3))
	for says, at := range map[string]*tensor.Tensor{
		"write_indices is int32; it must be int64":                                      held(t)(tensor.New(s, layout.Int32, 2)),
		"write_indices has shape [3]; it must have one axis, with an index for each of": ints(t, s, 1, 2, 3),
		"write_indices has shape [2,1]":                                                 held(t)(tensor.New(s, layout.Int64, 2, 1)),
	} {
		_, err := onnx.Run("TensorScatter", 24, nil, x, u, at)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, says)
	}
}

func TestTensorScatterErrors(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 2, 4, 3))
	u := held(t)(tensor.New(s, layout.Float32, 2, 2, 3))
	for name, dims := range map[string][]int64{
		"the update has shape [2,5,3]: along axis 1 it is longer than the cache":                  {2, 5, 3},
		"the update has shape [1,2,3]: it may differ from the cache along axis 1 only":            {1, 2, 3},
		"the update has shape [2,2,4]: it may differ from the cache along axis 1 only":            {2, 2, 4},
		"TensorScatter-24 of float[2,4,3]: the update has shape [2,2]: it must have as many axes": {2, 2},
	} {
		_, err := runTensorScatter(x, held(t)(tensor.New(s, layout.Float32, dims...)), 24, nil, 1, false)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, name)
	}
	for _, c := range []struct {
		indices  []int64
		axis     int64
		circular bool
		says     string
	}{
		{[]int64{0, 3}, 1, false, "write index 3 of batch 1: 2 elements from there on must lie in [0,4), axis 1 of the cache"},
		{[]int64{-1, 0}, 1, false, "write index -1 of batch 0"},
		{[]int64{math.MaxInt64, 0}, 1, false, "write index 9223372036854775807 of batch 0"},
		{[]int64{0}, 1, true, "1 write indices for 2 batches, axis 0"},
		{[]int64{}, 1, true, "0 write indices for 2 batches"},
		{nil, 0, false, "axis 0 is axis 0, of the batches: it must be another"},
		{nil, -3, false, "axis -3 is axis 0"},
		{nil, 3, false, "axis 3 is outside [-3,2]"},
		{nil, 2, false, "it may differ from the cache along axis 2 only"},
	} {
		_, err := runTensorScatter(x, u, 24, c.indices, c.axis, c.circular)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	double := held(t)(tensor.New(s, layout.Float64, 2, 2, 3))
	scalar := held(t)(tensor.New(s, layout.Float32, []int64{}...))
	short := held(t)(tensor.FromSlice(s, []int32{0, 0}))
	for _, c := range []struct {
		attrs onnx.Attrs
		in    []onnx.Value
		says  string
	}{
		{nil, []onnx.Value{x, double}, "the update is double[2,2,3]; it must be of the type of the cache"},
		{nil, []onnx.Value{x, &onnx.Sequence{Elem: layout.Float32}}, "the update is a sequence of float"},
		{nil, []onnx.Value{x, u, short}, "write_indices is int32; it must be int64"},
		{nil, []onnx.Value{scalar, scalar}, "the tensor has no axes"},
		{onnx.Attrs{{Name: "mode", Value: "round"}}, []onnx.Value{x, u}, `mode "round": it must be linear or circular`},
		{nil, []onnx.Value{x}, "1 inputs are given; it takes 2 or 3"},
		{nil, []onnx.Value{x, nil}, "input 1 is missing"},
	} {
		_, err := onnx.Run("TensorScatter", 24, c.attrs, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	_, err := runTensorScatter(x, nil, 24, nil, 1, false)
	require.ErrorContains(t, err, "1 inputs are given; it takes 2 or 3")
}

// cacheModel makes a cache of x, by a Pad of two on axis 1, and writes u to it.
func cacheModel(t *testing.T, nodes ...model.Node) *model.Model {
	m := model.New("cache", 24)
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Int64), input("u", layout.Int64), input("at", layout.Int64)}
	m.Graph.Initializers = []model.Tensor{constant(t, "pads", []int64{0, 0, 0, 0, 2, 0})}
	m.Graph.Nodes = append([]model.Node{node("Pad", "cache", []string{"x", "pads"})}, nodes...)
	m.Graph.Outputs = outputs("y")
	return m
}

// TestTensorScatterInPlace: where nobody else sees the cache, it is not copied:
// what moves is the update. In all other cases the cache stays as it was.
func TestTensorScatterInPlace(t *testing.T) {
	scatter := node("TensorScatter", "y", []string{"cache", "u", "at"}, onnx.Attr{Name: "mode", Value: "circular"})
	for _, c := range []struct {
		name    string
		nodes   []model.Node
		outputs []string
		inPlace bool
	}{
		{"the last use", []model.Node{scatter}, []string{"y"}, true},
		{"an output too", []model.Node{scatter}, []string{"y", "cache"}, false},
		{"used later", []model.Node{scatter, node("Identity", "later", []string{"cache"})}, []string{"y", "later"}, false},
		{"a view of it is alive", []model.Node{node("Transpose", "turned", []string{"cache"}), scatter}, []string{"y", "turned"}, false},
		{"a view of it is dead", []model.Node{node("Transpose", "turned", []string{"cache"}), node("Shape", "shape", []string{"turned"}), scatter}, []string{"y", "shape"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			onFake, _ := openFake(t)
			for _, s := range []*tensor.Stream{open(t), onFake} {
				m := cacheModel(t, c.nodes...)
				m.Graph.Outputs = outputs(c.outputs...)
				sess := session(t, s, m)
				reports := map[string]onnx.NodeReport{}
				sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
				x := held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2, 1))
				u := held(t)(tensor.FromSlice(tensor.Host(), []int64{10, 20, 30, 40}, 2, 2, 1))
				out := run(t, sess, onnx.Values{"x": x, "u": u, "at": ints(t, tensor.Host(), 2, 3)})
				require.Equal(t, []int64{1, 2, 10, 20, 40, 4, 0, 30}, valuesOf[int64](t, out, "y"))
				y, err := out.Tensor("y")
				require.NoError(t, err)
				require.Equal(t, tensor.Copy, reports["y"].Kind)
				require.NotEmpty(t, y.Verdict().Kernel)
				if c.inPlace {
					require.EqualValues(t, 32, reports["y"].Bytes)
					require.Contains(t, reports["y"].Why, "written in place, over the input: 3 parts")
				} else {
					require.EqualValues(t, 96, reports["y"].Bytes)
					require.Contains(t, reports["y"].Why, "put together from 4 parts")
				}
				for _, name := range c.outputs[1:] {
					if got := valuesOf[int64](t, out, name); name != "shape" && name != "turned" {
						require.Equal(t, []int64{1, 2, 0, 0, 3, 4, 0, 0}, got)
					} else if name == "turned" {
						require.Equal(t, []int64{1, 3, 2, 4, 0, 0, 0, 0}, got)
					}
				}
			}
		})
	}
}

// TestTensorScatterIntoABroadcastCache: what stands for many elements is not
// written to, though nobody else sees it. A plan says the same.
func TestTensorScatterIntoABroadcastCache(t *testing.T) {
	for wide, bytes := range map[int64]int64{1: 16, 2: 128 + 32} {
		s, _ := openFake(t)
		m := cacheModel(t, node("Expand", "wide", []string{"cache", "shape"}), node("TensorScatter", "y", []string{"wide", "u", "at"}))
		m.Graph.Initializers = append(m.Graph.Initializers, constant(t, "shape", []int64{2, 4, wide}))
		sess := session(t, s, m)
		var report onnx.NodeReport
		sess.OnNode(func(n onnx.NodeReport) { report = n })
		x := held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2, 1))
		u := held(t)(tensor.FromSlice(s, []int64{10, 20, 30, 40}[:2*wide], 2, 1, wide))
		at := ints(t, tensor.Host(), 3, 0)
		out := run(t, sess, onnx.Values{"x": x, "u": u, "at": at})
		want := []int64{1, 2, 0, 10, 20, 4, 0, 0}
		if wide == 2 {
			want = []int64{1, 1, 2, 2, 0, 0, 10, 20, 30, 40, 4, 4, 0, 0, 0, 0}
		}
		require.Equal(t, want, valuesOf[int64](t, out, "y"))
		require.Equal(t, bytes, report.Bytes)
		plan, err := sess.Plan(map[string]layout.Shape{"x": {2, 2, 1}, "u": {2, 1, wide}}, onnx.Values{"at": at})
		require.NoError(t, err)
		require.Equal(t, report.Bytes, plan.Nodes[len(plan.Nodes)-1].Bytes)
	}
}

// The update may be of the cache itself.
func TestTensorScatterOfTheCacheItself(t *testing.T) {
	for name, update := range map[string][]model.Node{
		"all":  {node("TensorScatter", "y", []string{"cache", "cache", "at"}, onnx.Attr{Name: "mode", Value: "circular"})},
		"part": {node("Slice", "part", []string{"cache", "from", "to", "from"}), node("TensorScatter", "y", []string{"cache", "part", "at"}, onnx.Attr{Name: "mode", Value: "circular"})},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := openFake(t)
			m := cacheModel(t, update...)
			m.Graph.Initializers = append(m.Graph.Initializers, constant(t, "from", []int64{1}), constant(t, "to", []int64{4}))
			sess := session(t, s, m)
			x := held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2, 1))
			u := held(t)(tensor.New(s, layout.Int64, 1))
			out := run(t, sess, onnx.Values{"x": x, "u": u, "at": ints(t, tensor.Host(), 1, 2)})
			want := []int64{0, 1, 2, 0, 0, 0, 3, 4}
			if name == "part" { // 2, 0, 0 at 1, and 4, 0, 0 at 2
				want = []int64{1, 2, 0, 0, 0, 4, 4, 0}
			}
			require.Equal(t, want, valuesOf[int64](t, out, "y"))
			require.Equal(t, []int64{1, 2, 3, 4}, func() []int64 { v, err := tensor.Values[int64](x); require.NoError(t, err); return v }())
		})
	}
}

// TestTensorScatterInputs: the caller's cache is never written to, and operands
// on the host are brought to the device of the others.
func TestTensorScatterInputs(t *testing.T) {
	s, _ := openFake(t)
	m := model.New("inputs", 24)
	m.Graph.Inputs = []model.ValueInfo{input("cache", layout.Int64), input("u", layout.Int64)}
	m.Graph.Nodes = []model.Node{node("TensorScatter", "y", []string{"cache", "u"})}
	m.Graph.Outputs = outputs("y")
	sess := session(t, s, m)
	var report onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) { report = n })
	for _, on := range [][2]*tensor.Stream{{s, s}, {s, tensor.Host()}, {tensor.Host(), s}} {
		cache := held(t)(tensor.FromSlice(on[0], []int64{1, 2, 3}, 1, 3, 1))
		u := held(t)(tensor.FromSlice(on[1], []int64{9}, 1, 1, 1))
		out := run(t, sess, onnx.Values{"cache": cache, "u": u})
		require.Equal(t, []int64{9, 2, 3}, valuesOf[int64](t, out, "y"))
		got, err := tensor.Values[int64](cache)
		require.NoError(t, err)
		require.Equal(t, []int64{1, 2, 3}, got)
		require.EqualValues(t, 32, report.Bytes, fmt.Sprint(report))
	}
}

// TestTensorScatterIntoConcat: a cache that only a Concat uses is neither copied
// nor written to.
func TestTensorScatterIntoConcat(t *testing.T) {
	s, dev := openFake(t)
	m := cacheModel(t, node("TensorScatter", "new", []string{"cache", "u", "at"}), node("Concat", "y", []string{"new", "x"}, onnx.Int("axis", 1)))
	sess := session(t, s, m)
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	x := held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2, 1))
	u := held(t)(tensor.FromSlice(s, []int64{10, 20}, 2, 1, 1))
	before := dev.Stats().Launches
	out := run(t, sess, onnx.Values{"x": x, "u": u, "at": ints(t, tensor.Host(), 3, 2)})
	require.Equal(t, []int64{1, 2, 0, 10, 1, 2, 3, 4, 20, 0, 3, 4}, valuesOf[int64](t, out, "y"))
	require.True(t, reports["new"].Elided)
	require.EqualValues(t, 2+3+1, dev.Stats().Launches-before)
}

// TestTensorScatterAfterAnotherStreamRead: a Concat on another stream may still be
// reading the cache, which nobody holds any more. It is not written in place.
func TestTensorScatterAfterAnotherStreamRead(t *testing.T) {
	s, dev := openFake(t)
	other, err := tensor.NewStream(dev)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	m := cacheModel(t,
		node("Concat", "joined", []string{"far", "cache"}, onnx.Int("axis", 0)),
		node("TensorScatter", "y", []string{"cache", "u", "at"}))
	m.Graph.Inputs = append(m.Graph.Inputs, input("far", layout.Int64))
	m.Graph.Outputs = outputs("y", "joined")
	sess := session(t, s, m)
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	for _, far := range []*tensor.Stream{s, other} {
		out := run(t, sess, onnx.Values{
			"x":   held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2, 1)),
			"u":   held(t)(tensor.FromSlice(s, []int64{10, 20}, 2, 1, 1)),
			"at":  ints(t, tensor.Host(), 2, 3),
			"far": held(t)(tensor.FromSlice(far, []int64{7, 7, 7, 7}, 1, 4, 1)),
		})
		require.Equal(t, []int64{7, 7, 7, 7, 1, 2, 0, 0, 3, 4, 0, 0}, valuesOf[int64](t, out, "joined"))
		require.Equal(t, []int64{1, 2, 10, 0, 3, 4, 0, 20}, valuesOf[int64](t, out, "y"))
		joined, err := out.Tensor("joined")
		require.NoError(t, err)
		require.Same(t, far, joined.Stream())
		if far == other {
			require.Contains(t, reports["y"].Why, "put together from 3 parts")
		} else {
			require.Contains(t, reports["y"].Why, "written in place")
		}
	}
}

// TestTensorScatterAndTriluAtOnce: runs that fail do not disturb runs beside them.
func TestTensorScatterAndTriluAtOnce(t *testing.T) {
	s := open(t)
	m := cacheModel(t,
		node("TensorScatter", "scattered", []string{"cache", "u", "at"}),
		node("Trilu", "y", []string{"scattered", "k"}))
	m.Graph.Inputs = append(m.Graph.Inputs, input("k", layout.Int64))
	sess := session(t, s, m)
	x := held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2, 1))
	u := held(t)(tensor.FromSlice(s, []int64{10, 20}, 2, 1, 1))
	at, k := ints(t, tensor.Host(), 2, 3), ints(t, tensor.Host(), 0)
	square := held(t)(at.Unsqueeze(0))
	var wg sync.WaitGroup
	for who := range 4 {
		in, says := onnx.Values{"x": x, "u": u, "at": at, "k": k}, ""
		switch who {
		case 2:
			in["at"], says = square, "write_indices has shape [1,2]"
		case 3:
			in["k"], says = at, "k has shape [2]"
		}
		wg.Go(func() {
			for range 300 {
				out, err := sess.Run(context.Background(), in)
				if says != "" {
					assert.ErrorContains(t, err, says)
				} else if assert.NoError(t, err) {
					assert.NoError(t, out.Release())
				}
			}
		})
	}
	wg.Wait()
}
