package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// branching is a model with an If in an If: y is x turned, its rows, or x flat.
func branching(tb testing.TB) *model.Model {
	m := graphOf(layout.Float32,
		node("If", "y", []string{"turn"},
			bodyOf("then_branch", []string{"a"}, node("Transpose", "a", []string{"x"})),
			bodyOf("else_branch", []string{"b"}, node("If", "b", []string{"flat"},
				bodyOf("then_branch", []string{"c"}, node("Reshape", "c", []string{"x", "to"})),
				bodyOf("else_branch", []string{"x"})))))
	m.Graph.Inputs = append(m.Graph.Inputs, input("turn", layout.Bool), input("flat", layout.Bool))
	m.Graph.Initializers = []model.Tensor{constant(tb, "to", []int64{-1})}
	return m
}

func TestIf(t *testing.T) {
	s := open(t)
	sess := session(t, s, branching(t))
	x := held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3))
	truth := func(v bool) *tensor.Tensor {
		return held(t)(tensor.FromSlice(s, []bool{v}, make([]int64, 0, 1)...))
	}
	for _, c := range []struct {
		turn, flat bool
		want       layout.Shape
		graph      string
	}{
		{true, false, layout.Shape{3, 2}, `node 0 (If "y").then_branch`},
		{false, true, layout.Shape{6}, `node 0 (If "y").else_branch > node 0 (If "b").then_branch`},
		{false, false, layout.Shape{2, 3}, `node 0 (If "y").else_branch`},
	} {
		var graphs []string
		sess.OnNode(func(n onnx.NodeReport) { graphs = append(graphs, n.Graph) })
		before := s.Device().Stats()
		out := run(t, sess, onnx.Values{"x": x, "turn": truth(c.turn), "flat": truth(c.flat)})
		y, err := out.Tensor("y")
		require.NoError(t, err)
		require.Equal(t, c.want, y.Shape())
		require.Equal(t, c.graph, graphs[0])
		require.Equal(t, "", graphs[len(graphs)-1], "the If itself")
		require.Equal(t, before.DeviceToDevice, s.Device().Stats().DeviceToDevice)
		require.Equal(t, x.Buffer(), y.Buffer())
	}

	_, err := sess.Run(t.Context(), onnx.Values{"x": x, "turn": held(t)(tensor.New(s, layout.Bool, 2)), "flat": truth(true)})
	require.ErrorIs(t, err, device.ErrInvalid)
	require.ErrorContains(t, err, "the condition is bool[2]; it must be one bool")
}

// TestIfOfShapes: a shape that is known around an If is not read from the device in it.
func TestIfOfShapes(t *testing.T) {
	s, _ := openFake(t)
	sess := session(t, s, branching(t))
	x := held(t)(tensor.New(s, layout.Float32, 2, 3))
	no := held(t)(tensor.FromSlice(tensor.Host(), []bool{false}, 1))
	yes := held(t)(tensor.FromSlice(tensor.Host(), []bool{true}, 1))
	_, down, _ := transfers(t, s, sess, onnx.Values{"x": x, "turn": no, "flat": yes})
	require.Zero(t, down)

	p, err := sess.Plan(map[string]layout.Shape{"x": {2, 3}}, onnx.Values{"turn": no, "flat": yes})
	require.NoError(t, err)
	require.Zero(t, p.Copies)
	_, err = sess.Plan(map[string]layout.Shape{"x": {2, 3}, "turn": {}, "flat": {}}, nil)
	require.ErrorIs(t, err, device.ErrUnsupported)
}

// TestIfOfConstants: what an If chooses among, to be a shape, is not on the device.
func TestIfOfConstants(t *testing.T) {
	branch := func(attr string, to ...int64) model.Attr {
		b := bodyOf(attr, []string{attr})
		b.Value.(*model.Graph).Initializers = []model.Tensor{constant(t, attr, to)}
		return b
	}
	m := graphOf(layout.Float32,
		node("If", "to", []string{"c"}, branch("then_branch", -1), branch("else_branch", 3, 2)),
		node("Reshape", "y", []string{"x", "to"}))
	m.Graph.Inputs = append(m.Graph.Inputs, input("c", layout.Bool))
	s, _ := openFake(t)
	sess := session(t, s, m)
	x := held(t)(tensor.New(s, layout.Float32, 2, 3))
	_, down, _ := transfers(t, s, sess, onnx.Values{"x": x, "c": scalarOf(t, false)})
	require.Zero(t, down)
}

func TestIfRefuses(t *testing.T) {
	then := bodyOf("then_branch", []string{"a"}, node("Identity", "a", []string{"x"}))
	for says, m := range map[string]*model.Model{
		"attribute else_branch is missing":            graphOf(layout.Float32, node("If", "y", []string{"x"}, then)),
		"else_branch has 0 outputs; the node needs 1": graphOf(layout.Float32, node("If", "y", []string{"x"}, then, bodyOf("else_branch", nil))),
		`nothing makes its input "nowhere"`: graphOf(layout.Float32, node("If", "y", []string{"x"}, then,
			bodyOf("else_branch", []string{"b"}, node("Identity", "b", []string{"nowhere"})))),
		`0 inputs are given; it takes 1`: graphOf(layout.Float32, node("If", "y", nil, bodyOf("then_branch", []string{"x"}), bodyOf("else_branch", []string{"x"}))),
	} {
		refused(t, m, device.ErrInvalid, says)
	}
	m := graphOf(layout.Float32, node("If", "y", []string{"x"}, then, bodyOf("else_branch", []string{"b"}, node("Conv", "b", []string{"x"}))), node("Relu", "z", []string{"y"}))
	refused(t, m, device.ErrUnsupported, "not supported: Conv, Relu")
}
