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

// scanOf is a model of a Scan of x, and of z along with it: it carries the last slice of x
// on, and collects that of x turned and the two before.
func scanOf(opset int64, attrs ...model.Attr) *model.Model {
	body := inputsOf(bodyOf("body", []string{"a", "turned", "before"},
		node("Identity", "a", []string{"slice"}),
		node("Transpose", "turned", []string{"slice"}),
		node("Identity", "before", []string{"state"})),
		input("state", layout.Float32), input("slice", layout.Float32), input("other", layout.Float32))
	names := []string{"first", "x", "z"}
	if opset == 8 {
		names = append([]string{""}, names...)
	}
	m := graphOf(layout.Float32, node("Scan", "y", names, append(attrs, body, onnx.Int("num_scan_inputs", 2))...))
	m.Opsets[""] = opset
	m.Graph.Nodes[0].Outputs = []string{"y", "turned", "before"}
	m.Graph.Inputs = append(m.Graph.Inputs, input("z", layout.Float32), input("first", layout.Float32))
	m.Graph.Outputs = outputs("y", "turned", "before")
	return m
}

// TestScan: slices are views, and only what is collected is copied.
func TestScan(t *testing.T) {
	s, _ := openFake(t)
	x := held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2, 3, 2))
	z := held(t)(tensor.New(s, layout.Float32, 3))
	first := held(t)(tensor.FromSlice(s, []float32{-1, -2, -3, -4}, 2, 2))
	for says, c := range map[string]struct {
		attrs         []model.Attr
		turned, after layout.Shape
		y, values     []float32
	}{
		"forwards": {[]model.Attr{onnx.Ints("scan_input_axes", 1, 0)}, layout.Shape{3, 2, 2}, layout.Shape{3, 2, 2},
			[]float32{5, 6, 11, 12}, []float32{1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12}},
		"backwards": {[]model.Attr{onnx.Ints("scan_input_axes", -2, 0), onnx.Ints("scan_input_directions", 1, 0), onnx.Ints("scan_output_axes", -1, 1)},
			layout.Shape{2, 2, 3}, layout.Shape{2, 3, 2}, []float32{1, 2, 7, 8}, []float32{5, 3, 1, 11, 9, 7, 6, 4, 2, 12, 10, 8}},
		"put backwards": {[]model.Attr{onnx.Ints("scan_input_axes", 1, 0), onnx.Ints("scan_output_directions", 1, 0)}, layout.Shape{3, 2, 2}, layout.Shape{3, 2, 2},
			[]float32{5, 6, 11, 12}, []float32{5, 11, 6, 12, 3, 9, 4, 10, 1, 7, 2, 8}},
	} {
		t.Run(says, func(t *testing.T) {
			sess := session(t, s, scanOf(21, c.attrs...))
			before := s.Device().Stats()
			out := run(t, sess, onnx.Values{"x": x, "z": z, "first": first})
			after := s.Device().Stats()
			require.Equal(t, int64(96), after.DeviceToDevice-before.DeviceToDevice)
			require.Equal(t, before.DeviceToHost, after.DeviceToHost)
			turned, err := out.Tensor("turned")
			require.NoError(t, err)
			require.Equal(t, c.turned, turned.Shape())
			require.Equal(t, c.values, valuesOf[float32](t, out, "turned"))
			require.Equal(t, c.y, valuesOf[float32](t, out, "y"))
			last, err := out.Tensor("before")
			require.NoError(t, err)
			require.Equal(t, c.after, last.Shape())
		})
	}
}

// TestScan8: the first version has batches, and directions of inputs alone.
func TestScan8(t *testing.T) {
	s := open(t)
	sess := session(t, s, scanOf(8, onnx.Ints("directions", 1, 0)))
	x := held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2))
	z := held(t)(tensor.New(s, layout.Float32, 2, 2))
	first := held(t)(tensor.New(s, layout.Float32, 2, 2))
	out := run(t, sess, onnx.Values{"x": x, "z": z, "first": first})
	require.Equal(t, []float32{1, 2, 5, 6}, valuesOf[float32](t, out, "y"))
	require.Equal(t, []float32{3, 4, 1, 2, 7, 8, 5, 6}, valuesOf[float32](t, out, "turned"))
	require.Equal(t, []float32{0, 0, 3, 4, 0, 0, 7, 8}, valuesOf[float32](t, out, "before"))

	m := scanOf(8)
	m.Graph.Nodes[0].Inputs[0] = "lengths"
	m.Graph.Inputs = append(m.Graph.Inputs, input("lengths", layout.Int64))
	_, err := session(t, s, m).Run(t.Context(), onnx.Values{"x": x, "z": z, "first": first, "lengths": ints(t, s, 2, 1)})
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "sequence_lens is given")

	none := held(t)(tensor.New(s, layout.Float32, 0, 2, 2))
	_, err = sess.Run(t.Context(), onnx.Values{"x": none, "z": none, "first": none})
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "there are no batches")
}

func TestScanRefuses(t *testing.T) {
	with := func(change func(*model.Model), attrs ...model.Attr) *model.Model {
		m := scanOf(21, attrs...)
		change(m)
		return m
	}
	same := func(*model.Model) {}
	for says, m := range map[string]*model.Model{
		"attribute num_scan_inputs is 7; it must be from 1": with(func(m *model.Model) { m.Graph.Nodes[0].Attrs[1].Value = int64(7) }),
		"attribute num_scan_inputs is 0; it must be from 1": with(func(m *model.Model) { m.Graph.Nodes[0].Attrs = m.Graph.Nodes[0].Attrs[:1] }),
		"attribute scan_input_axes has 1 values":            with(same, onnx.Ints("scan_input_axes", 1)),
		"attribute scan_input_directions is [2 0]; each":    with(same, onnx.Ints("scan_input_directions", 2, 0)),
		"the node has 0 outputs; it needs one for each":     with(func(m *model.Model) { m.Graph.Nodes[0].Outputs = nil }),
	} {
		t.Run(says, func(t *testing.T) { refused(t, m, device.ErrInvalid, says) })
	}
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 2, 3))
	z := held(t)(tensor.New(s, layout.Float32, 3, 2))
	for says, c := range map[string]struct {
		m    *model.Model
		x, z *tensor.Tensor
	}{
		"input 2 has 3 slices, input 1 has 2": {scanOf(21), x, z},
		"axis 2 is outside [-2,1]":            {scanOf(21, onnx.Ints("scan_input_axes", 2, 0)), x, z},
		"axis 3 is outside [-2,1]":            {scanOf(21, onnx.Ints("scan_output_axes", 3, 0)), x, x},
	} {
		_, err := session(t, s, c.m).Run(t.Context(), onnx.Values{"x": c.x, "z": c.z, "first": x})
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, says)
	}
}
