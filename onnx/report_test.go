package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// TestReports: each node says what it did, where, and why.
func TestReports(t *testing.T) {
	s, _ := openFake(t)
	m := model.New("reports", 21)
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Float32)}
	m.Graph.Initializers = []model.Tensor{constant(t, "one", []int64{1}), constant(t, "two", []int64{2}), constant(t, "flat", []int64{-1})}
	m.Graph.Nodes = []model.Node{
		node("Identity", "same", []string{"x"}),
		node("Reshape", "flattened", []string{"x", "flat"}),
		node("Transpose", "turned", []string{"x"}),
		node("Slice", "window", []string{"x", "one", "two"}),
		node("Reshape", "copied", []string{"turned", "flat"}),
		node("Shape", "shape", []string{"x"}),
		node("Slice", "rows", []string{"shape", "one", "two"}),
		node("Constant", "shape of y", nil, onnx.Ints("value_ints", 3, 2)),
		node("Reshape", "y", []string{"x", "shape of y"}),
		node("Constant", "data", nil, onnx.Attr{Name: "value_floats", Value: []float32{1, 2}}),
		node("Identity", "z", []string{"data"}),
	}
	m.Graph.Nodes[0].Name = ""
	m.Graph.Outputs = outputs("same", "flattened", "turned", "window", "copied", "rows", "y", "z")
	sess := session(t, s, m)
	x := held(t)(tensor.FromSlice(s, make([]float32, 6), 2, 3))
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) {
		n.Verdict.Kernel = ""
		reports[n.Output] = n
	})
	run(t, sess, onnx.Values{"x": x})
	view, copied := tensor.Verdict{}, tensor.Verdict{Kind: tensor.Copy, Bytes: 24}
	loaded := func(bytes int64) tensor.Verdict { return tensor.Verdict{Kind: tensor.Transfer, Bytes: bytes} }
	float, long := layout.Float32, layout.Int64
	want := []onnx.NodeReport{
		{0, "", "Identity-21", "same", float, layout.Shape{2, 3}, view, false, "nothing changes", 0, ""},
		{1, "flattened", "Reshape-21", "flattened", float, layout.Shape{6}, view, false, "contiguous: only the extents change", 0, ""},
		{2, "turned", "Transpose-21", "turned", float, layout.Shape{3, 2}, view, false, "strides [1,3] over the same elements", 0, ""},
		{3, "window", "Slice-13", "window", float, layout.Shape{1, 3}, view, false, "a window: offset 3, strides [3,1]", 0, ""},
		{4, "copied", "Reshape-21", "copied", float, layout.Shape{6}, copied, false, "no strides over [3,2]:{1,3}+0 make it [6]", 0, ""},
		{5, "shape", "Shape-21", "shape", long, layout.Shape{2}, view, true, "worked out from the shape: no element is read", 0, ""},
		{6, "rows", "Slice-13", "rows", long, layout.Shape{1}, view, true, "a window: offset 1, strides [1]", 0, ""},
		{7, "shape of y", "Constant-21", "shape of y", long, layout.Shape{2}, loaded(16), true, "a constant: loaded once, with the session", 0, ""},
		{8, "y", "Reshape-21", "y", float, layout.Shape{3, 2}, view, false, "contiguous: only the extents change", 0, ""},
		{9, "data", "Constant-21", "data", float, layout.Shape{2}, loaded(8), false, "a constant: loaded once, with the session", 0, ""},
		{10, "z", "Identity-21", "z", float, layout.Shape{2}, view, false, "nothing changes", 0, ""},
	}
	require.Len(t, reports, len(want))
	for _, n := range want {
		require.Equal(t, n, reports[n.Output])
	}
	sess.OnNode(nil)
	clear(reports)
	run(t, sess, onnx.Values{"x": x})
	require.Empty(t, reports)
}

// Once a Constant of a session on the cpu was said to be beside it when it was
// on the session's own stream.
func TestReportOfAConstantOnTheCPU(t *testing.T) {
	s := open(t)
	m := shapeModel(layout.Float32, node("Constant", "shape", nil, onnx.Ints("value_ints", 3, 2)))
	sess := session(t, s, m)
	var host []bool
	sess.OnNode(func(n onnx.NodeReport) { host = append(host, n.Host) })
	run(t, sess, onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 6))})
	require.Equal(t, []bool{false, false}, host)
}
