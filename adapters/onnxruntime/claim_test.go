package onnxruntime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// TestBugClaimedText: nodes that read or make text stay the session's, since text cannot leave a
// group.
func TestBugClaimedText(t *testing.T) {
	s, engine := openOn(t, "cpu"), newEngine(t)
	strings := func(out onnx.Values) []string {
		x, err := out.Tensor("y")
		require.NoError(t, err)
		v, err := tensor.Values[string](x)
		require.NoError(t, err)
		return v
	}
	x := input(t, s, layout.Float32, []float32{1, -2}, 2)

	cast := modelOf(list("x"), list("y"),
		node("Relu", list("x"), list("a")),
		node("Cast", list("a"), list("b"), onnx.Int("to", int64(layout.String))),
		node("Identity", list("b"), list("y")))
	cast.Graph.Inputs[0].Type = model.TensorOf(layout.Float32, model.Known(2))
	require.Equal(t, []string{"1.0", "0.0"}, strings(run(t, newSession(t, s, cast, engine), onnx.Values{"x": x})))

	chosen := modelOf(list("x", "p", "q"), list("y"),
		node("Relu", list("x"), list("a")),
		node("IsNaN", list("a"), list("c")),
		node("Where", list("c", "p", "q"), list("y")))
	for i, of := range []layout.DType{layout.Float32, layout.String, layout.String} {
		chosen.Graph.Inputs[i].Type = model.TensorOf(of, model.Known(2))
	}
	p := held(t)(tensor.FromSlice(s, []string{"p", "p"}, 2))
	q := held(t)(tensor.FromSlice(s, []string{"q", "q"}, 2))
	require.Equal(t, []string{"q", "q"}, strings(run(t, newSession(t, s, chosen, engine), onnx.Values{"x": x, "p": p, "q": q})))
}

// TestBugClaimsOfUnknownTypes: ONNX Runtime lacks Where of int16. Behind a value of unknown type
// it would say so only in a run.
func TestBugClaimsOfUnknownTypes(t *testing.T) {
	s := openOn(t, "cpu")
	for _, start := range [][]model.Node{
		{node("Relu", list("x"), list("a")), node("BitCast", list("a"), list("b"), onnx.Int("to", int64(layout.Float32)))},
		{node("Split", list("x"), list("b"), onnx.Int("num_outputs", 1))}, // the type of b follows
	} {
		m := modelOf(list("x", "k"), list("y"), append(start,
			node("Relu", list("b"), list("c")),
			node("Cast", list("c"), list("d"), onnx.Int("to", int64(layout.Int16))),
			node("Where", list("k", "d", "d"), list("e")),
			node("Cast", list("e"), list("f"), onnx.Int("to", int64(layout.Float32))),
			node("Relu", list("f"), list("y")))...)
		m.Opsets[""] = 26
		for i, of := range []layout.DType{layout.Float32, layout.Bool} {
			m.Graph.Inputs[i].Type = model.TensorOf(of, model.Known(2))
		}
		k := held(t)(tensor.FromSlice(s, []bool{true, false}, 2))
		out := run(t, newSession(t, s, m, newEngine(t)), onnx.Values{"x": input(t, s, layout.Float32, []float32{3, -2}, 2), "k": k})
		require.Equal(t, []float32{3, 0}, floats(t, out, "y", layout.Float32, 2))
	}
}

// TestBugClaimedCasts: casts that ONNX Runtime computes differently stay the session's.
func TestBugClaimedCasts(t *testing.T) {
	s, engine := openOn(t, "cpu"), newEngine(t)
	x := input(t, s, layout.Float32, []float32{.5, 1.5, 2.5}, 3)
	for _, cast := range []model.Node{
		node("Cast", list("a"), list("b"), onnx.Int("to", int64(layout.Int4))),
		node("Cast", list("a"), list("b"), onnx.Int("to", int64(layout.Uint4))),
		node("CastLike", list("a", "like"), list("b")),
	} {
		m := modelOf(list("x"), list("y"),
			node("Relu", list("x"), list("a")), cast,
			node("Cast", list("b"), list("c"), onnx.Int("to", int64(layout.Float32))),
			node("Relu", list("c"), list("y")))
		m.Opsets[""], m.Graph.Inputs[0].Type = 21, model.TensorOf(layout.Float32, model.Known(3))
		m.Graph.Initializers = []model.Tensor{{Name: "like", Type: layout.Int4, Dims: layout.Shape{2}, Data: []byte{0}}}
		out := run(t, newSession(t, s, m, engine), onnx.Values{"x": x})
		require.Equal(t, []float32{0, 2, 2}, floats(t, out, "y", layout.Float32, 3), cast.OpType)
	}
}
