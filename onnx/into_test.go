package onnx_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// joined is a model of a cache that grows: [2,n,3] and [2,1,3] make [2,n+1,3].
func joined() *model.Model {
	m := model.New("joined", 21)
	m.Graph.Inputs = []model.ValueInfo{input("past", layout.Float32), input("new", layout.Float32)}
	m.Graph.Outputs = outputs("present")
	m.Graph.Nodes = []model.Node{node("Concat", "present", []string{"past", "new"}, onnx.Int("axis", 1))}
	return m
}

// A cache grows in its own memory, which has room: only the new rows are written.
func TestCacheThatGrows(t *testing.T) {
	s := open(t)
	sess := session(t, s, joined())
	var report onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) { report = n })
	room := held(t)(tensor.New(s, layout.Float32, 2, 8, 3))
	for n := range int64(8) {
		past, present := held(t)(room.Slice(1, 0, n, 1)), held(t)(room.Slice(1, 0, n+1, 1))
		row := []float32{float32(n), 1, 2, 3, 4, 5}
		live := s.Device().Stats().Live
		x := held(t)(tensor.FromSlice(s, row, 2, 1, 3))
		out, err := sess.Run(t.Context(), onnx.Values{"past": past, "new": x}, onnx.Into("present", present))
		require.NoError(t, err)
		require.EqualValues(t, 6*4, report.Bytes, "step %d", n)
		require.Contains(t, report.Why, "the caller's memory")
		y, err := out.Tensor("present")
		require.NoError(t, err)
		require.True(t, y.Buffer() == room.Buffer())
		require.NoError(t, out.Release())
		require.NoError(t, x.Release())
		require.Equal(t, live, s.Device().Stats().Live)
	}
	got, err := tensor.Values[float32](room)
	require.NoError(t, err)
	require.Equal(t, []float32{0, 1, 2, 1, 1, 2, 2, 1, 2}, got[:9])
	require.Equal(t, []float32{3, 4, 5, 3, 4, 5}, got[24:30])
}

func TestMemoryForOutputsIsRefused(t *testing.T) {
	s, other := open(t), open(t)
	sess := session(t, s, joined())
	in := onnx.Values{"past": held(t)(tensor.New(s, layout.Float32, 2, 4, 3)), "new": held(t)(tensor.New(s, layout.Float32, 2, 1, 3))}
	right := held(t)(tensor.New(s, layout.Float32, 2, 5, 3))
	gone := held(t)(tensor.New(s, layout.Float32, 2, 5, 3))
	require.NoError(t, gone.Release())
	same := func() onnx.RunOption { return onnx.Into("present", right) }
	row := held(t)(tensor.New(s, layout.Float32, 1, 1, 3))
	for says, options := range map[string][]onnx.RunOption{
		`no output "past"; it has present`:                   {onnx.Into("past", right)},
		`memory for output "present" is nil`:                 {onnx.Into("present", nil)},
		`memory for output "present" is named twice`:         {same(), same()},
		`memory for output "present" has been released`:      {onnx.Into("present", gone)},
		`memory for output "present" is not on the session`:  {onnx.Into("present", held(t)(tensor.New(other, layout.Float32, 2, 5, 3)))},
		`is float[2,5,3]; the memory for it is float[2,6,3]`: {onnx.Into("present", held(t)(tensor.New(s, layout.Float32, 2, 6, 3)))},
		`is float[2,5,3]; the memory for it is int32[2,5,3]`: {onnx.Into("present", held(t)(tensor.New(s, layout.Int32, 2, 5, 3)))},
		`has elements that share positions`:                  {onnx.Into("present", held(t)(row.Expand(2, 5, 3)))},
	} {
		live := s.Device().Stats().Live
		out, err := sess.Run(t.Context(), in, options...)
		require.Nil(t, out)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, says)
		require.Equal(t, live, s.Device().Stats().Live)
	}
	out := run(t, sess, in)
	require.Len(t, valuesOf[float32](t, out, "present"), 30)
}

// TestTwoOutputsInOneMemory: they may share a buffer, but no elements.
func TestTwoOutputsInOneMemory(t *testing.T) {
	s := open(t)
	m := model.New("swap", 21)
	m.Graph.Inputs = []model.ValueInfo{input("a", layout.Int32), input("b", layout.Int32)}
	m.Graph.Outputs = outputs("c", "d")
	m.Graph.Nodes = []model.Node{node("Identity", "c", []string{"a"}), node("Identity", "d", []string{"b"})}
	sess := session(t, s, m)
	both := held(t)(tensor.FromSlice(s, []int32{1, 2, 3, 4}, 2, 2))
	a, b := held(t)(both.Slice(0, 0, 1, 1)), held(t)(both.Slice(0, 1, 2, 1))
	out := run(t, sess, onnx.Values{"a": a, "b": b})
	require.Equal(t, []int32{1, 2}, valuesOf[int32](t, out, "c"))
	_, err := sess.Run(t.Context(), onnx.Values{"a": a, "b": b}, onnx.Into("c", a), onnx.Into("d", a))
	require.ErrorContains(t, err, `memory for output "d" overlaps that for output "c"`)
	out, err = sess.Run(t.Context(), onnx.Values{"a": a, "b": b}, onnx.Into("c", b), onnx.Into("d", a))
	require.NoError(t, err)
	require.NoError(t, out.Release())
	got, err := tensor.Values[int32](both)
	require.NoError(t, err)
	require.Equal(t, []int32{3, 4, 1, 2}, got)
}

// A node without outputs has none in the caller's memory. What its nodes do not write there is
// copied, and reported as no node of the file.
func TestBugIntoBesideNodeWithoutOutputs(t *testing.T) {
	s := open(t)
	m := graphOf(layout.Float32, model.Node{OpType: "Mystery", Inputs: []string{"x"}}, node("Transpose", "y", []string{"x"}))
	sess, err := onnx.NewSession(s, m, onnx.WithOperators(lone{op: "Mystery", is: &onnx.Operator{Run: func(*onnx.Call) error { return nil }}}))
	require.NoError(t, err)
	defer func() { require.NoError(t, sess.Close()) }()
	var last onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) { last = n })
	x, y := held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4}, 2, 2)), held(t)(tensor.New(s, layout.Float32, 2, 2))
	out, err := sess.Run(t.Context(), onnx.Values{"x": x}, onnx.Into("y", y))
	require.NoError(t, err)
	require.NoError(t, out.Release())
	got, err := tensor.Values[float32](y)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 3, 2, 4}, got)
	require.Equal(t, -1, last.Index)
	require.Equal(t, "Into", last.Op)
}

const side = 4

// squares is a random model of matrices of one shape, whose values may be each other's
// memory.
func squares(t *testing.T, rng *rand.Rand) *model.Model {
	m := model.New("squares", 24)
	values := []string{"a", "b", "c"}
	for _, name := range values {
		m.Graph.Inputs = append(m.Graph.Inputs, input(name, layout.Int32))
	}
	for i := range int64(side) {
		m.Graph.Initializers = append(m.Graph.Initializers, constant(t, fmt.Sprint("at", i), []int64{i}))
	}
	m.Graph.Initializers = append(m.Graph.Initializers, constant(t, "axis", []int64{1}), constant(t, "starts", []int64{0}), constant(t, "stops", []int64{side}))
	add := func(op, out string, in []string, attrs ...model.Attr) string {
		m.Graph.Nodes = append(m.Graph.Nodes, node(op, out, in, attrs...))
		return out
	}
	one := func() string { return values[rng.IntN(len(values))] }
	for i := range 2 + rng.IntN(5) {
		name := fmt.Sprint("v", i)
		part := func(end, v, from, to string) string { return add("Slice", name+end, []string{v, from, to, "axis"}) }
		switch rng.IntN(7) {
		case 0:
			add("Transpose", name, []string{one()})
		case 1:
			add("Identity", name, []string{one()})
		case 2:
			cut := fmt.Sprint("at", 1+rng.IntN(side-1))
			add("Concat", name, []string{part("l", one(), "starts", cut), part("r", one(), cut, "stops")}, onnx.Int("axis", 1))
		case 3:
			k := rng.IntN(side - 1)
			column := part("c", one(), fmt.Sprint("at", k), fmt.Sprint("at", k+1))
			add("TensorScatter", name, []string{one(), column}, onnx.Int("axis", 1))
		case 4:
			add("ScatterElements", name, []string{one(), "order", one()}, onnx.Int("axis", 1)) // rows of order have no index twice
		case 5:
			half := part("h", one(), "starts", "at2")
			add("Concat", name, []string{half, half}, onnx.Int("axis", 1))
		case 6: // the inner one is not made
			inner := add("Concat", name+"i", []string{part("l", one(), "at1", "at2"), part("m", one(), "starts", "at1")}, onnx.Int("axis", 1))
			add("Concat", name, []string{inner, part("r", one(), "at2", "stops")}, onnx.Int("axis", 1))
		}
		values = append(values, name)
	}
	order := make([]int32, 0, side*side)
	for range side {
		for _, i := range rng.Perm(side) {
			order = append(order, int32(i))
		}
	}
	t32 := constant(t, "order", order)
	t32.Dims = layout.Shape{side, side}
	m.Graph.Initializers = append(m.Graph.Initializers, t32)
	rng.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	m.Graph.Outputs = outputs(values[:1+rng.IntN(3)]...)
	return m
}

// TestRandomMemoryForOutputs has outputs written over inputs, views of inputs and each other's
// sources, and compares them with those of a run that owns all memory.
func TestRandomMemoryForOutputs(t *testing.T) {
	s := open(t)
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 99))
		m := squares(t, rng)
		sess, err := onnx.NewSession(s, m)
		require.NoError(t, err)
		start := make([]int32, 3*side*side)
		for i := range start {
			start[i] = int32(i)
		}
		feed := func() (whole *tensor.Tensor, in onnx.Values) {
			whole, err := tensor.FromSlice(s, start, 3, side, side)
			require.NoError(t, err)
			in = onnx.Values{}
			for i, name := range []string{"a", "b", "c"} {
				x, err := whole.Slice(0, int64(i), int64(i)+1, 1)
				require.NoError(t, err)
				in[name], err = x.Reshape(side, side)
				require.NoError(t, err)
				require.NoError(t, x.Release())
			}
			return whole, in
		}
		whole, in := feed()
		want, err := sess.Run(t.Context(), in)
		require.NoError(t, err)
		own, in2 := feed()
		var options []onnx.RunOption
		memory := []string{"a", "b", "c"}
		rng.Shuffle(3, func(i, j int) { memory[i], memory[j] = memory[j], memory[i] })
		for i, out := range m.Graph.Outputs {
			x := in2[memory[i]].(*tensor.Tensor)
			if rng.IntN(3) == 0 {
				x, err = x.Transpose()
			} else {
				x, err = x.Alias()
			}
			require.NoError(t, err)
			defer x.Release()
			if rng.IntN(4) > 0 {
				options = append(options, onnx.Into(out.Name, x))
			}
		}
		if rng.IntN(2) == 0 {
			in2[memory[0]] = onnx.Donate(in2[memory[0]].(*tensor.Tensor))
		}
		got, err := sess.Run(t.Context(), in2, options...)
		require.NoError(t, err, "seed %d", seed)
		for _, out := range m.Graph.Outputs {
			require.Equal(t, valuesOf[int32](t, want, out.Name), valuesOf[int32](t, got, out.Name), "seed %d: %s of %v", seed, out.Name, m.Graph.Nodes)
		}
		for _, v := range []onnx.Values{in, in2, want, got} {
			require.NoError(t, v.Release())
		}
		require.NoError(t, whole.Release())
		require.NoError(t, own.Release())
		require.NoError(t, sess.Close())
	}
}

// TestBugIntoOverHeldElements: a node does not write to the caller's memory while sequences, or
// values that are not assembled yet, refer to elements there.
func TestBugIntoOverHeldElements(t *testing.T) {
	s := open(t)
	graph := func(nodes ...model.Node) *model.Model {
		m := graphOf(layout.Float32, append(nodes, node("Concat", "y", []string{"b", "b"}, onnx.Int("axis", 0)), node("Shape", "four", []string{"y"}))...)
		m.Graph.Inputs = append(m.Graph.Inputs, input("b", layout.Float32))
		m.Graph.Outputs = outputs("y", "z")
		return m
	}
	list := graph(node("SequenceConstruct", "z", []string{"x"}))
	held := graph(node("SequenceConstruct", "s", []string{"x"}))
	held.Graph.Nodes = append(held.Graph.Nodes, node("Sub", "first", []string{"four", "four"}), node("SequenceAt", "z", []string{"s", "first"}))
	later := graph(node("Concat", "t", []string{"x", "x"}, onnx.Int("axis", 0)))
	later.Graph.Nodes = append(later.Graph.Nodes, node("Concat", "z", []string{"t", "x"}, onnx.Int("axis", 0)))
	for name, m := range map[string]*model.Model{"an output": list, "a sequence": held, "pending": later} {
		t.Run(name, func(t *testing.T) {
			x, err := tensor.FromSlice(s, []float32{1, 2, 3, 4}, 4)
			require.NoError(t, err)
			b, err := tensor.FromSlice(s, []float32{7, 8}, 2)
			require.NoError(t, err)
			defer func() { require.NoError(t, errors.Join(x.Release(), b.Release())) }()
			out := run(t, session(t, s, m), onnx.Values{"x": x, "b": b}, onnx.Into("y", x))
			require.Equal(t, []float32{7, 8, 7, 8}, valuesOf[float32](t, out, "y"))
			if seq, ok := out["z"].(*onnx.Sequence); ok {
				out["z"] = seq.Items[0]
			}
			require.Equal(t, []float32{1, 2, 3, 4}, valuesOf[float32](t, out, "z")[:4])
		})
	}
}
