package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// TestFold: what nodes make of constants alone is worked out once, and the constants that
// it was made of are gone. What is larger than these, what a default is a part of, and what
// is wrong is left to runs.
func TestFold(t *testing.T) {
	s := open(t)
	m := graphOf(layout.Int64,
		node("Transpose", "turned", []string{"weights"}),
		node("Reshape", "flat", []string{"turned", "one axis"}),
		node("Tile", "tiled", []string{"weights", "twice"}),
		node("Concat", "with default", []string{"default", "weights"}, onnx.Int("axis", 0)),
		node("Add", "sum", []string{"twice", "twice"}),
		node("Where", "y", []string{"which", "x", "weights"}))
	m.Graph.Inputs = append(m.Graph.Inputs, input("default", layout.Int64), input("which", layout.Bool))
	four := fourOf(t, "weights", 3)
	m.Graph.Initializers = []model.Tensor{*four, *fourOf(t, "default", 1), constant(t, "one axis", []int64{-1}), constant(t, "twice", []int64{2, 1})}
	m.Graph.Outputs = outputs("flat", "tiled", "with default", "sum")
	sess := session(t, s, m)
	outcomes := map[string]onnx.Outcome{}
	sess.OnNode(func(n onnx.NodeReport) { outcomes[n.Output] = n.Outcome() })
	in := onnx.Values{
		"x":     held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2)),
		"which": held(t)(tensor.FromSlice(s, []bool{true}, 1)),
	}
	require.Equal(t, []int64{3, 3, 3, 3}, valuesOf[int64](t, run(t, sess, in), "flat"))
	require.Equal(t, []int64{4, 2}, valuesOf[int64](t, run(t, sess, in), "sum"))
	want := map[string]onnx.Outcome{
		"turned": onnx.IsConstant, "flat": onnx.IsConstant, "sum": onnx.IsConstant,
		"tiled": onnx.IsCopy, "with default": onnx.IsCopy, "y": onnx.IsCopy,
	}
	require.Equal(t, want, outcomes)
	p, err := sess.Plan(map[string]layout.Shape{"x": {2, 2}, "which": {1}}, nil)
	require.NoError(t, err)
	for _, n := range p.Nodes {
		require.Equal(t, want[n.Output], n.Outcome(), n.Output)
	}
	e, err := onnx.Explain(s, m, onnx.Assumptions{Shapes: map[string]layout.Shape{"x": {2, 2}, "which": {1}}})
	require.NoError(t, err)
	for _, n := range e.Nodes {
		require.Equal(t, want[n.Outputs[0].Name], n.Outcome, n.Op)
	}

	// Only the result is left of what it was made of.
	m = graphOf(layout.Int64, node("Transpose", "turned", []string{"weights"}), node("Reshape", "y", []string{"turned", "one axis"}))
	m.Graph.Initializers = []model.Tensor{*four, constant(t, "one axis", []int64{-1})}
	before := s.Device().Stats().Buffers
	session(t, s, m)
	require.Equal(t, before+1, s.Device().Stats().Buffers)

	wrong := graphOf(layout.Int64, node("Transpose", "y", []string{"weights"}, onnx.Ints("perm", 5)))
	wrong.Graph.Initializers = []model.Tensor{*four}
	_, err = session(t, s, wrong).Run(t.Context(), onnx.Values{"x": in["x"]})
	require.ErrorContains(t, err, `node 0 (Transpose "y")`)
}
