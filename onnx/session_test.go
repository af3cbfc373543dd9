package onnx_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// chain is a graph x -> Transpose -> ... -> y with n nodes, in order.
func chain(n int) *model.Model {
	m := model.New("chain", 21)
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Float32)}
	m.Graph.Outputs = outputs("y")
	from := "x"
	for i := range n {
		to := fmt.Sprint("v", i)
		if i == n-1 {
			to = "y"
		}
		m.Graph.Nodes = append(m.Graph.Nodes, node("Transpose", to, []string{from}))
		from = to
	}
	return m
}

// Once found only when the node ran.
func TestRequiredInputLeftOut(t *testing.T) {
	m := model.New("m", 21)
	m.Graph.Inputs = []model.ValueInfo{input("shape", layout.Int64)}
	m.Graph.Outputs = outputs("y")
	m.Graph.Nodes = []model.Node{node("Reshape", "y", []string{"", "shape"})}
	refused(t, m, device.ErrInvalid, `node 0 (Reshape "y") leaves out input 0, which Reshape-21 must have`)
}

func TestOpsets(t *testing.T) {
	for v, says := range map[int64]string{0: "the first is 1", 29: "the newest known here is 28", -5: "the first is 1"} {
		m := chain(2)
		m.Opsets[""] = v
		kind := device.ErrInvalid
		if v > 0 {
			kind = device.ErrUnsupported
		}
		refused(t, m, kind, says)
	}
	m := chain(2)
	m.Opsets = map[string]int64{"com.example": 1}
	refused(t, m, device.ErrInvalid, "imports no opset of ONNX's own operators")
	m.Graph.Nodes, m.Graph.Outputs = nil, outputs("x")
	session(t, open(t), m) // no nodes need no opset
}

// TestInputs: names, types, ranks and extents are checked against the
// declaration, as far as that goes.
func TestInputs(t *testing.T) {
	s := open(t)
	m := chain(1)
	m.Graph.Inputs[0].Type = model.TensorOf(layout.Float32, model.Known(2), model.Symbolic("n"))
	sess := session(t, s, m)
	require.Equal(t, m.Graph.Inputs, sess.Inputs())
	require.Equal(t, m.Graph.Outputs, sess.Outputs())
	good := held(t)(tensor.New(s, layout.Float32, 2, 5))
	run(t, sess, onnx.Values{"x": good})
	run(t, sess, onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 2, 0))})
	for _, c := range []struct {
		in   onnx.Values
		says string
	}{
		{nil, `input "x" is missing`},
		{onnx.Values{"x": nil}, `input "x" is missing`},
		{onnx.Values{"x": (*tensor.Tensor)(nil)}, `input "x" is missing`},
		{onnx.Values{"x": good, "z": good}, `the graph has no input "z"; it has x`},
		{onnx.Values{"x": good, "y": good}, `the graph has no input "y"`},
		{onnx.Values{"x": held(t)(tensor.New(s, layout.Int32, 2, 5))}, `input "x" is int32[2,5]; the graph declares float[2,n]`},
		{onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 2))}, `input "x" is float[2]; the graph declares float[2,n]`},
		{onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 3, 5))}, `input "x" is float[3,5]; the graph declares float[2,n]`},
		{onnx.Values{"x": odd{}}, "the graph declares float[2,n]"},
	} {
		_, err := sess.Run(t.Context(), c.in)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	// Without a declared type, anything goes that the node takes.
	m = chain(1)
	m.Graph.Inputs[0].Type = model.Type{}
	sess = session(t, s, m)
	run(t, sess, onnx.Values{"x": held(t)(tensor.New(s, layout.String, 1))})
	_, err := sess.Run(t.Context(), onnx.Values{"x": odd{}})
	require.ErrorIs(t, err, device.ErrInvalid)
}

// odd is a Value that is none of ONNX's.
type odd struct{}

func (odd) Release() error { return nil }

// TestDefaults: an initializer that is an input too is its default.
func TestDefaults(t *testing.T) {
	s := open(t)
	m := model.New("defaults", 21)
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Float32), input("shape", layout.Int64)}
	m.Graph.Initializers = []model.Tensor{constant(t, "shape", []int64{3, 2})}
	m.Graph.Outputs = outputs("y", "shape")
	m.Graph.Nodes = []model.Node{node("Reshape", "y", []string{"x", "shape"})}
	sess := session(t, s, m)
	require.Len(t, sess.Inputs(), 1)
	x := held(t)(tensor.New(s, layout.Float32, 6))
	for _, c := range []struct {
		in    onnx.Values
		shape []int64
	}{
		{onnx.Values{"x": x}, []int64{3, 2}},
		{onnx.Values{"x": x, "shape": nil}, []int64{3, 2}},
		{onnx.Values{"x": x, "shape": ints(t, s, 1, 6, 1)}, []int64{1, 6, 1}},
		{onnx.Values{"x": x}, []int64{3, 2}},
	} {
		out := run(t, sess, c.in)
		y, err := out.Tensor("y")
		require.NoError(t, err)
		require.EqualValues(t, c.shape, y.Shape())
		require.Equal(t, c.shape, valuesOf[int64](t, out, "shape"))
	}
	_, err := sess.Run(t.Context(), onnx.Values{"x": x, "shape": x})
	require.ErrorContains(t, err, `input "shape" is float[6]; the graph declares int64`)
}

// TestOutputs: inputs, initializers and constants may be outputs, and each is a
// reference of its own.
func TestOutputs(t *testing.T) {
	s := open(t)
	m := model.New("outputs", 21)
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Float32)}
	m.Graph.Initializers = []model.Tensor{constant(t, "w", []int64{7})}
	m.Graph.Outputs = outputs("x", "w", "c", "y", "z")
	m.Graph.Nodes = []model.Node{
		node("Constant", "c", nil, onnx.Ints("value_ints", 8)),
		node("Identity", "y", []string{"x"}),
		node("Transpose", "z", []string{"y"}), // y is an output and an input
		node("Shape", "unused", []string{"z"}),
		node("Identity", "unused too", []string{"x"}),
	}
	sess := session(t, s, m)
	x := held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4}, 2, 2))
	first, err := sess.Run(t.Context(), onnx.Values{"x": x})
	require.NoError(t, err)
	second := run(t, sess, onnx.Values{"x": x})
	require.Len(t, first, 5)
	require.NoError(t, first.Release())
	require.Equal(t, []float32{1, 2, 3, 4}, valuesOf[float32](t, second, "x"))
	require.Equal(t, []float32{1, 3, 2, 4}, valuesOf[float32](t, second, "z"))
	require.Equal(t, []int64{7}, valuesOf[int64](t, second, "w"))
	require.Equal(t, []int64{8}, valuesOf[int64](t, second, "c"))
	// They outlive the session.
	require.NoError(t, sess.Close())
	require.Equal(t, []int64{7}, valuesOf[int64](t, second, "w"))
}

// Outputs that are inputs or constants are views, traced as an identity's.
func TestTraceOfOutputsThatNoNodeMakes(t *testing.T) {
	s := open(t)
	m := model.New("none", 21)
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Float32)}
	m.Graph.Initializers = []model.Tensor{constant(t, "c", []int64{8})}
	m.Graph.Outputs = outputs("x", "c")
	sess := session(t, s, m)
	x := held(t)(tensor.FromSlice(s, []float32{1, 2}, 2))
	var seen []string
	s.Trace(func(e tensor.Event) { seen = append(seen, fmt.Sprint(e.Op, " ", e.Type, " ", e.Verdict.Kind)) })
	run(t, sess, onnx.Values{"x": x})
	s.Trace(nil)
	require.Equal(t, []string{"Identity float view", "Identity int64 view"}, seen)
}

func TestNoNodes(t *testing.T) {
	s := open(t)
	m := model.New("none", 21)
	sess := session(t, s, m)
	require.Empty(t, run(t, sess, nil))
	require.Empty(t, sess.Inputs())
	_, err := sess.Run(t.Context(), onnx.Values{"x": ints(t, s, 1)})
	require.ErrorContains(t, err, `the graph has no input "x"`)
}

// TestOneValueTwice: a value may be both inputs of a node.
func TestOneValueTwice(t *testing.T) {
	s := open(t)
	m := model.New("twice", 21)
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Int64)}
	m.Graph.Outputs = outputs("y", "z")
	m.Graph.Nodes = []model.Node{
		node("Reshape", "z", []string{"mid", "mid"}),
		node("Identity", "mid", []string{"x"}),
		node("Reshape", "y", []string{"x", "x"}),
	}
	sess := session(t, s, m)
	out := run(t, sess, onnx.Values{"x": ints(t, s, 1, 2)})
	for _, name := range []string{"y", "z"} {
		y, err := out.Tensor(name)
		require.NoError(t, err)
		require.Equal(t, "[1,2]", y.Shape().String())
	}
}

// TestOptionalInputs: an empty name is an optional input left out.
func TestOptionalInputs(t *testing.T) {
	s := open(t)
	m := model.New("optional", 21)
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Float32)}
	m.Graph.Initializers = []model.Tensor{constant(t, "from", []int64{2}), constant(t, "to", []int64{-100}), constant(t, "step", []int64{-1})}
	m.Graph.Outputs = outputs("y", "z")
	m.Graph.Nodes = []model.Node{
		node("Slice", "y", []string{"x", "from", "to", "", "step"}),
		{OpType: "Squeeze", Inputs: []string{"x", ""}, Outputs: []string{"z", ""}},
	}
	sess := session(t, s, m)
	out := run(t, sess, onnx.Values{"x": held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4}, 4, 1))})
	require.Equal(t, []float32{3, 2, 1}, valuesOf[float32](t, out, "y"))
	require.Equal(t, []float32{1, 2, 3, 4}, valuesOf[float32](t, out, "z"))
}

// Once what a graph made was handed out whatever its output was declared as.
func TestOutputsThatAreNotAsDeclared(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.FromSlice(s, []float32{1, 2}, 1, 2))
	for _, c := range []struct {
		typ  model.Type
		says string
	}{
		{model.Type{Kind: model.TensorType, Elem: layout.Int64}, `output "y" is float[2,1]; the graph declares int64`},
		{model.OptionalOf(model.Type{Kind: model.TensorType, Elem: layout.Float32}), "declares optional(float)"},
		{model.TensorOf(layout.Int64, model.Known(2), model.Known(1)), "declares int64[2,1]"},
		// Extents are not compared.
		{model.TensorOf(layout.Float32, model.Known(1), model.Symbolic("N")), ""},
		{model.TensorOf(layout.Float32), ""},
		{model.Type{Kind: model.TensorType}, ""},
		{model.Type{}, ""},
	} {
		m := chain(3)
		m.Graph.Outputs = append(outputs("x", "v1"), model.ValueInfo{Name: "y", Type: c.typ})
		sess := session(t, s, m)
		out, err := sess.Run(context.Background(), onnx.Values{"x": x})
		if c.says == "" {
			require.NoError(t, err)
			require.NoError(t, out.Release())
			continue
		}
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
		require.Nil(t, out)
	}
}
