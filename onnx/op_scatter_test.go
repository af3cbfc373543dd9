package onnx_test

import (
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
		op: "Scatter", versions: []onnx.Opset{9},
		note: "negative indices, too",
	}, operatorTest{
		op: "ScatterElements", versions: []onnx.Opset{11, 13, 16, 18},
		note: "a session writes to an input that nothing else uses; reductions from 16 (min and max: 18)",
	}, operatorTest{
		op: "ScatterND", versions: []onnx.Opset{11, 13, 16, 18},
		note: "a session writes to an input that nothing else uses; reductions from 16 (min and max: 18)",
	})
}

func TestScatter(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4, 5, 6}, 2, 3))
	at := held(t)(tensor.FromSlice(s, []int32{2, 0, -1, -2}, 2, 2))
	new := held(t)(tensor.FromSlice(s, []int64{10, 20, 30, 40}, 2, 2))
	y := held(t)(runScatterElements(x, 18, at, new, 1, device.ReduceSet))
	got, err := tensor.Values[int64](y)
	require.NoError(t, err)
	require.Equal(t, []int64{20, 2, 10, 4, 40, 30}, got)

	tuples := held(t)(tensor.FromSlice(s, []int64{-1, 0, 0, 1}, 2, 2))
	two := held(t)(tensor.FromSlice(s, []int64{70, 80}))
	y = held(t)(runScatterND(x, 18, tuples, two, device.ReduceSet))
	got, err = tensor.Values[int64](y)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 80, 3, 70, 5, 6}, got)
	got, err = tensor.Values[int64](x)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2, 3, 4, 5, 6}, got, "the input is the caller's")

	same := held(t)(tensor.FromSlice(s, []int64{1, 1, 1, 1}, 2, 2))
	y = held(t)(runScatterElements(x, 18, same, new, 1, device.ReduceAdd))
	got, err = tensor.Values[int64](y)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 32, 3, 4, 75, 6}, got)

	_, err = runScatterElements(x, 16, same, new, 1, device.ReduceMax)
	require.ErrorContains(t, err, `there is no reduction "max"`)

	words := held(t)(tensor.FromHost([]string{"a", "b", "c"}))
	out, err := onnx.Run("Scatter", 9, nil, words, ints(t, s, -1, 0), held(t)(tensor.FromHost([]string{"x", "y"})))
	require.NoError(t, err)
	text, err := tensor.Values[string](out[0].(*tensor.Tensor))
	require.NoError(t, err)
	require.Equal(t, []string{"y", "b", "x"}, text)
	require.NoError(t, out[0].Release())
}

// TestScatterSums: of more elements than some devices reduce in one launch.
func TestScatterSums(t *testing.T) {
	s := open(t)
	const n = 40000
	at, ones := make([]int64, n), make([]float32, n)
	for i := range at {
		at[i], ones[i] = int64(i%10), 1
	}
	x, updates := held(t)(tensor.FromSlice(s, make([]float32, 10))), held(t)(tensor.FromSlice(s, ones))
	along := held(t)(runScatterElements(x, 18, ints(t, s, at...), updates, 0, device.ReduceAdd))
	nd := held(t)(runScatterND(x, 18, held(t)(tensor.FromSlice(s, at, n, 1)), updates, device.ReduceAdd))
	for _, y := range []*tensor.Tensor{along, nd} {
		got, err := tensor.Values[float32](y)
		require.NoError(t, err)
		require.Equal(t, slices.Repeat([]float32{n / 10}, 10), got)
	}
}

// TestScatterInPlace: a session writes to what nothing else uses, and copies else.
func TestScatterInPlace(t *testing.T) {
	s, dev := openFake(t)
	m := model.New("slots", 18)
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Float32), input("i", layout.Int64), input("u", layout.Float32)}
	m.Graph.Outputs = outputs("y")
	m.Graph.Nodes = []model.Node{
		node("Concat", "own", []string{"x", "x"}, onnx.Int("axis", 0)),
		node("ScatterElements", "y", []string{"own", "i", "u"}),
	}
	sess := session(t, s, m)
	x := held(t)(tensor.FromSlice(s, []float32{1, 2}))
	in := onnx.Values{"x": x, "i": ints(t, s, 3, 0), "u": held(t)(tensor.FromSlice(s, []float32{8, 9}))}
	before := dev.Stats().Buffers
	out := run(t, sess, in)
	require.Equal(t, []float32{9, 2, 1, 8}, valuesOf[float32](t, out, "y"))
	require.LessOrEqual(t, dev.Stats().Buffers-before, int64(1))
}

func TestScatterRules(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.FromSlice(s, make([]float32, 6), 2, 3))
	at := held(t)(tensor.FromSlice(s, []int64{0, 1, 5, 0}, 2, 2))
	up := held(t)(tensor.FromSlice(s, make([]float32, 4), 2, 2))
	for _, c := range []struct {
		op    string
		v     onnx.Opset
		in    [2]onnx.Value
		attrs onnx.Attrs
		kind  error
		says  string
	}{
		{"ScatterElements", 13, [2]onnx.Value{at, up}, nil, device.ErrInvalid, "ScatterElements-13 to float[2,3] of float[2,2] by int64[2,2]: index 5 is outside [-2,1] of extent 2"},
		{"ScatterElements", 13, [2]onnx.Value{at, up}, onnx.Attrs{onnx.Int("axis", 2)}, device.ErrInvalid, "axis 2 is outside [-2,1]"},
		{"ScatterElements", 13, [2]onnx.Value{up, up}, nil, device.ErrInvalid, "indices are float[2,2]; they must be int32 or int64"},
		{"ScatterElements", 13, [2]onnx.Value{at, at}, nil, device.ErrInvalid, "the elements are int64, to be put to float"},
		{"ScatterElements", 13, [2]onnx.Value{at, x}, nil, device.ErrInvalid, "the elements have the shape [2,3]; [2,2] is what the indices ask for"},
		{"ScatterElements", 13, [2]onnx.Value{at, up}, onnx.Attrs{{Name: "reduction", Value: "add"}}, device.ErrInvalid, "ScatterElements-16 has it"},
		{"ScatterElements", 16, [2]onnx.Value{at, up}, onnx.Attrs{{Name: "reduction", Value: "min"}}, device.ErrInvalid, "there is no reduction"},
		{"ScatterElements", 18, [2]onnx.Value{at, &onnx.Sequence{Elem: layout.Float32}}, nil, device.ErrInvalid, "the updates is a sequence of float; it must be a tensor"},
		{"ScatterND", 18, [2]onnx.Value{at, up}, nil, device.ErrInvalid, "the elements have the shape [2,2]; [2] is what the indices ask for"},
	} {
		_, err := onnx.Run(c.op, c.v, c.attrs, x, c.in[0], c.in[1])
		require.ErrorIs(t, err, c.kind, "%s", c.says)
		require.ErrorContains(t, err, c.says)
	}
}
