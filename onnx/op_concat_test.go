package onnx_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "Concat", versions: []onnx.Opset{1, 4, 11, 13},
		note: "a view of a single input",
	})
}

func TestConcat(t *testing.T) {
	s := open(t)
	a := held(t)(tensor.FromSlice(s, []int32{1, 2, 3, 4}, 2, 2))
	b := held(t)(tensor.FromSlice(s, []int32{5, 6}, 2, 1))
	none := held(t)(tensor.FromSlice(s, []int32{}, 2, 0))
	y := held(t)(runConcat(13, -1, a, none, b))
	got, err := tensor.Values[int32](y)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 5, 3, 4, 6}, got)
	require.Equal(t, tensor.Copy, y.Verdict().Kind)
	require.EqualValues(t, 24, y.Verdict().Bytes)

	one := held(t)(runConcat(13, 0, a))
	require.Equal(t, tensor.View, one.Verdict().Kind)
}

func TestConcatErrors(t *testing.T) {
	s := open(t)
	a := held(t)(tensor.New(s, layout.Int32, 2, 2))
	tall := held(t)(tensor.New(s, layout.Int32, 3, 2))
	flat := held(t)(tensor.New(s, layout.Int32, 4))
	long := held(t)(tensor.New(s, layout.Int64, 2, 2))
	scalar := held(t)(tensor.FromSlice(s, []int32{1}, []int64{}...))
	for _, c := range []struct {
		v    onnx.Opset
		axis int64
		in   []*tensor.Tensor
		says string
	}{
		{13, 1, []*tensor.Tensor{a, tall}, "Concat-13 of int32[2,2]: input 1 has shape [3,2] and input 0 [2,2]: they may differ along axis 1 only"},
		{13, 0, []*tensor.Tensor{a, flat}, "as many axes"},
		{13, 0, []*tensor.Tensor{a, long}, "input 1 is int64[2,2]; input 0 is int32[2,2]: they must be of one type"},
		{13, 2, []*tensor.Tensor{a, a}, "axis 2 is outside [-2,1]"},
		{4, -3, []*tensor.Tensor{a, a}, "axis -3 is outside [-2,1]"},
		{1, 0, []*tensor.Tensor{a, a}, "type int32 is not allowed; Concat allows it from opset 4"},
		{13, 0, []*tensor.Tensor{a, nil}, "input 1 is missing"},
		{13, 0, []*tensor.Tensor{scalar}, "the tensor has no axes"},
		{13, 0, nil, "0 inputs are given; it takes 1 or more"},
	} {
		_, err := runConcat(c.v, c.axis, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	_, err := onnx.Run("Concat", 4, nil, a)
	require.ErrorContains(t, err, "attribute axis is missing")
}

// What only a Concat uses is written straight into its output: a Reshape that
// needs a copy, and another Concat.
func TestConcatInPlace(t *testing.T) {
	s, dev := openFake(t)
	axis := func(i int64) onnx.Attr { return onnx.Int("axis", i) }
	m := graphOf(layout.Float32,
		node("Transpose", "turned", []string{"x"}),
		node("Reshape", "rows", []string{"turned", "shape"}),
		node("Concat", "inner", []string{"rows", "rows2"}, axis(0)),
		node("Reshape", "rows2", []string{"turned", "shape"}),
		node("Concat", "y", []string{"x2", "inner"}, axis(1)),
		node("Identity", "x2", []string{"wide"}),
	)
	m.Graph.Inputs = append(m.Graph.Inputs, input("wide", layout.Float32))
	m.Graph.Initializers = []model.Tensor{constant(t, "shape", []int64{1, 6})}
	sess := session(t, s, m)
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	x := held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3))
	wide := held(t)(tensor.FromSlice(s, []float32{7, 8}, 2, 1))
	before := dev.Stats()
	out := run(t, sess, onnx.Values{"x": x, "wide": wide})
	require.EqualValues(t, 3, dev.Stats().Launches-before.Launches, "each element is copied once")
	require.Equal(t, []float32{7, 1, 4, 2, 5, 3, 6, 8, 1, 4, 2, 5, 3, 6}, valuesOf[float32](t, out, "y"))
	require.True(t, reports["rows"].Elided)
	require.True(t, reports["rows2"].Elided)
	require.True(t, reports["inner"].Elided)
	require.Equal(t, "put together from 3 parts", reports["y"].Why)
	require.EqualValues(t, 56, reports["y"].Bytes)
}

// A part that strides cannot put in its place is copied twice, which the report says.
func TestConcatOfAReshapeThatDoesNotFit(t *testing.T) {
	s, dev := openFake(t)
	m := graphOf(layout.Float32,
		node("Transpose", "turned", []string{"x"}),
		node("Reshape", "square", []string{"turned", "shape"}),
		node("Concat", "y", []string{"square", "square2"}, onnx.Int("axis", 1)),
		node("Reshape", "square2", []string{"turned", "shape"}),
	)
	m.Graph.Initializers = []model.Tensor{constant(t, "shape", []int64{3, 4})}
	sess := session(t, s, m)
	var copied int64
	var why string
	sess.OnNode(func(n onnx.NodeReport) { copied, why = copied+n.Bytes, n.Why })
	x := held(t)(tensor.FromSlice(s, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 3, 2, 2))
	before := dev.Stats().DeviceToDevice
	out := run(t, sess, onnx.Values{"x": x})
	require.EqualValues(t, 4*48, dev.Stats().DeviceToDevice-before)
	require.EqualValues(t, 4*48, copied)
	require.Contains(t, why, "put together from 2 parts; 96 bytes of operands were put together before")
	want := []float32{0, 4, 8, 2, 0, 4, 8, 2, 6, 10, 1, 5, 6, 10, 1, 5, 9, 3, 7, 11, 9, 3, 7, 11}
	require.Equal(t, want, valuesOf[float32](t, out, "y"))
}

// Once a part in n Concats was put in its place by n steps, in each of them:
// minutes. Now and then one is made, and the plan says the same.
func TestConcatOfConcats(t *testing.T) {
	s, _ := openFake(t)
	const n = 2000
	m := graphOf(layout.Float32)
	last := "x"
	for i := range n {
		next := fmt.Sprint("v", i)
		m.Graph.Nodes = append(m.Graph.Nodes, node("Concat", next, []string{last, "x"}, onnx.Int("axis", 0)))
		last = next
	}
	m.Graph.Nodes = append(m.Graph.Nodes, node("Identity", "y", []string{last}))
	sess := session(t, s, m)
	made := 0
	sess.OnNode(func(r onnx.NodeReport) {
		if r.Op == "Concat-13" && !r.Elided {
			made++
		}
	})
	out := run(t, sess, onnx.Values{"x": held(t)(tensor.FromSlice(s, []float32{7}))})
	require.Equal(t, slices.Repeat([]float32{7}, n+1), valuesOf[float32](t, out, "y"))
	require.Less(t, made, n/10)
	p, err := sess.Plan(map[string]layout.Shape{"x": {1}}, nil)
	require.NoError(t, err)
	for _, r := range p.Nodes {
		if r.Op == "Concat-13" && !r.Elided {
			made--
		}
	}
	require.Zero(t, made)
}

// Arithmetic on shapes stays on the host, constants beside it too, and is
// brought to the device where an operand is there.
func TestConcatOfShapes(t *testing.T) {
	s, _ := openFake(t)
	m := graphOf(layout.Int64,
		node("Shape", "shape", []string{"x"}),
		node("Concat", "more", []string{"shape", "one"}, onnx.Int("axis", 0)),
		node("Concat", "y", []string{"x", "more"}, onnx.Int("axis", 0)),
	)
	m.Graph.Initializers = []model.Tensor{constant(t, "one", []int64{1})}
	m.Graph.Outputs = outputs("y", "more")
	sess := session(t, s, m)
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	out := run(t, sess, onnx.Values{"x": ints(t, s, 7, 8)})
	require.Equal(t, []int64{7, 8, 2, 1}, valuesOf[int64](t, out, "y"))
	require.True(t, reports["more"].Host)
	require.Zero(t, reports["more"].Read+reports["more"].Sent)
	require.EqualValues(t, 16, reports["y"].Sent)
}
