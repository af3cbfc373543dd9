package onnx_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// convolved is a model of an engine's operators with layout between them: what follows
// Conv has a declared type, what follows com.example.Mix has none.
func convolved(tb testing.TB) *model.Model {
	m := model.New("convolved", 17)
	m.Opsets["com.example"] = 3
	batch := model.Symbolic("batch")
	m.Graph.Inputs = []model.ValueInfo{{Name: "x", Type: model.TensorOf(layout.Float32, batch, model.Known(3), model.Known(8), model.Known(8))}}
	m.Graph.Initializers = []model.Tensor{
		constant(tb, "w", make([]float32, 9)), constant(tb, "flat", []int64{0, -1}), constant(tb, "two", []int64{2}),
	}
	mix := node("Mix", "mixed", []string{"relu"})
	mix.Domain = "com.example"
	m.Graph.Nodes = []model.Node{
		node("Conv", "conv", []string{"x", "w"}),                                    // 0
		node("Relu", "relu", []string{"conv"}),                                      // 1
		node("Transpose", "moved", []string{"relu"}, onnx.Ints("perm", 0, 2, 3, 1)), // 2
		node("Reshape", "rows", []string{"moved", "flat"}),                          // 3
		node("Shape", "shape", []string{"conv"}),                                    // 4
		node("Mul", "double", []string{"shape", "two"}),                             // 5
		mix, // 6
		node("Transpose", "turned", []string{"mixed"}),                        // 7
		node("Reshape", "y", []string{"turned", "flat"}),                      // 8
		node("Flatten", "z", []string{"mixed"}),                               // 9
		node("Concat", "c", []string{"turned", "mixed"}, onnx.Int("axis", 0)), // 10
	}
	m.Graph.ValueInfo = []model.ValueInfo{{Name: "conv", Type: model.TensorOf(layout.Float32, batch, model.Known(16), model.Known(4), model.Known(4))}}
	m.Graph.Outputs = outputs("rows", "double", "y", "z", "c")
	return m
}

// outcomes writes node, outcome, bytes, ONNX Runtime's bytes and type of each node.
func outcomes(e *onnx.Explanation) []string {
	var list []string
	for _, n := range e.Nodes {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s: %s %d %d %s", n.Graph, n.Op, n.Outcome, n.Bytes, n.Runtime, n.Outputs[0].Type)))
	}
	return list
}

func TestExplain(t *testing.T) {
	s := open(t)
	e, err := onnx.Explain(s, convolved(t), onnx.Assumptions{})
	require.NoError(t, err)
	require.Equal(t, []string{
		"Conv-17: foreign 0 0 float[batch,16,4,4]",
		"Relu-17: foreign 0 0 float[batch,16,4,4]",
		"Transpose-13: view 0 -1 float[batch,4,4,16]",
		"Reshape-14: view unless -1 0 float[batch,256]",
		"Shape-15: host 0 0 int64[4]",
		"Mul-14: host 0 0 int64[4]",
		"com.example.Mix-3: foreign 0 0 ?",
		"Transpose-13: view 0 -1 ?",
		"Reshape-14: view unless -1 0 ?[?,?]",
		"Flatten-13: view 0 0 ?[?,?]",
		"Concat-13: copy -1 -1 ?",
	}, outcomes(e))
	require.Equal(t, onnx.Totals{Nodes: 11, Foreign: 3, Views: 3, Unless: 2, Copies: 1, Host: 2, Uncounted: 3, RuntimeUncounted: 3}, e.Totals)

	e, err = onnx.Explain(s, convolved(t), onnx.Assumptions{Dims: map[string]int64{"batch": 2}, Shapes: map[string]layout.Shape{"mixed": {5, 7}}})
	require.NoError(t, err)
	require.Equal(t, []string{
		"Conv-17: foreign 0 0 float[2,16,4,4]",
		"Relu-17: foreign 0 0 float[2,16,4,4]",
		"Transpose-13: view 0 2048 float[2,4,4,16]", // 2*4*4*16 floats
		"Reshape-14: copy 2048 0 float[2,256]",
		"Shape-15: host 0 0 int64[4]",
		"Mul-14: host 0 0 int64[4]",
		"com.example.Mix-3: foreign 0 0 ?[5,7]", // of what type is not known
		"Transpose-13: view 0 -1 ?[7,5]",
		"Reshape-14: view unless -1 0 ?[7,5]",
		"Flatten-13: view 0 0 ?[5,7]",
		"Concat-13: copy -1 -1 ?[12,?]", // 7 and 5 contradict each other,
	}, outcomes(e))

	// The shape of the input says what its names are.
	e, err = onnx.Explain(s, convolved(t), onnx.Assumptions{Shapes: map[string]layout.Shape{"x": {3, 3, 8, 8}}})
	require.NoError(t, err)
	require.Equal(t, "Reshape-14: copy 3072 0 float[3,256]", outcomes(e)[3])
	require.Equal(t, int64(3072), e.Totals.Bytes)
	require.Equal(t, int64(3072), e.Totals.Runtime)

	for says, given := range map[string]onnx.Assumptions{
		`has no value "nothing"`:        {Shapes: map[string]layout.Shape{"nothing": {1}}},
		`input "x" cannot be [1]`:       {Shapes: map[string]layout.Shape{"x": {1}}},
		`value "mixed"`:                 {Shapes: map[string]layout.Shape{"mixed": {1 << 40, 1 << 40}}},
		`input "x" cannot be [2,4,8,8]`: {Shapes: map[string]layout.Shape{"x": {2, 4, 8, 8}}},
	} {
		_, err := onnx.Explain(s, convolved(t), given)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, says)
	}
	_, err = onnx.Explain(nil, convolved(t), onnx.Assumptions{})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = onnx.Explain(s, nil, onnx.Assumptions{})
	require.ErrorIs(t, err, device.ErrInvalid)
}

// TestExplainAgreesWithRun: of a model that a session runs, the outcome and bytes of each
// node are those of a run.
func TestExplainAgreesWithRun(t *testing.T) {
	s := open(t)
	m := attention(t, 4, 8)
	e, err := onnx.Explain(s, m, onnx.Assumptions{Shapes: map[string]layout.Shape{"x": {2, 5, 32}}})
	require.NoError(t, err)
	sess := session(t, s, m)
	x := held(t)(numbered(layout.Float32, 2, 5, 32).Upload(s, layout.Float32))
	i := 0
	sess.OnNode(func(n onnx.NodeReport) {
		require.Equal(t, n.Op, e.Nodes[i].Op)
		require.Equal(t, n.Outcome(), e.Nodes[i].Outcome, n.Op)
		require.Equal(t, n.Bytes, e.Nodes[i].Bytes, n.Op)
		require.Equal(t, n.Why, e.Nodes[i].Why)
		require.Equal(t, n.TypeString(), e.Nodes[i].Outputs[0].Type)
		i++
	})
	run(t, sess, onnx.Values{"x": x})
	require.Equal(t, len(e.Nodes), i)
}

// bodyOf is a graph for an attribute.
func bodyOf(name string, outs []string, nodes ...model.Node) model.Attr {
	return model.Attr{Name: name, Value: &model.Graph{Name: name, Nodes: nodes, Outputs: outputs(outs...)}}
}

// TestExplainBodies: graphs in nodes see the values around them, and are explained.
func TestExplainBodies(t *testing.T) {
	m := model.New("bodies", 17)
	m.Graph.Inputs = []model.ValueInfo{
		{Name: "x", Type: model.TensorOf(layout.Float32, model.Known(2), model.Known(3))},
		{Name: "c", Type: model.TensorOf(layout.Bool)},
	}
	loop := bodyOf("body", []string{"go_on", "next"},
		node("Identity", "go_on", []string{"cond"}),
		node("Reshape", "next", []string{"x", "as"}))
	loop.Value.(*model.Graph).Inputs = []model.ValueInfo{{Name: "i"}, {Name: "cond"}, {Name: "state"}}
	m.Graph.Initializers = []model.Tensor{constant(t, "as", []int64{6})}
	m.Graph.Nodes = []model.Node{
		node("If", "picked", []string{"c"},
			bodyOf("then_branch", []string{"a"}, node("Transpose", "a", []string{"x"})),
			bodyOf("else_branch", []string{"b"}, node("Reshape", "b", []string{"x", "to"}), node("If", "deep", []string{"c"},
				bodyOf("then_branch", []string{"e"}, node("Identity", "e", []string{"x"})),
				bodyOf("else_branch", []string{"f"}, node("Identity", "f", []string{"x"}))))),
		node("Transpose", "back", []string{"picked"}),
		node("Loop", "y", []string{"", "", "x"}, loop),
	}
	m.Graph.Initializers = append(m.Graph.Initializers, constant(t, "to", []int64{3, 2}))
	m.Graph.Outputs = outputs("back", "y")
	s := open(t)
	e, err := onnx.Explain(s, m, onnx.Assumptions{})
	require.NoError(t, err)
	inside := `node 0 (If "picked").`
	require.Equal(t, []string{
		"If-17: view 0 0 float[3,2]",
		inside + "then_branch Transpose-13: view 0 24 float[3,2]",
		inside + "else_branch Reshape-14: view 0 0 float[3,2]",
		inside + "else_branch If-17: view 0 0 float[2,3]",
		inside + `else_branch > node 1 (If "deep").then_branch Identity-16: view 0 0 float[2,3]`,
		inside + `else_branch > node 1 (If "deep").else_branch Identity-16: view 0 0 float[2,3]`,
		"Transpose-13: view 0 24 float[2,3]",
		"Loop-17: view 0 0 ?",
		`node 2 (Loop "y").body Identity-16: host 0 0 bool[]`,
		`node 2 (Loop "y").body Reshape-14: view 0 0 float[6]`,
	}, outcomes(e))
}

// TestExplainFunctions: the nodes of functions are explained, of one named like an operator
// too.
func TestExplainFunctions(t *testing.T) {
	mine := node("Mine", "a", []string{"x"})
	mine.Domain = "local"
	m := graphOf(layout.Float32, mine, node("Flatten", "b", []string{"a"}), node("Transpose", "y", []string{"b"}))
	m.Opsets["local"] = 1
	m.Functions = []model.Function{
		{Domain: "local", Name: "Mine", Inputs: []string{"v"}, Outputs: []string{"w"}, Nodes: []model.Node{
			node("Relu", "u", []string{"v"}), node("Transpose", "w", []string{"u"})}},
		{Name: "Flatten", Inputs: []string{"v"}, Outputs: []string{"w"}, Nodes: []model.Node{node("Identity", "w", []string{"v"})}},
	}
	e, err := onnx.Explain(open(t), m, onnx.Assumptions{Shapes: map[string]layout.Shape{"x": {2, 3}}})
	require.NoError(t, err)
	require.Equal(t, []string{
		`node 0 (Mine "a") Relu-21: foreign 0 0 float[2,3]`,
		`node 0 (Mine "a") Transpose-21: view 0 24 float[3,2]`,
		`node 1 (Flatten "b") Identity-21: view 0 0 float[3,2]`,
		"Transpose-21: view 0 24 float[2,3]",
	}, outcomes(e))
}

// TestExplainWrong: a node that breaks a rule is told, and the others are explained.
func TestExplainWrong(t *testing.T) {
	s := open(t)
	m := graphOf(layout.Float32,
		node("Transpose", "a", []string{"x"}, onnx.Int("perm", 3)),
		node("Reshape", "b", []string{"x", "to"}),
		node("Identity", "y", []string{"b"}))
	m.Graph.Inputs[0].Type = model.TensorOf(layout.Float32, model.Known(5))
	m.Graph.Initializers = []model.Tensor{constant(t, "to", []int64{2, 3})}
	e, err := onnx.Explain(s, m, onnx.Assumptions{})
	require.NoError(t, err)
	require.Equal(t, onnx.IsWrong, e.Nodes[0].Outcome)
	require.Contains(t, e.Nodes[0].Why, `attribute "perm" is of kind int`)
	require.Equal(t, onnx.IsWrong, e.Nodes[1].Outcome)
	require.Contains(t, e.Nodes[1].Why, "cannot reshape [5] to [2,3]")
	require.Equal(t, 2, e.Totals.Wrong)

	m.Opsets[""] = 99
	e, err = onnx.Explain(s, m, onnx.Assumptions{})
	require.NoError(t, err)
	require.Contains(t, e.Nodes[2].Why, "the newest known here is 28")
}

// TestExplainHostile: what others wrote ends in an error or a table.
func TestExplainHostile(t *testing.T) {
	s := open(t)
	deep := bodyOf("then_branch", []string{"a"}, node("Identity", "a", []string{"x"}))
	for range 100 {
		deep = bodyOf("then_branch", []string{"a"}, node("If", "a", []string{"x"}, deep))
	}
	m := graphOf(layout.Float32, node("If", "y", []string{"x"}, deep))
	_, err := onnx.Explain(s, m, onnx.Assumptions{})
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "more than 32 deep")

	m = graphOf(layout.Float32, node("Conv", "y", []string{"x", "z"}), node("Conv", "z", []string{"y"}))
	_, err = onnx.Explain(s, m, onnx.Assumptions{})
	require.ErrorContains(t, err, "there is a cycle")

	m = graphOf(layout.Float32, node("If", "y", []string{"x"}, bodyOf("then_branch", []string{"a"}, node("Identity", "a", []string{"nowhere"}))))
	_, err = onnx.Explain(s, m, onnx.Assumptions{})
	require.ErrorContains(t, err, `nothing makes its input "nowhere"`)

	limitMemory(t, 1<<28)
	m = graphOf(layout.Float32, node("Range", "n", []string{"from", "to", "by"}), node("Reshape", "y", []string{"x", "n"}))
	for name, v := range map[string]int64{"from": 0, "to": 1 << 50, "by": 1} {
		m.Graph.Initializers = append(m.Graph.Initializers, constant(t, name, []int64{v}))
	}
	_, err = onnx.Explain(s, m, onnx.Assumptions{})
	require.ErrorIs(t, err, device.ErrOutOfMemory)

	m = graphOf(layout.Float32, node("Conv", "c", []string{"x"}), node("Transpose", "y", []string{"c"}))
	m.Graph.ValueInfo = []model.ValueInfo{{Name: "c", Type: model.TensorOf(layout.Float32, model.Known(1<<40), model.Known(1<<40))}}
	e, err := onnx.Explain(s, m, onnx.Assumptions{})
	require.NoError(t, err)
	require.Equal(t, 1, e.Totals.RuntimeUncounted)
}
