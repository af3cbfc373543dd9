package onnx_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// local returns a node that calls a function of the model.
func local(op string, outputs, inputs []string, attrs ...model.Attr) model.Node {
	n := model.NewNode(op, inputs, outputs, attrs...)
	n.Name, n.Domain = outputs[0], "local"
	return n
}

// function returns a function of the model, of opset 21.
func function(name string, inputs, outputs []string, nodes ...model.Node) model.Function {
	return model.Function{Domain: "local", Name: name, Inputs: inputs, Outputs: outputs, Nodes: nodes, Opsets: map[string]int64{"": 21}}
}

func ref(name, of, kind string) model.Attr { return model.Attr{Name: name, Ref: of, RefKind: kind} }

// withFunctions is graphOf with functions.
func withFunctions(x layout.DType, functions []model.Function, nodes ...model.Node) *model.Model {
	m := graphOf(x, nodes...)
	m.Opsets["local"] = 1
	m.Functions = functions
	return m
}

// TestFunctions: functions in functions, attributes handed on, replaced and left out, names
// that are taken outside, omitted inputs and outputs, and inputs that are outputs.
func TestFunctions(t *testing.T) {
	turn := function("Turn", []string{"y"}, []string{"x"}, node("Transpose", "x", []string{"y"}, ref("perm", "order", "ints")))
	turn.Attrs = []string{"order"}
	both := function("Both", []string{"a", "b"}, []string{"a", "flat", "unused"},
		local("Turn", []string{"t"}, []string{"a"}, ref("order", "order", "ints")),
		node("Flatten", "flat", []string{"t"}, ref("axis", "axis", "int")),
		node("Identity", "unused", []string{"t"}))
	both.Attrs, both.Defaults = []string{"order"}, onnx.Attrs{onnx.Int("axis", 0)}
	m := withFunctions(layout.Float32, []model.Function{turn, both},
		local("Both", []string{"same", "t"}, []string{"x"}, onnx.Ints("order", 1, 0)),
		local("Both", []string{"", "b"}, []string{"same", ""}, onnx.Int("axis", 1)),
		node("Identity", "c", []string{"b"}),
		local("Turn", []string{"y"}, []string{"c"}))
	m.Graph.Outputs = outputs("y", "t", "same")
	s := open(t)
	sess := session(t, s, m)
	var graphs []string
	sess.OnNode(func(n onnx.NodeReport) { graphs = append(graphs, n.Graph+": "+n.Op) })
	x := held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3))
	before := s.Device().Stats()
	out := run(t, sess, onnx.Values{"x": x})
	require.Equal(t, []float32{1, 4, 2, 5, 3, 6}, valuesOf[float32](t, out, "t"))
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, valuesOf[float32](t, out, "same"))
	y, err := out.Tensor("y")
	require.NoError(t, err)
	require.Equal(t, layout.Shape{2, 3}, y.Shape(), "perm was left out: the axes are reversed, twice")
	require.Equal(t, int64(24), s.Device().Stats().DeviceToDevice-before.DeviceToDevice, "the Flatten to [1,6] is the only copy")
	require.Contains(t, graphs, `node 0 (Both "same") > node 0 (Turn "t"): Transpose-21`)
	require.Contains(t, graphs, `node 0 (Both "same"): Identity-25`)
}

// TestFunctionOpsets: the operators of a function are those of the opsets that it imports.
func TestFunctionOpsets(t *testing.T) {
	old := function("Old", []string{"v"}, []string{"w"}, node("Squeeze", "w", []string{"v"}, onnx.Ints("axes", 0)))
	old.Opsets = map[string]int64{"ai.onnx": 11}
	m := withFunctions(layout.Float32, []model.Function{old}, local("Old", []string{"a"}, []string{"x"}), node("Squeeze", "y", []string{"a", "axes"}))
	m.Graph.Initializers = []model.Tensor{constant(t, "axes", []int64{0})}
	s := open(t)
	out := run(t, session(t, s, m), onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 1, 1, 2))})
	y, err := out.Tensor("y")
	require.NoError(t, err)
	require.Equal(t, layout.Shape{2}, y.Shape())

	m.Functions[0].Opsets = map[string]int64{"": 13}
	refused(t, m, device.ErrInvalid, `node 0 (Old "a") > node 0 (Squeeze "w"): Squeeze-13: attribute "axes" does not belong to this version`)
}

// TestFunctionShapes: shapes that a function computes are known on the host, and its
// constants are folded.
func TestFunctionShapes(t *testing.T) {
	rows := function("Rows", []string{"v", "n"}, []string{"w"},
		node("Shape", "shape", []string{"v"}),
		node("ReduceProd", "all", []string{"shape"}, onnx.Int("keepdims", 1)),
		node("Div", "each", []string{"all", "n"}),
		node("Concat", "to", []string{"n", "each"}, onnx.Int("axis", 0)),
		node("Reshape", "w", []string{"v", "to"}))
	m := withFunctions(layout.Float32, []model.Function{rows}, local("Rows", []string{"y"}, []string{"x", "three"}))
	m.Graph.Initializers = []model.Tensor{constant(t, "three", []int64{3})}
	s, _ := openFake(t)
	sess := session(t, s, m)
	_, down, _ := transfers(t, s, sess, onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 4, 3))})
	require.Zero(t, down)
}

// TestFunctionWithGraphs: names in graphs of a function's nodes are apart from those around
// its calls, and functions are called there.
func TestFunctionWithGraphs(t *testing.T) {
	turn := function("Turn", []string{"v"}, []string{"w"}, node("Transpose", "w", []string{"v"}))
	choose := function("Choose", []string{"c", "v"}, []string{"w"},
		node("Identity", "kept", []string{"v"}),
		node("If", "w", []string{"c"},
			bodyOf("then_branch", []string{"x"}, local("Turn", []string{"x"}, []string{"kept"})),
			bodyOf("else_branch", []string{"y"}, node("Identity", "a", []string{"v"}), node("Identity", "y", []string{"a"}))))
	m := withFunctions(layout.Float32, []model.Function{turn, choose},
		local("Choose", []string{"a"}, []string{"c", "x"}),
		local("Choose", []string{"y"}, []string{"c", "a"}))
	m.Graph.Inputs = append(m.Graph.Inputs, input("c", layout.Bool))
	m.Graph.Outputs = outputs("a", "y")
	s := open(t)
	sess := session(t, s, m)
	x := held(t)(tensor.New(s, layout.Float32, 2, 3))
	for c, want := range map[bool]string{true: "[3,2] [2,3]", false: "[2,3] [2,3]"} {
		out := run(t, sess, onnx.Values{"x": x, "c": held(t)(tensor.FromSlice(s, []bool{c}, []int64{}...))})
		a, err := out.Tensor("a")
		require.NoError(t, err)
		y, err := out.Tensor("y")
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprint(a.Shape(), y.Shape()))
	}
}

// TestFunctionNames: a graph that a caller hands on keeps the caller's names, and new names
// are apart from those of the graph.
func TestFunctionNames(t *testing.T) {
	pick := function("Pick", []string{"c", "v"}, []string{"w"}, node("Transpose", "x", []string{"v"}),
		node("If", "w", []string{"c"}, ref("then_branch", "one", "graph"), bodyOf("else_branch", []string{"x"})))
	pick.Attrs = []string{"one"}
	taken := `node 1 (Pick "y").x`
	m := withFunctions(layout.Float32, []model.Function{pick},
		node("Flatten", taken, []string{"x"}),
		local("Pick", []string{"y"}, []string{"c", "x"}, bodyOf("one", []string{"z"}, node("Identity", "z", []string{"x"}))))
	m.Graph.Inputs = append(m.Graph.Inputs, input("c", layout.Bool))
	m.Graph.Outputs = outputs("y", taken)
	s := open(t)
	sess := session(t, s, m)
	for c, want := range map[bool]string{true: "[2,3] [2,3]", false: "[3,2] [2,3]"} {
		out := run(t, sess, onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 2, 3)), "c": scalarOf(t, c)})
		y, err := out.Tensor("y")
		require.NoError(t, err)
		z, err := out.Tensor(taken)
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprint(y.Shape(), z.Shape()))
	}
}

// TestFunctionsRefuse: what is wrong with a call or a function is an error at load.
func TestFunctionsRefuse(t *testing.T) {
	id := function("F", []string{"v"}, []string{"w"}, node("Identity", "w", []string{"v"}))
	call := func(f model.Function, n model.Node) *model.Model {
		return withFunctions(layout.Float32, []model.Function{f}, n)
	}
	plain := local("F", []string{"y"}, []string{"x"})
	cast := function("F", []string{"v"}, []string{"w"}, node("Cast", "w", []string{"v"}, ref("to", "as", "int")))
	for says, m := range map[string]*model.Model{
		"2 inputs are given; local.F takes 1":            call(id, local("F", []string{"y"}, []string{"x", "x"})),
		"it has 2 outputs; local.F makes 1":              call(id, local("F", []string{"y", "z"}, []string{"x"})),
		`local.F has no attribute "axis"`:                call(id, local("F", []string{"y"}, []string{"x"}, onnx.Int("axis", 1))),
		`attribute "as" of local.F is of kind string; i`: call(cast, local("F", []string{"y"}, []string{"x"}, model.Attr{Name: "as", Value: "float"})),
		"attribute to is missing":                        call(cast, plain),
		"input 1 of local.F has no name of its own":      call(function("F", []string{"v", "v"}, []string{"w"}), plain),
		"output 0 of local.F is an input that is left":   call(function("F", []string{"v", "u"}, []string{"u"}), plain),
		`nothing makes its input "node 0 (F \"y\").x"`:   call(function("F", []string{"v"}, []string{"w"}, node("Identity", "w", []string{"x"})), plain),
		`nothing makes its output "y"`:                   call(function("F", []string{"v"}, []string{"w"}), plain),
		`waits for its own output`:                       call(function("F", []string{"v"}, []string{"w"}, node("Identity", "w", []string{"u"}), node("Identity", "u", []string{"w"})), plain),
	} {
		t.Run(says, func(t *testing.T) { refused(t, m, device.ErrInvalid, says) })
	}
	refused(t, call(function("F", []string{"v"}, []string{"w"}, local("F", []string{"w"}, []string{"v"})), plain), device.ErrUnsupported, "or themselves")

	// Each function calls the next one twice: 2^30 nodes.
	var fs []model.Function
	for i := range 30 {
		next := fmt.Sprint("F", i+1)
		fs = append(fs, function(fmt.Sprint("F", i), []string{"v"}, []string{"w"}, local(next, []string{"u"}, []string{"v"}), local(next, []string{"w"}, []string{"u"})))
	}
	fs = append(fs, function("F30", []string{"v"}, []string{"w"}, node("Identity", "w", []string{"v"})))
	refused(t, withFunctions(layout.Float32, fs, local("F0", []string{"y"}, []string{"x"})), device.ErrUnsupported, "functions of the model become more than")
}

// TestFunctionsAndEngines: an engine is asked for a function first, and then for its nodes.
func TestFunctionsAndEngines(t *testing.T) {
	mix := func(output string, inputs ...string) model.Node {
		n := node("Mix", output, inputs)
		n.Domain = "test"
		return n
	}
	m := withFunctions(layout.Int64, []model.Function{function("F", []string{"v"}, []string{"w"}, mix("u", "v"), node("Transpose", "t", []string{"u"}), mix("w", "t", "t"))},
		mix("a", "x"), local("F", []string{"y"}, []string{"a"}))
	m.Opsets["test"] = 1
	engine := &mixer{}
	s := open(t)
	sess := sessionWith(t, s, m, engine)
	require.ElementsMatch(t, [][]string{{"a", "u"}, {"w"}}, engine.groups, "a group has nodes of the graph and of the function")
	out := run(t, sess, onnx.Values{"x": held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2))})
	require.Equal(t, []int64{3, 9, 6, 12}, valuesOf[int64](t, out, "y"))

	m.Functions[0].Opsets = map[string]int64{"": 20}
	engine = &mixer{}
	out = run(t, sessionWith(t, s, m, engine), onnx.Values{"x": held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2))})
	require.Equal(t, [][]string{{"a"}}, engine.groups, "a group is of one opset")
	require.Equal(t, []int64{3, 9, 6, 12}, valuesOf[int64](t, out, "y"))
}

// TestBugFunctionsInGraphsGrow: the limit of nodes also holds for functions that call each other
// in graphs, and for graphs that callers hand on.
func TestBugFunctionsInGraphsGrow(t *testing.T) {
	var calls, hands []model.Function
	for i := range 30 {
		next := fmt.Sprint("F", i+1)
		branch := func(name string) model.Attr {
			return bodyOf(name, []string{"w"}, local(next, []string{"u"}, []string{"v", "c"}), local(next, []string{"w"}, []string{"u", "c"}))
		}
		calls = append(calls, function(fmt.Sprint("F", i), []string{"v", "c"}, []string{"w"}, node("If", "w", []string{"c"}, branch("then_branch"), branch("else_branch"))))
		twice := node("If", "z", []string{"c"}, ref("then_branch", "one", "graph"), ref("else_branch", "one", "graph"))
		hands = append(hands, function(fmt.Sprint("F", i), []string{"v", "c"}, []string{"w"}, local(next, []string{"w"}, []string{"v", "c"}, bodyOf("one", []string{"z"}, twice))))
	}
	calls = append(calls, function("F30", []string{"v", "c"}, []string{"w"}, node("Identity", "w", []string{"v"})))
	hands = append(hands, function("F30", []string{"v", "c"}, []string{"w"}, node("If", "w", []string{"c"}, ref("then_branch", "one", "graph"), ref("else_branch", "one", "graph"))))
	last := bodyOf("one", []string{"z"}, node("Identity", "z", []string{"x"}))
	for _, m := range []*model.Model{
		withFunctions(layout.Float32, calls, local("F0", []string{"y"}, []string{"x", "c"})),
		withFunctions(layout.Float32, hands, local("F0", []string{"y"}, []string{"x", "c"}, last)),
	} {
		m.Graph.Inputs = append(m.Graph.Inputs, input("c", layout.Bool))
		refused(t, m, device.ErrUnsupported, "functions of the model become more than")
	}
}
