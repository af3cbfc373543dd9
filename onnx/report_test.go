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
		n.Verdict.Class, n.Verdict.Kernel = "", ""
		reports[n.Output] = n
	})
	run(t, sess, onnx.Values{"x": x})
	view, copied := tensor.Verdict{}, tensor.Verdict{Kind: tensor.Copy, Bytes: 24}
	loaded := func(bytes int64) tensor.Verdict { return tensor.Verdict{Kind: tensor.Transfer, Bytes: bytes} }
	float, long := layout.Float32, layout.Int64
	want := []onnx.NodeReport{
		{Index: 0, Name: "", Op: "Identity-21", OutputInfo: onnx.OutputInfo{Output: "same", Type: float, Shape: layout.Shape{2, 3}}, Verdict: view, Why: "nothing changes"},
		{Index: 1, Name: "flattened", Op: "Reshape-21", OutputInfo: onnx.OutputInfo{Output: "flattened", Type: float, Shape: layout.Shape{6}}, Verdict: view, Why: "contiguous: only the extents change"},
		{Index: 2, Name: "turned", Op: "Transpose-21", OutputInfo: onnx.OutputInfo{Output: "turned", Type: float, Shape: layout.Shape{3, 2}}, Verdict: view, Why: "strides [1,3] over the same elements"},
		{Index: 3, Name: "window", Op: "Slice-13", OutputInfo: onnx.OutputInfo{Output: "window", Type: float, Shape: layout.Shape{1, 3}}, Verdict: view, Why: "a window: offset 3, strides [3,1]"},
		{Index: 4, Name: "copied", Op: "Reshape-21", OutputInfo: onnx.OutputInfo{Output: "copied", Type: float, Shape: layout.Shape{6}}, Verdict: copied, Why: "no strides over [3,2]:{1,3}+0 make it [6]"},
		{Index: 5, Name: "shape", Op: "Shape-21", OutputInfo: onnx.OutputInfo{Output: "shape", Type: long, Shape: layout.Shape{2}}, Verdict: view, Host: true, Why: "worked out from the shape: no element is read"},
		{Index: 6, Name: "rows", Op: "Slice-13", OutputInfo: onnx.OutputInfo{Output: "rows", Type: long, Shape: layout.Shape{1}}, Verdict: view, Host: true, Why: "a window: offset 1, strides [1]"},
		{Index: 7, Name: "shape of y", Op: "Constant-21", OutputInfo: onnx.OutputInfo{Output: "shape of y", Type: long, Shape: layout.Shape{2}}, Verdict: loaded(16), Host: true, Why: "a constant: loaded once, with the session"},
		{Index: 8, Name: "y", Op: "Reshape-21", OutputInfo: onnx.OutputInfo{Output: "y", Type: float, Shape: layout.Shape{3, 2}}, Verdict: view, Why: "contiguous: only the extents change"},
		{Index: 9, Name: "data", Op: "Constant-21", OutputInfo: onnx.OutputInfo{Output: "data", Type: float, Shape: layout.Shape{2}}, Verdict: loaded(8), Why: "a constant: loaded once, with the session"},
		{Index: 10, Name: "z", Op: "Identity-21", OutputInfo: onnx.OutputInfo{Output: "z", Type: float, Shape: layout.Shape{2}}, Verdict: loaded(0), Why: "of constants alone: worked out once, with the session"},
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

// A Constant that tells a shape is on the host beside the session, which has a
// cpu device of its own.
func TestReportOfAConstantOnTheCPU(t *testing.T) {
	s := open(t)
	m := shapeModel(layout.Float32, node("Constant", "shape", nil, onnx.Ints("value_ints", 3, 2)))
	sess := session(t, s, m)
	var host []bool
	sess.OnNode(func(n onnx.NodeReport) { host = append(host, n.Host) })
	run(t, sess, onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 6))})
	require.Equal(t, []bool{true, false}, host)
}

// What strings need of the device is read from there, and the report says so.
func TestReportsOfStrings(t *testing.T) {
	s, dev := openFake(t)
	m := graphOf(layout.Int32,
		node("Cast", "words", []string{"x"}, onnx.Int("to", int64(layout.String))),
		node("Gather", "y", []string{"words", "x"}))
	sess := session(t, s, m)
	var reports []onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) { reports = append(reports, n) })
	x := held(t)(tensor.FromSlice(s, []int32{2, 0, 0}))
	before := dev.Stats().DeviceToHost
	out := run(t, sess, onnx.Values{"x": x})
	require.Equal(t, []string{"0", "2", "2"}, valuesOf[string](t, out, "y"))
	require.EqualValues(t, 24, dev.Stats().DeviceToHost-before)
	for _, n := range reports {
		require.EqualValues(t, 12, n.Read, n.Op)
		require.True(t, n.Host, n.Op)
		require.Contains(t, n.Why, "; 12 bytes of operands were read from the device: strings are on the host")
	}
}

// TestReportsOfRepeatsAndCuts: what is no part of another's output says why it is a view
// or a copy.
func TestReportsOfRepeatsAndCuts(t *testing.T) {
	s, _ := openFake(t)
	split := model.NewNode("Split", []string{"x"}, []string{"top", "", "bottom"}, onnx.Int("axis", 1))
	split.Name = "cut"
	m := graphOf(layout.Float32,
		node("Tile", "tiled", []string{"x", "repeats"}),
		node("Tile", "same", []string{"x", "once"}),
		node("DepthToSpace", "wide", []string{"x"}, onnx.Int("blocksize", 2)),
		node("SpaceToDepth", "deep", []string{"x"}, onnx.Int("blocksize", 1)),
		node("Expand", "more", []string{"x", "shape"}),
		node("ConstantOfShape", "zeros", []string{"shape"}),
		node("ConstantOfShape", "none", []string{"empty"}),
		split,
	)
	m.Opsets[""] = 13
	m.Graph.Initializers = []model.Tensor{constant(t, "repeats", []int64{1, 1, 2, 1}), constant(t, "once", []int64{1, 1, 1, 1}),
		constant(t, "shape", []int64{2, 12, 1, 1}), constant(t, "empty", []int64{0, 7})}
	m.Graph.Outputs = outputs("tiled", "same", "wide", "deep", "more", "zeros", "none", "top", "bottom")
	sess := session(t, s, m)
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	x := numbered(layout.Float32, 1, 12, 2, 1)
	out := run(t, sess, onnx.Values{"x": upload(t, x, s, layout.Float32)})
	for name, want := range map[string]struct {
		kind  tensor.Kind
		bytes int64
		why   string
	}{
		"tiled": {tensor.Copy, 192, "no strides over [1,12,2,1]:{24,2,1,1}+0 make it [1,12,4,1]"},
		"same":  {tensor.View, 0, "nothing changes"},
		"wide":  {tensor.Copy, 96, "no strides over [1,12,2,1]:{24,2,1,1}+0 make it [1,3,4,2]"},
		"deep":  {tensor.View, 0, "nothing changes"},
		"more":  {tensor.View, 0, "strides [0,2,1,1] over the same elements"},
		"zeros": {tensor.Copy, 96, "new elements, all of one value"},
		"none":  {tensor.View, 0, "worked out from the shape: no element is read"},
		"top":   {tensor.View, 0, "contiguous: only the extents change"},
	} {
		n := reports[name]
		require.Equal(t, want.kind, n.Kind, name)
		require.Equal(t, want.bytes, n.Bytes, name)
		require.Equal(t, want.why, n.Why, name)
		require.False(t, n.Host || n.Elided, name)
	}
	require.Len(t, reports["top"].More, 2)
	require.Equal(t, onnx.OutputInfo{Output: "bottom", Type: layout.Float32, Shape: layout.Shape{1, 4, 2, 1}}, reports["top"].More[1])
	y, err := out.Tensor("bottom")
	require.NoError(t, err)
	same(t, layout.Float32, x.Window(1, 8, 12), y)
}
