package onnx_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// shapeByInt32 is arithmetic on a shape as exporters write it: by way of int32.
func shapeByInt32(tb testing.TB) *model.Model {
	tb.Helper()
	m := graphOf(layout.Float32,
		node("Shape", "s", []string{"x"}),
		node("Cast", "s32", []string{"s"}, onnx.Int("to", 6)),
		node("Slice", "b", []string{"s32", "zero", "one"}),
		node("Concat", "to32", []string{"b", "rest"}, onnx.Int("axis", 0)),
		node("Cast", "to", []string{"to32"}, onnx.Int("to", 7)),
		node("Reshape", "y", []string{"x", "to"}),
	)
	m.Graph.Inputs[0].Type = model.TensorOf(layout.Float32, model.Symbolic("batch"), model.Known(4), model.Known(5))
	m.Graph.Initializers = []model.Tensor{constant(tb, "zero", []int64{0}), constant(tb, "one", []int64{1}), constant(tb, "rest", []int32{20})}
	return m
}

// What is worked out on the host stays there, whatever value_info declares of it.
func TestBugValueInfoMovesShapes(t *testing.T) {
	s := open(t)
	m := shapeByInt32(t)
	without, err := onnx.Explain(s, m, onnx.Assumptions{})
	require.NoError(t, err)
	vector := func(name string, t layout.DType, n int64) model.ValueInfo {
		return model.ValueInfo{Name: name, Type: model.TensorOf(t, model.Known(n))}
	}
	m.Graph.ValueInfo = []model.ValueInfo{
		vector("s", layout.Int64, 3), vector("s32", layout.Int32, 3), vector("b", layout.Int32, 1), vector("to32", layout.Int32, 2), vector("to", layout.Int64, 2),
	}
	with, err := onnx.Explain(s, m, onnx.Assumptions{})
	require.NoError(t, err)
	for i, want := range []onnx.Outcome{onnx.IsHost, onnx.IsHost, onnx.IsHost, onnx.IsHost, onnx.IsHost, onnx.IsView} {
		require.Equal(t, want, without.Nodes[i].Outcome, i)
		require.Equal(t, want, with.Nodes[i].Outcome, i)
	}
	require.Zero(t, with.Totals.Bytes)
	require.Equal(t, "int32[2]", with.Nodes[3].Outputs[0].Type, "the type is told")
}

// informed is a copy of a model whose inputs have unknown extents, and the types of what a run
// made.
func informed(m model.Model, rng *rand.Rand, ran map[int]onnx.NodeReport) (without, with *model.Model) {
	graph := *m.Graph
	graph.Inputs = slices.Clone(graph.Inputs)
	for i := range graph.Inputs {
		in := &graph.Inputs[i].Type
		in.Dims = slices.Clone(in.Dims)
		for k := range in.Dims {
			if rng.IntN(2) == 0 {
				in.Dims[k] = model.Symbolic("")
			}
		}
	}
	less, more := m, m
	less.Graph = &graph
	known := graph
	more.Graph = &known
	for _, n := range ran {
		for _, made := range append([]onnx.OutputInfo{n.OutputInfo}, n.More...) {
			if made.Output == "" || made.Shape == nil {
				continue
			}
			dims := make([]model.Dim, len(made.Shape))
			for i, d := range made.Shape {
				dims[i] = model.Known(d)
			}
			known.ValueInfo = append(known.ValueInfo, model.ValueInfo{Name: made.Output, Type: model.TensorOf(made.Type, dims...)})
		}
	}
	return &less, &more
}

// ofNothing reports whether an operand or a result of a node has no elements: less than the
// operator does in general is done then.
func ofNothing(m *model.Model, n onnx.Explained) bool {
	for _, list := range [][]model.ValueInfo{m.Graph.Inputs, m.Graph.ValueInfo} {
		for _, v := range list {
			shape, ok := v.Type.Shape()
			count, err := shape.Count()
			made := slices.ContainsFunc(n.Outputs, func(out onnx.Typed) bool { return out.Name == v.Name })
			if ok && err == nil && count == 0 && (made || slices.Contains(n.Inputs, v.Name)) {
				return true
			}
		}
	}
	return false
}

// Of random graphs, with inputs of unknown extents: value_info changes no verdict, but that it
// makes "view unless" certain.
func TestValueInfoChangesNoVerdict(t *testing.T) {
	certain := 0
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 34))
		g := randomGraph(rng, 5+rng.IntN(20))
		s, _ := openFake(t)
		sess := session(t, s, g.Model)
		ran := map[int]onnx.NodeReport{}
		sess.OnNode(func(n onnx.NodeReport) { ran[n.Index] = n })
		run(t, sess, feed(t, s, g, rng, views[:1]))
		less, more := informed(*g.Model, rng, ran)
		without, err := onnx.Explain(s, less, onnx.Assumptions{})
		require.NoError(t, err, "seed %d", seed)
		with, err := onnx.Explain(s, more, onnx.Assumptions{})
		require.NoError(t, err, "seed %d", seed)
		for i, n := range with.Nodes {
			was, did := without.Nodes[i].Outcome, ran[n.Index].Outcome()
			if n.Outcome == was || ofNothing(more, n) {
				continue
			}
			certain++
			require.Equal(t, onnx.ViewUnless, was, "seed %d, node %d %s: %s with value_info, and a run %s", seed, n.Index, n.Op, n.Outcome, did)
			require.Equal(t, did, n.Outcome, "seed %d, node %d %s with value_info", seed, n.Index, n.Op)
		}
	}
	require.NotZero(t, certain, "value_info tells of nothing")
}
