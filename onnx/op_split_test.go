package onnx_test

import (
	"fmt"
	"math"
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
		op: "Split", versions: []onnx.Opset{1, 2, 11, 13, 18},
		note:  "sizes are an attribute up to 11, then an input; `num_outputs` from 18",
		types: typesSince{1, 2, 2, 13},
		form: func(v onnx.Opset) (onnx.Attrs, [][]int64) {
			if v < 13 {
				return onnx.Attrs{onnx.Int("axis", 2), onnx.Ints("split", 3)}, nil
			}
			return onnx.Attrs{onnx.Int("axis", -2)}, [][]int64{{3}}
		},
		want: func(a array) array { return a },
	})
}

// parts releases new tensors when the test ends.
func parts(tb testing.TB) func([]*tensor.Tensor, error) []*tensor.Tensor {
	return func(xs []*tensor.Tensor, err error) []*tensor.Tensor {
		tb.Helper()
		require.NoError(tb, err)
		for _, x := range xs {
			held(tb)(x, nil)
		}
		return xs
	}
}

// splitForm returns how the version is told the sizes; nil sizes are as many even ones as
// there are outputs.
func splitForm(v onnx.Opset, axis int64, sizes []int64, n int) (onnx.Attrs, []int64) {
	attrs := onnx.Attrs{onnx.Int("axis", axis)}
	switch {
	case sizes != nil && v < 13:
		return append(attrs, onnx.Ints("split", sizes...)), nil
	case sizes == nil && v >= 18:
		return append(attrs, onnx.Int("num_outputs", int64(n))), nil
	}
	return attrs, sizes
}

// splitInModel runs a model of a Split that has n outputs.
func splitInModel(tb testing.TB, v onnx.Opset, attrs onnx.Attrs, n int, in ...onnx.Value) ([]*tensor.Tensor, error) {
	tb.Helper()
	var names, made []string
	values := onnx.Values{}
	for i, x := range in {
		names = append(names, "")
		if x != nil {
			names[i] = fmt.Sprint("in", i)
			values[names[i]] = x
		}
	}
	for i := range n {
		made = append(made, fmt.Sprint("out", i))
	}
	m := model.New("split", int64(v))
	m.Graph.Inputs, m.Graph.Outputs = outputs(slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == "" })...), outputs(made...)
	m.Graph.Nodes = []model.Node{model.NewNode("Split", names, made, attrs...)}
	sess, err := onnx.NewSession(in[0].(*tensor.Tensor).Stream(), m)
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(tb, sess.Close()) }()
	out, err := sess.Run(tb.Context(), values)
	if err != nil {
		return nil, err
	}
	var xs []*tensor.Tensor
	for _, name := range made {
		xs = append(xs, out[name].(*tensor.Tensor))
	}
	return xs, nil
}

// splitEvenly is splitInModel without sizes.
func splitEvenly(tb testing.TB, x *tensor.Tensor, v onnx.Opset, axis int64, n int) ([]*tensor.Tensor, error) {
	attrs, _ := splitForm(v, axis, nil, n)
	return splitInModel(tb, v, attrs, n, x)
}

func TestSplit(t *testing.T) {
	s := open(t)
	for _, c := range []struct {
		in    []int64
		axis  int64
		sizes []int64 // nil: even
		dims  [][]int64
		want  [][]int32
		since onnx.Opset
	}{
		{[]int64{6}, 0, nil, [][]int64{{2}, {2}, {2}}, [][]int32{{1, 2}, {3, 4}, {5, 6}}, 2},
		{[]int64{6}, 0, []int64{2, 4}, [][]int64{{2}, {4}}, [][]int32{{1, 2}, {3, 4, 5, 6}}, 2},
		{[]int64{2, 3}, 1, []int64{1, 2}, [][]int64{{2, 1}, {2, 2}}, [][]int32{{1, 4}, {2, 3, 5, 6}}, 2},
		{[]int64{2, 3}, -1, []int64{1, 0, 2}, [][]int64{{2, 1}, {2, 0}, {2, 2}}, [][]int32{{1, 4}, nil, {2, 3, 5, 6}}, 11},
		{[]int64{2, 3}, -1, []int64{1, 2}, [][]int64{{2, 1}, {2, 2}}, [][]int32{{1, 4}, {2, 3, 5, 6}}, 2}, // as ONNX's own inference
		{[]int64{0}, 0, nil, [][]int64{{0}, {0}}, [][]int32{nil, nil}, 2},
		{[]int64{0}, 0, []int64{0, 0, 0}, [][]int64{{0}, {0}, {0}}, [][]int32{nil, nil, nil}, 2},
		{[]int64{0, 2}, 1, nil, [][]int64{{0, 1}, {0, 1}}, [][]int32{nil, nil}, 2},
		{[]int64{3}, 0, nil, [][]int64{{3}}, [][]int32{{1, 2, 3}}, 2},
		{[]int64{7}, 0, nil, [][]int64{{2}, {2}, {2}, {1}}, [][]int32{{1, 2}, {3, 4}, {5, 6}, {7}}, 18},
		{[]int64{6}, 0, nil, [][]int64{{2}, {2}, {2}, {0}}, [][]int32{{1, 2}, {3, 4}, {5, 6}, nil}, 18},
		{[]int64{1, 3}, 1, nil, [][]int64{{1, 2}, {1, 1}}, [][]int32{{1, 2}, {3}}, 18},
	} {
		x := filled(t, s, c.in...)
		for _, v := range []onnx.Opset{2, 11, 13, 18} {
			if v < c.since {
				continue
			}
			attrs, sizes := splitForm(v, c.axis, c.sizes, len(c.dims))
			in := []onnx.Value{x}
			if sizes != nil {
				in = append(in, ints(t, tensor.Host(), sizes...))
			}
			both := [][]*tensor.Tensor{parts(t)(splitInModel(t, v, attrs, len(c.dims), in...))}
			if c.sizes != nil || v >= 18 { // else nothing but the node says how many there are
				both = append(both, parts(t)(calls("Split", v, attrs, x, sizes)))
			}
			for _, ys := range both {
				require.Len(t, ys, len(c.dims))
				for i, y := range ys {
					hasValues(t, y, c.dims[i], c.want[i]...)
					require.Equal(t, tensor.View, y.Verdict().Kind)
				}
			}
		}
	}
}

func TestSplitErrors(t *testing.T) {
	s := open(t)
	x := filled(t, s, 2, 5)
	scalar := held(t)(tensor.FromSlice(s, []int32{1}, []int64{}...))
	for _, c := range []struct {
		v     onnx.Opset
		x     *tensor.Tensor
		axis  int64
		sizes []int64
		n     int
		says  string
	}{
		{13, x, 1, []int64{2, 2}, 2, "Split-13 of int32[2,5]: split [2,2] adds up to 4; axis 1 has extent 5"},
		{11, x, 1, []int64{2, 4}, 2, "Split-11 of int32[2,5]: split [2,4] adds up to more than extent 5 of axis 1"},
		{18, x, 1, []int64{1<<63 - 1, 6}, 2, "adds up to more than extent 5"},
		{13, x, 1, []int64{6, -1}, 2, "adds up to more than extent 5"},
		{13, x, 1, []int64{-1, 6}, 2, "split [-1,6]: size 0 is negative"},
		{13, x, 1, []int64{2, 3}, 3, "split [2,3] has 2 sizes; 3 outputs are wanted"},
		{13, x, 1, []int64{}, 1, "split [] has 0 sizes; 1 outputs are wanted"},
		{13, x, 1, nil, 2, "extent 5 of axis 1 is no multiple of 2, the number of outputs; Split allows that from opset 18"},
		{2, x, 1, nil, 6, "extent 5 of axis 1 is no multiple of 6"},
		{18, x, 1, nil, 4, "extent 5 of axis 1 cannot be cut into 4 parts of which only the last is smaller"},
		{18, x, 0, nil, 4, "extent 2 of axis 0 cannot be cut into 4 parts"},
		{13, x, 2, []int64{5}, 1, "axis 2 is outside [-2,1]"},
		{2, x, 2, []int64{5}, 1, "axis 2 is outside [-2,1]"},
		{2, x, -3, []int64{5}, 1, "axis -3 is outside [-2,1]"},
		{13, scalar, 0, []int64{1}, 1, "Split-13 of int32[]: axis 0: the tensor has no axes"},
		{1, x, 1, []int64{5}, 1, "type int32 is not allowed; Split allows it from opset 2"},
	} {
		attrs, sizes := splitForm(c.v, c.axis, c.sizes, c.n)
		in := []onnx.Value{c.x}
		if sizes != nil {
			in = append(in, ints(t, tensor.Host(), sizes...))
		}
		_, err := splitInModel(t, c.v, attrs, c.n, in...)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
		if c.sizes != nil && len(c.sizes) == c.n || c.sizes == nil && c.v >= 18 {
			_, err = calls("Split", c.v, attrs, c.x, sizes)
			require.ErrorContains(t, err, c.says)
		}
	}
	sizes := ints(t, s, 2, 3)
	axis := onnx.Int("axis", 1)
	for _, c := range []struct {
		v     onnx.Opset
		attrs onnx.Attrs
		n     int
		in    []onnx.Value
		says  string
	}{
		{18, onnx.Attrs{axis}, 5, []onnx.Value{x}, "neither input split nor attribute num_outputs is given"},
		{18, onnx.Attrs{axis, onnx.Int("num_outputs", 2)}, 2, []onnx.Value{x, sizes}, "input split and attribute num_outputs are given"},
		{18, onnx.Attrs{axis, onnx.Int("num_outputs", 2)}, 3, []onnx.Value{x}, "num_outputs is 2; 3 outputs are wanted"},
		{18, onnx.Attrs{axis, onnx.Int("num_outputs", 0)}, 1, []onnx.Value{x}, "num_outputs is 0; 1 outputs are wanted"},
		{13, onnx.Attrs{axis, onnx.Int("num_outputs", 2)}, 2, []onnx.Value{x}, `attribute "num_outputs" does not belong to this version; Split-18 has it`},
		{13, onnx.Attrs{axis, onnx.Ints("split", 2, 3)}, 2, []onnx.Value{x}, `attribute "split" does not belong to this version`},
		{11, onnx.Attrs{axis}, 2, []onnx.Value{x, sizes}, "node 0 (Split) has 2 inputs; Split-11 takes 1"},
		{13, onnx.Attrs{axis}, 2, []onnx.Value{x, filled(t, s, 2)}, "split is int32; it must be int64"},
		{13, onnx.Attrs{onnx.Ints("axis", 1)}, 2, []onnx.Value{x}, `attribute "axis" is of kind ints`},
	} {
		_, err := splitInModel(t, c.v, c.attrs, c.n, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	for n, says := range map[int64]string{0: "num_outputs is 0; 1 outputs are wanted", -1: "num_outputs is -1", math.MaxInt64: "bytes are asked for"} {
		_, err := calls("Split", 18, onnx.Attrs{axis, onnx.Int("num_outputs", n)}, x)
		require.ErrorContains(t, err, says)
	}
	_, err := calls("Split", 13, onnx.Attrs{axis}, x, []int64{})
	require.ErrorContains(t, err, "split [] has 0 sizes; 1 outputs are wanted")
}

// The first version takes the sizes as an attribute or as an input, of the type
// of the data or of int64. Without an axis it cuts the first one.
func TestSplit1(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.FromSlice(s, []float32{1, 2, 3}))
	for _, sizes := range []onnx.Value{held(t)(tensor.FromSlice(s, []float32{1, 2})), ints(t, s, 1, 2), nil} {
		attrs := onnx.Attrs{}
		if sizes == nil {
			attrs = append(attrs, onnx.Ints("split", 1, 2))
		}
		byName, err := onnx.Run("Split", 1, attrs, x, sizes)
		require.NoError(t, err)
		for i, y := range parts(t)(splitInModel(t, 1, attrs, 2, x, sizes)) {
			want := [][]float32{{1}, {2, 3}}[i]
			for _, y := range []*tensor.Tensor{y, held(t)(byName[i].(*tensor.Tensor), nil)} {
				got, err := tensor.Values[float32](y)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
		}
	}
	_, err := splitInModel(t, 1, onnx.Attrs{onnx.Ints("split", 1, 2)}, 2, x, ints(t, s, 1, 2))
	require.ErrorContains(t, err, "both as an input and as an attribute")
	_, err = splitInModel(t, 1, nil, 2, x, ints(t, s, 1, 1, 1))
	require.ErrorContains(t, err, "split has shape [3]; it must have 2 elements")
	require.Len(t, parts(t)(splitInModel(t, 1, onnx.Attrs{onnx.Int("axis", -1)}, 3, x)), 3)
	require.Len(t, parts(t)(splitEvenly(t, x, 1, 0, 3)), 3)
}

// A view of what was released is refused, and leaves nothing behind.
// The end of the last part, if it were as long as the others, is beyond int64.
func TestSplitOfTheLongestAxis(t *testing.T) {
	x := held(t)(tensor.Empty(open(t), layout.Float32, 0, math.MaxInt64))
	ys := parts(t)(splitEvenly(t, x, 18, 1, 2))
	require.Equal(t, layout.Shape{0, 1 << 62}, ys[0].Shape())
	require.Equal(t, layout.Shape{0, 1<<62 - 1}, ys[1].Shape())
}

func TestSplitOfAReleasedTensor(t *testing.T) {
	s := open(t)
	x := filled(t, s, 4)
	gone, err := x.Alias()
	require.NoError(t, err)
	require.NoError(t, gone.Release())
	_, err = call("Split", 18, onnx.Attrs{onnx.Int("num_outputs", 2)}, gone)
	require.ErrorIs(t, err, tensor.ErrReleased)
}

// In a session the sizes may be worked out from a shape, and a device's tensor
// of sizes is read back, which the report says.
func TestSplitBySizesOfTheGraph(t *testing.T) {
	s, _ := openFake(t)
	split := model.NewNode("Split", []string{"x", "sizes"}, []string{"y", "z"}, onnx.Int("axis", 1))
	m := graphOf(layout.Float32, split)
	m.Opsets[""] = 18
	m.Graph.Inputs = append(m.Graph.Inputs, input("sizes", layout.Int64))
	m.Graph.Outputs = outputs("y", "z")
	sess := session(t, s, m)
	var why []string
	sess.OnNode(func(n onnx.NodeReport) { why = append(why, n.Why) })
	x := numbered(layout.Float32, 2, 5)
	out := run(t, sess, onnx.Values{"x": upload(t, x, s, layout.Float32), "sizes": ints(t, s, 2, 3)})
	for name, want := range map[string]array{"y": x.Window(1, 0, 2), "z": x.Window(1, 2, 5)} {
		y, err := out.Tensor(name)
		require.NoError(t, err)
		same(t, layout.Float32, want, y)
	}
	require.Equal(t, []string{"strides [5,1] over the same elements; 16 bytes of shape or axes were read from the device"}, why)
	_, err := sess.Run(t.Context(), onnx.Values{"x": upload(t, x, s, layout.Float32), "sizes": ints(t, s, 2, 3, 0)})
	require.ErrorContains(t, err, "split [2,3,0] has 3 sizes; 2 outputs are wanted")
}
