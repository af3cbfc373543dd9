package onnx_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// shapeModel reshapes x by what the nodes make of "shape".
func shapeModel(x layout.DType, nodes ...model.Node) *model.Model {
	return graphOf(x, append(nodes, node("Reshape", "y", []string{"x", "shape"}))...)
}

// transfers runs a session once on a fake device and returns how many times
// the run moved elements to and from it, and the bytes that came from it.
func transfers(t *testing.T, s *tensor.Stream, sess *onnx.Session, in onnx.Values) (up, down, bytes int64) {
	t.Helper()
	before := s.Device().Stats()
	out, err := sess.Run(t.Context(), in)
	require.NoError(t, err)
	after := s.Device().Stats()
	require.NoError(t, out.Release())
	return after.Uploads - before.Uploads, after.Downloads - before.Downloads, after.DeviceToHost - before.DeviceToHost
}

// TestShapesStayOnTheHost: whatever makes a shape but a tensor of the device,
// reading it is no transfer.
func TestShapesStayOnTheHost(t *testing.T) {
	slice := func(m *model.Model) {
		m.Graph.Initializers = append(m.Graph.Initializers, constant(t, "one", []int64{1}), constant(t, "two", []int64{2}))
	}
	for name, build := range map[string]func() *model.Model{
		"initializer": func() *model.Model {
			m := shapeModel(layout.Float32)
			m.Graph.Initializers = []model.Tensor{constant(t, "shape", []int64{3, 2})}
			return m
		},
		"Constant": func() *model.Model {
			return shapeModel(layout.Float32, node("Constant", "shape", nil, onnx.Ints("value_ints", 3, 2)))
		},
		"Shape": func() *model.Model {
			return shapeModel(layout.Float32, node("Shape", "shape", []string{"x"}))
		},
		"arithmetic on Shape": func() *model.Model {
			m := shapeModel(layout.Float32,
				node("Shape", "all", []string{"x"}),
				node("Slice", "some", []string{"all", "one", "two"}),
				node("Unsqueeze", "matrix", []string{"some", "one"}),
				node("Flatten", "flat", []string{"matrix"}, onnx.Int("axis", 0)),
				node("Squeeze", "vector", []string{"flat", "zero"}),
				node("Identity", "same", []string{"vector"}),
				node("Reshape", "shape", []string{"same", "minus"}))
			slice(m)
			m.Graph.Initializers = append(m.Graph.Initializers, constant(t, "zero", []int64{0}), constant(t, "minus", []int64{-1}))
			m.Graph.Nodes[len(m.Graph.Nodes)-1] = node("Unsqueeze", "y", []string{"x", "shape"})
			return m
		},
		"arithmetic on a constant": func() *model.Model {
			m := shapeModel(layout.Float32, node("Constant", "all", nil, onnx.Ints("value_ints", 9, 6, 9)),
				node("Slice", "shape", []string{"all", "one", "two"}))
			slice(m)
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := openFake(t)
			tensor.CheckLeaks(t, tensor.Host())
			sess := session(t, s, build())
			require.Zero(t, s.Device().Stats().Uploads, "constants are on the host")
			x := held(t)(tensor.FromSlice(s, make([]float32, 6), 3, 2))
			sess.OnNode(func(n onnx.NodeReport) { require.Zero(t, n.Read) })
			up, down, _ := transfers(t, s, sess, onnx.Values{"x": x})
			require.Zero(t, up)
			require.Zero(t, down)
		})
	}
}

// TestShapeOnTheDevice: a shape that the caller keeps on the device works, is
// one transfer, and is reported as such; on the host it is none.
func TestShapeOnTheDevice(t *testing.T) {
	s, _ := openFake(t)
	m := shapeModel(layout.Float32)
	m.Graph.Inputs = append(m.Graph.Inputs, input("shape", layout.Int64))
	sess := session(t, s, m)
	x := held(t)(tensor.FromSlice(s, make([]float32, 6)))
	var reports []onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) { reports = append(reports, n) })
	up, down, bytes := transfers(t, s, sess, onnx.Values{"x": x, "shape": ints(t, s, 3, 2)})
	require.Equal(t, []int64{0, 1, 16}, []int64{up, down, bytes})
	up, down, bytes = transfers(t, s, sess, onnx.Values{"x": x, "shape": ints(t, tensor.Host(), 3, 2)})
	require.Equal(t, []int64{0, 0, 0}, []int64{up, down, bytes})
	require.Len(t, reports, 2)
	require.EqualValues(t, 16, reports[0].Read)
	require.Contains(t, reports[0].Why, "16 bytes of shape or axes were read from the device")
	require.Zero(t, reports[1].Read)
	require.NotContains(t, reports[1].Why, "read from the device")
}

// TestConstantOnBothSides: what is data and shape both is on the device and on
// the host.
func TestConstantOnBothSides(t *testing.T) {
	for _, byNode := range []bool{false, true} {
		s, _ := openFake(t)
		tensor.CheckLeaks(t, tensor.Host())
		m := shapeModel(layout.Float32)
		if byNode {
			m.Graph.Nodes = append(m.Graph.Nodes, node("Constant", "shape", nil, onnx.Ints("value_ints", 3, 2)))
		} else {
			m.Graph.Initializers = []model.Tensor{constant(t, "shape", []int64{3, 2})}
		}
		m.Graph.Nodes = append(m.Graph.Nodes, node("Identity", "data", []string{"shape"}))
		m.Graph.Outputs = outputs("y", "data", "shape")
		sess := session(t, s, m)
		require.EqualValues(t, 1, s.Device().Stats().Uploads)
		x := held(t)(tensor.FromSlice(s, make([]float32, 6)))
		up, down, _ := transfers(t, s, sess, onnx.Values{"x": x})
		require.Zero(t, up)
		require.Zero(t, down)
		out := run(t, sess, onnx.Values{"x": x})
		for _, name := range []string{"data", "shape"} {
			d, err := out.Tensor(name)
			require.NoError(t, err)
			require.Same(t, s, d.Stream())
			require.Equal(t, []int64{3, 2}, valuesOf[int64](t, out, name))
		}
	}
}

// Once a default that the host had a copy of was still the shape after the
// caller had given another.
func TestOverriddenDefaultOnBothSides(t *testing.T) {
	s, _ := openFake(t)
	m := shapeModel(layout.Float32)
	m.Graph.Inputs = append(m.Graph.Inputs, input("shape", layout.Int64))
	m.Graph.Initializers = []model.Tensor{constant(t, "shape", []int64{3, 2})}
	m.Graph.Nodes = append(m.Graph.Nodes, node("Identity", "data", []string{"shape"}))
	m.Graph.Outputs = outputs("y", "data")
	sess := session(t, s, m)
	x := held(t)(tensor.FromSlice(s, make([]float32, 6)))
	for _, c := range []struct {
		in    onnx.Values
		shape []int64
	}{
		{onnx.Values{"x": x}, []int64{3, 2}},
		{onnx.Values{"x": x, "shape": ints(t, s, 1, 6)}, []int64{1, 6}},
		{onnx.Values{"x": x, "shape": ints(t, tensor.Host(), 2, 3)}, []int64{2, 3}},
		{onnx.Values{"x": x}, []int64{3, 2}},
	} {
		out := run(t, sess, c.in)
		y, err := out.Tensor("y")
		require.NoError(t, err)
		require.EqualValues(t, c.shape, y.Shape())
		require.Equal(t, c.shape, valuesOf[int64](t, out, "data"))
	}
}

// TestStringsStayOnTheHost: a device without strings never sees any.
func TestStringsStayOnTheHost(t *testing.T) {
	s, _ := openFake(t)
	tensor.CheckLeaks(t, tensor.Host())
	m := model.New("strings", 21)
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.String)}
	m.Graph.Initializers = []model.Tensor{constant(t, "words", []string{"a", "b", "c", "d"}), constant(t, "shape", []int64{2, 2}), constant(t, "flat", []int64{-1})}
	m.Graph.Nodes = []model.Node{
		node("Reshape", "matrix", []string{"words", "shape"}),
		node("Transpose", "turned", []string{"matrix"}),
		node("Reshape", "y", []string{"turned", "flat"}),
		node("Constant", "c", nil, onnx.Attr{Name: "value_strings", Value: []string{"e"}}),
		node("Identity", "z", []string{"c"}),
		node("Reshape", "w", []string{"x", "shape"}),
	}
	m.Graph.Outputs = outputs("y", "z", "w")
	sess := session(t, s, m)
	var reports []onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) { reports = append(reports, n) })
	_, err := tensor.FromSlice(s, []string{"a"})
	require.ErrorIs(t, err, device.ErrUnsupported)
	x := held(t)(tensor.FromSlice(tensor.Host(), []string{"p", "q", "r", "s"}))
	out := run(t, sess, onnx.Values{"x": x})
	require.Equal(t, []string{"a", "c", "b", "d"}, valuesOf[string](t, out, "y"))
	require.Equal(t, []string{"e"}, valuesOf[string](t, out, "z"))
	require.Equal(t, []string{"p", "q", "r", "s"}, valuesOf[string](t, out, "w"))
	require.Len(t, reports, 6)
	for _, n := range reports {
		require.True(t, n.Host, n.Op)
	}
	require.Zero(t, s.Device().Stats().Uploads)
}

// TestConstantsNobodyUses are not loaded.
func TestConstantsNobodyUses(t *testing.T) {
	s, _ := openFake(t)
	m := shapeModel(layout.Float32, node("Constant", "c", nil, onnx.Ints("value_ints", 1)))
	m.Graph.Initializers = []model.Tensor{constant(t, "shape", []int64{-1}), constant(t, "unused", make([]float32, 100))}
	sess := session(t, s, m)
	require.Zero(t, s.Device().Stats().Uploads)
	var reports []onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) { reports = append(reports, n) })
	run(t, sess, onnx.Values{"x": held(t)(tensor.FromSlice(s, make([]float32, 6)))})
	require.Equal(t, "a constant that nothing here uses: not loaded", reports[0].Why)
	require.Zero(t, reports[0].Bytes)
}

// TestForbiddenCopies: a session on a stream that forbids copies fails where
// one is needed and nowhere else.
func TestForbiddenCopies(t *testing.T) {
	s, _ := openFake(t)
	sess := session(t, s, attention(t, 16, 64))
	s.ForbidCopies(true)
	for sequence, ok := range map[int64]bool{1: true, 3: false} {
		x := held(t)(tensor.FromSlice(s, make([]float32, 2*sequence*1024), 2, sequence, 1024))
		out, err := sess.Run(context.Background(), onnx.Values{"x": x})
		if ok {
			require.NoError(t, err)
			require.NoError(t, out.Release())
			continue
		}
		require.ErrorIs(t, err, tensor.ErrCopy)
		require.ErrorContains(t, err, `node 3 (Reshape "packed")`)
	}
	require.Zero(t, s.Device().Stats().Launches)
}

// Once a constant that was data was loaded to the host too when a shape was
// worked out from its shape, which needs no element.
func TestShapeOfAConstant(t *testing.T) {
	s, _ := openFake(t)
	m := shapeModel(layout.Float32, node("Shape", "shape", []string{"w"}), node("Transpose", "turned", []string{"w"}),
		node("Shape", "other", []string{"turned"}), node("Reshape", "z", []string{"w", "other"}))
	w := tensorOf(numbered(layout.Float32, 3, 2), layout.Float32)
	w.Name = "w"
	m.Graph.Initializers = []model.Tensor{*w}
	m.Graph.Outputs = outputs("y", "z", "turned")
	before := tensor.Host().Device().Stats().Uploads
	sess := session(t, s, m)
	require.Equal(t, before, tensor.Host().Device().Stats().Uploads)
	require.EqualValues(t, 1, s.Device().Stats().Uploads)
	x := held(t)(tensor.FromSlice(s, make([]float32, 6)))
	up, down, _ := transfers(t, s, sess, onnx.Values{"x": x})
	require.Zero(t, up+down)
	// Used for nothing else, it need not go to the device.
	m.Graph.Nodes, m.Graph.Outputs = []model.Node{node("Shape", "shape", []string{"w"})}, outputs("shape")
	sess = session(t, s, m)
	require.EqualValues(t, 2, s.Device().Stats().Uploads, "one more is x")
	require.Equal(t, []int64{3, 2}, valuesOf[int64](t, run(t, sess, onnx.Values{"x": x}), "shape"))
}

// Once what was worked out from a constant was read back from the device in
// each run if it was data too.
func TestDerivedShapeThatIsDataToo(t *testing.T) {
	s, _ := openFake(t)
	m := shapeModel(layout.Float32, node("Identity", "shape", []string{"c"}), node("Identity", "data", []string{"shape"}))
	m.Graph.Initializers = []model.Tensor{constant(t, "c", []int64{3, 2})}
	m.Graph.Outputs = outputs("y", "data", "shape")
	sess := session(t, s, m)
	x := held(t)(tensor.FromSlice(s, make([]float32, 6)))
	up, down, _ := transfers(t, s, sess, onnx.Values{"x": x})
	require.Zero(t, up+down)
	require.Equal(t, []int64{3, 2}, valuesOf[int64](t, run(t, sess, onnx.Values{"x": x}), "data"))
}

// TestArithmeticOfShapesOnTheHost: the arithmetic of shapes may cut, repeat and fill. It
// stays on the host, and nothing is transferred.
func TestArithmeticOfShapesOnTheHost(t *testing.T) {
	s, _ := openFake(t)
	split := model.NewNode("Split", []string{"all"}, []string{"head", "tail"})
	m := shapeModel(layout.Float32,
		node("Shape", "all", []string{"x"}),
		split,
		node("ConstantOfShape", "ones", []string{"one"}, onnx.Attr{Name: "value", Value: tensorOf(numbers(1), layout.Int64)}),
		node("Tile", "more", []string{"ones", "two"}),
		node("Concat", "turned", []string{"tail", "more", "head"}, onnx.Int("axis", 0)),
		node("Expand", "shape", []string{"turned", "four"}),
	)
	m.Opsets[""] = 13
	m.Graph.Initializers = []model.Tensor{constant(t, "one", []int64{1}), constant(t, "two", []int64{2}), constant(t, "four", []int64{4})}
	sess := session(t, s, m)
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	in := onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 2, 3))}
	up, down, _ := transfers(t, s, sess, in)
	require.Zero(t, up+down)
	y, err := run(t, sess, in).Tensor("y")
	require.NoError(t, err)
	require.Equal(t, layout.Shape{3, 1, 1, 2}, y.Shape())
	for _, name := range []string{"head", "turned", "shape"} {
		require.True(t, reports[name].Host, name)
	}
}
