package onnx_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

const onHostNote = "on the host, of shapes"

func init() {
	for versions, ops := range map[[6]onnx.Opset]string{
		{1, 6, 7, 13, 14}:       "Add Sub Mul Div",
		{10, 13, 28}:            "Mod",
		{1, 6, 8, 12, 13}:       "Min Max",
		{1, 7, 11, 13, 19}:      "Equal",
		{1, 7, 9, 13}:           "Less Greater",
		{12, 16}:                "LessOrEqual GreaterOrEqual",
		{1, 7}:                  "And Or Xor",
		{1}:                     "Not",
		{1, 6, 13}:              "Ceil Floor Sqrt Neg Abs",
		{9, 13}:                 "Sign NonZero",
		{1, 11, 13, 18}:         "ReduceProd",
		{1, 11, 13}:             "ReduceSum",
		{1, 11, 12, 13, 18, 20}: "ReduceMax ReduceMin",
		{1, 10, 11, 24}:         "TopK",
	} {
		list := versions[:]
		for list[len(list)-1] == 0 {
			list = list[:len(list)-1]
		}
		for _, op := range strings.Fields(ops) {
			operatorTests = append(operatorTests, operatorTest{op: op, versions: append([]onnx.Opset{}, list...), note: onHostNote})
		}
	}
}

// calculated runs an operator on tensors on the host, and shows type, shape and elements.
func calculated(tb testing.TB, op string, v onnx.Opset, attrs onnx.Attrs, in ...onnx.Value) (string, error) {
	tb.Helper()
	out, err := onnx.Run(op, v, attrs, in...)
	if err != nil {
		return "", err
	}
	var text []string
	for _, y := range out {
		x := y.(*tensor.Tensor)
		require.Same(tb, tensor.Host(), x.Stream())
		words, err := x.Cast(layout.String, device.Rounding{})
		require.NoError(tb, err)
		elements, err := tensor.Values[string](words)
		require.NoError(tb, err)
		for i, e := range elements {
			elements[i] = strings.TrimSuffix(e, ".0")
		}
		text = append(text, fmt.Sprintf("%v%v{%s}", x.DType(), x.Shape(), strings.Join(elements, " ")))
		require.NoError(tb, words.Release())
		require.NoError(tb, x.Release())
	}
	return strings.Join(text, "; "), nil
}

func hosted[T layout.Element](tb testing.TB, dims []int64, values ...T) onnx.Value {
	tb.Helper()
	if dims == nil {
		dims = []int64{int64(len(values))}
	}
	return held(tb)(tensor.FromSlice(tensor.Host(), values, dims...))
}

// TestArithmetic has results by hand, or numpy's.
func TestArithmetic(t *testing.T) {
	i64 := func(v ...int64) onnx.Value { return hosted(t, nil, v...) }
	i8 := func(v ...int8) onnx.Value { return hosted(t, nil, v...) }
	u8 := func(v ...uint8) onnx.Value { return hosted(t, nil, v...) }
	f32 := func(v ...float32) onnx.Value { return hosted(t, nil, v...) }
	b := func(v ...bool) onnx.Value { return hosted(t, nil, v...) }
	half := func(v ...float32) onnx.Value {
		x := held(t)(tensor.FromSlice(tensor.Host(), v, int64(len(v))))
		return held(t)(x.Cast(layout.Float16, device.Rounding{}))
	}
	grid := hosted(t, []int64{2, 3}, int64(1), 2, 3, 4, 5, 6)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	none := hosted(t, []int64{2, 0}, []float32{}...)
	for _, c := range []struct {
		op    string
		v     onnx.Opset
		attrs onnx.Attrs
		in    []onnx.Value
		want  string
	}{
		{"Add", 14, nil, []onnx.Value{i64(1, 2), i64(10)}, "int64[2]{11 12}"},
		{"Add", 14, nil, []onnx.Value{i8(127), i8(1)}, "int8[1]{-128}"},
		{"Add", 7, nil, []onnx.Value{half(1, 2048), half(0.0004883, 1)}, "float16[2]{1 2048}"},
		{"Add", 7, nil, []onnx.Value{f32(1), f32(1e-8)}, "float[1]{1}"},
		{"Sub", 14, nil, []onnx.Value{u8(1), u8(2)}, "uint8[1]{255}"},
		{"Mul", 7, nil, []onnx.Value{i64(-1), grid}, "int64[2,3]{-1 -2 -3 -4 -5 -6}"},
		{"Div", 7, nil, []onnx.Value{i64(7, -7, 7, -7), i64(2, 2, -2, -2)}, "int64[4]{3 -3 -3 3}"},
		{"Div", 14, nil, []onnx.Value{i8(-128), i8(-1)}, "int8[1]{-128}"},
		{"Div", 7, nil, []onnx.Value{f32(1, -1, 0), f32(0)}, "float[3]{INF -INF NaN}"},
		{"Mod", 10, nil, []onnx.Value{i64(-4, 7, 5, 4, -7, 8), i64(2, -3, 8, -2, 3, 5)}, "int64[6]{0 -2 5 0 2 3}"},
		{"Mod", 13, onnx.Attrs{onnx.Int("fmod", 1)}, []onnx.Value{i64(-4, 7, 5, 4, -7, 8), i64(2, -3, 8, -2, 3, 5)}, "int64[6]{0 1 5 0 -1 3}"},
		{"Mod", 10, onnx.Attrs{onnx.Int("fmod", 1)}, []onnx.Value{f32(-4.3, 7.25), f32(2.1, -3.5)}, "float[2]{-0.10000038 0.25}"},
		{"Mod", 10, nil, []onnx.Value{u8(200, 7), u8(150, 255)}, "uint8[2]{50 7}"},
		{"Mod", 28, nil, []onnx.Value{f32(-4, 7.25, 1, 0, inf), f32(3, -3.5, -inf, -2, 2)}, "float[5]{2 -3.25 -INF -0 NaN}"},
		{"Min", 13, nil, []onnx.Value{f32(3, nan), f32(1, 1), f32(2, 2)}, "float[2]{1 NaN}"},
		{"Max", 8, nil, []onnx.Value{f32(3, 5)}, "float[2]{3 5}"},
		{"Max", 12, nil, []onnx.Value{i64(3, 5), i64(4)}, "int64[2]{4 5}"},
		{"Equal", 7, nil, []onnx.Value{b(true, false), b(true)}, "bool[2]{True False}"},
		{"Equal", 11, nil, []onnx.Value{i64(-1, 3), i64(-1)}, "bool[2]{True False}"},
		{"Equal", 19, nil, []onnx.Value{hosted(t, nil, "a", "b"), hosted(t, nil, "a")}, "bool[2]{True False}"},
		{"Less", 9, nil, []onnx.Value{grid, i64(2, 2, 7)}, "bool[2,3]{True False True False False True}"},
		{"LessOrEqual", 12, nil, []onnx.Value{f32(1, 2, nan), f32(1)}, "bool[3]{True False False}"},
		{"Greater", 13, nil, []onnx.Value{u8(200), u8(1)}, "bool[1]{True}"},
		{"GreaterOrEqual", 16, nil, []onnx.Value{half(1, 2), half(2)}, "bool[2]{False True}"},
		{"And", 7, nil, []onnx.Value{b(true, false), b(true)}, "bool[2]{True False}"},
		{"Or", 7, nil, []onnx.Value{b(true, false), b(false)}, "bool[2]{True False}"},
		{"Xor", 7, nil, []onnx.Value{b(true, false), b(true)}, "bool[2]{False True}"},
		{"Not", 1, nil, []onnx.Value{b(true, false)}, "bool[2]{False True}"},
		{"Ceil", 6, nil, []onnx.Value{f32(1.2, -1.2)}, "float[2]{2 -1}"},
		{"Floor", 13, nil, []onnx.Value{f32(1.2, -1.2)}, "float[2]{1 -2}"},
		{"Sqrt", 13, nil, []onnx.Value{f32(2, -1)}, "float[2]{1.4142135 NaN}"},
		{"Neg", 6, nil, []onnx.Value{i8(-128, 3)}, "int8[2]{-128 -3}"},
		{"Abs", 6, nil, []onnx.Value{u8(200)}, "uint8[1]{200}"},
		{"Abs", 13, nil, []onnx.Value{f32(-2, float32(math.Copysign(0, -1)), nan)}, "float[3]{2 0 NaN}"},
		{"Sign", 9, nil, []onnx.Value{f32(-2, 0, inf)}, "float[3]{-1 0 1}"},
		{"Sign", 13, nil, []onnx.Value{u8(0, 9)}, "uint8[2]{0 1}"},
		// Before opset 7 operand 1 has some of operand 0's extents.
		{"Add", 6, onnx.Attrs{onnx.Int("broadcast", 1)}, []onnx.Value{grid, i64(10, 20, 30)}, "int64[2,3]{11 22 33 14 25 36}"},
		{"Add", 6, onnx.Attrs{onnx.Int("broadcast", 1), onnx.Int("axis", 0)}, []onnx.Value{grid, i64(10, 20)}, "int64[2,3]{11 12 13 24 25 26}"},
		{"Mul", 6, onnx.Attrs{onnx.Int("broadcast", 1)}, []onnx.Value{grid, hosted(t, []int64{}, int64(2))}, "int64[2,3]{2 4 6 8 10 12}"},
		{"Sub", 1, onnx.Attrs{onnx.Ints("consumed_inputs", 0, 1)}, []onnx.Value{f32(3), f32(1)}, "float[1]{2}"},

		{"ReduceSum", 13, nil, []onnx.Value{grid}, "int64[1,1]{21}"},
		{"ReduceSum", 13, onnx.Attrs{onnx.Int("keepdims", 0)}, []onnx.Value{grid, i64(-1)}, "int64[2]{6 15}"},
		{"ReduceSum", 13, onnx.Attrs{onnx.Int("noop_with_empty_axes", 1)}, []onnx.Value{grid}, "int64[2,3]{1 2 3 4 5 6}"},
		{"ReduceProd", 11, onnx.Attrs{onnx.Ints("axes", 0)}, []onnx.Value{grid}, "int64[1,3]{4 10 18}"},
		{"ReduceProd", 18, onnx.Attrs{onnx.Int("keepdims", 0)}, []onnx.Value{grid, i64(0, 1)}, "int64[]{720}"},
		{"ReduceMax", 12, onnx.Attrs{onnx.Int("keepdims", 0)}, []onnx.Value{i8(-3, -2)}, "int8[]{-2}"},
		{"ReduceMax", 20, nil, []onnx.Value{b(false, true)}, "bool[1]{True}"},
		{"ReduceMin", 20, nil, []onnx.Value{b(false, true)}, "bool[1]{False}"},
		{"ReduceMin", 18, onnx.Attrs{onnx.Int("keepdims", 0)}, []onnx.Value{none, i64(1)}, "float[2]{INF INF}"},
		{"ReduceProd", 18, onnx.Attrs{onnx.Int("keepdims", 0)}, []onnx.Value{none, i64(1)}, "float[2]{1 1}"},
		{"ReduceSum", 1, onnx.Attrs{onnx.Ints("axes", 1), onnx.Int("keepdims", 0)}, []onnx.Value{none}, "float[2]{0 0}"},

		{"NonZero", 9, nil, []onnx.Value{hosted(t, []int64{2, 2}, float32(1), float32(math.Copysign(0, -1)), 1, 1)}, "int64[2,3]{0 1 1 0 0 1}"},
		{"NonZero", 13, nil, []onnx.Value{hosted(t, []int64{}, true)}, "int64[0,1]{}"},
		{"NonZero", 13, nil, []onnx.Value{hosted(t, nil, "", "a")}, "int64[1,1]{1}"},
		{"NonZero", 13, nil, []onnx.Value{hosted(t, nil, complex64(0), 1i)}, "int64[1,1]{1}"},

		{"TopK", 1, onnx.Attrs{onnx.Int("k", 2)}, []onnx.Value{f32(1, 3, 2)}, "float[2]{3 2}; int64[2]{1 2}"},
		{"TopK", 10, onnx.Attrs{onnx.Int("axis", 0)}, []onnx.Value{hosted(t, []int64{2, 2}, float32(1), 4, 3, 2), i64(1)}, "float[1,2]{3 4}; int64[1,2]{1 0}"},
		{"TopK", 11, onnx.Attrs{onnx.Int("largest", 0)}, []onnx.Value{grid, i64(2)}, "int64[2,2]{1 2 4 5}; int64[2,2]{0 1 0 1}"},
	} {
		t.Run(fmt.Sprintf("%s-%d", c.op, c.v), func(t *testing.T) {
			got, err := calculated(t, c.op, c.v, c.attrs, c.in...)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestArithmeticRefuses(t *testing.T) {
	i64 := func(v ...int64) onnx.Value { return hosted(t, nil, v...) }
	f32 := hosted(t, nil, float32(1))
	grid := hosted(t, []int64{2, 3}, make([]int64, 6)...)
	for _, c := range []struct {
		op    string
		v     onnx.Opset
		attrs onnx.Attrs
		in    []onnx.Value
		says  string
	}{
		{"Add", 14, nil, []onnx.Value{i64(1, 2), i64(1, 2, 3)}, "[2] and [3]: extents 2 and 3 differ"},
		{"Add", 14, nil, []onnx.Value{i64(1), f32}, "they must be of one type"},
		{"Add", 14, nil, []onnx.Value{i64(1)}, "it takes 2"},
		{"Add", 6, nil, []onnx.Value{grid, i64(1)}, "attribute broadcast is not set"},
		{"Add", 6, onnx.Attrs{onnx.Int("broadcast", 1)}, []onnx.Value{grid, i64(1, 2)}, "the extents must be equal"},
		{"Add", 6, onnx.Attrs{onnx.Int("broadcast", 1), onnx.Int("axis", 1<<62)}, []onnx.Value{grid, i64(1, 2)}, "the extents must be equal"},
		{"Add", 6, onnx.Attrs{onnx.Int("broadcast", 1), onnx.Int("axis", math.MinInt64)}, []onnx.Value{grid, i64(1, 2)}, "the extents must be equal"},
		{"Div", 14, nil, []onnx.Value{i64(1), i64(0)}, "divided by 0"},
		{"Mod", 10, nil, []onnx.Value{i64(1), i64(0)}, "divided by 0"},
		{"Mod", 10, nil, []onnx.Value{f32, f32}, "fmod must be 1"},
		{"Mod", 10, onnx.Attrs{onnx.Int("fmod", 2)}, []onnx.Value{f32, f32}, "it must be 0 or 1"},
		{"Min", 6, nil, []onnx.Value{hosted(t, nil, float32(1), 2), f32}, "broadcast from opset 8"},
		{"Min", 8, nil, []onnx.Value{i64(1)}, "allows it from opset 12"},
		{"Not", 1, nil, []onnx.Value{i64(1)}, "type int64 is not allowed"},
		{"ReduceSum", 13, nil, []onnx.Value{grid, i64(2)}, "axis 2 is outside [-2,1]"},
		{"ReduceSum", 1, onnx.Attrs{onnx.Ints("axes", -3)}, []onnx.Value{grid}, "axis -3 is outside [-2,1]"},
		{"ReduceSum", 11, onnx.Attrs{onnx.Ints("axes", 1, -1)}, []onnx.Value{grid}, "listed twice"},
		{"TopK", 11, nil, []onnx.Value{grid, i64(4)}, "k is 4; axis 1 has 3 elements"},
		{"TopK", 1, nil, []onnx.Value{f32}, "attribute k is missing"},
		{"TopK", 11, nil, []onnx.Value{hosted(t, []int64{}, int64(1)), i64(1)}, "the tensor has no axes"},
	} {
		_, err := calculated(t, c.op, c.v, c.attrs, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid, "%s-%d", c.op, c.v)
		require.ErrorContains(t, err, c.says)
	}
}

// TestArithmeticBroadcasts compares random broadcasts with an index walk.
func TestArithmeticBroadcasts(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, seed))
	for range 300 {
		dims := make([]int64, rng.IntN(4))
		for i := range dims {
			dims[i] = rng.Int64N(4)
		}
		part := func() (array, onnx.Value) { // some of the extents are 1, or left out in front
			own := append([]int64{}, dims[rng.IntN(len(dims)+1):]...)
			for i := range own {
				if rng.IntN(3) == 0 {
					own[i] = 1
				}
			}
			a := numbered(layout.Int64, own...)
			return a, uploadAs(t, a, tensor.Host(), layout.Int64, views[rng.IntN(len(views))])
		}
		a, x := part()
		b, y := part()
		want, err := layout.Broadcast(a.Dims, b.Dims)
		require.NoError(t, err)
		at := func(x array, v []int64, index []int64) int64 {
			i := int64(0)
			for k, n := range x.Dims {
				if i *= n; n > 1 {
					i += index[len(index)-len(x.Dims)+k]
				}
			}
			return v[i]
		}
		va, err := tensor.Values[int64](x.(*tensor.Tensor))
		require.NoError(t, err)
		vb, err := tensor.Values[int64](y.(*tensor.Tensor))
		require.NoError(t, err)
		var sums []int64
		each(want, func(index []int64) string {
			sums = append(sums, at(a, va, index)-2*at(b, vb, index))
			return ""
		})
		twice, err := onnx.Run("Add", 14, nil, y, y)
		require.NoError(t, err)
		out, err := onnx.Run("Sub", 14, nil, x, twice[0])
		require.NoError(t, err)
		got, err := tensor.Values[int64](out[0].(*tensor.Tensor))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(sums), fmt.Sprint(got), "seed %d: %v and %v", seed, a.Dims, b.Dims)
		require.Equal(t, want.String(), out[0].(*tensor.Tensor).Shape().String())
		require.NoError(t, twice[0].Release())
		require.NoError(t, out[0].Release())
	}
}

// TestArithmeticOfONNX runs ONNX's own cases, of the wheel onnx
// (backend/test/data/node) or wherever RESTRIDE_ONNX_TESTS points to.
func TestArithmeticOfONNX(t *testing.T) {
	root := os.Getenv("RESTRIDE_ONNX_TESTS")
	if root == "" {
		t.Skip("RESTRIDE_ONNX_TESTS names no folder")
	}
	ran := map[string]int{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "model.onnx" {
			return err
		}
		m, err := model.Load(path)
		require.NoError(t, err)
		if len(m.Graph.Nodes) != 1 || m.Graph.Nodes[0].Domain != "" {
			return nil
		}
		n := &m.Graph.Nodes[0]
		for _, c := range operatorTests {
			if c.op == n.OpType && c.note == onHostNote {
				checkCase(t, filepath.Dir(path), m)
				ran[n.OpType]++
			}
		}
		return nil
	}))
	t.Logf("%v", ran)
}

// checkCase runs a case's node. Sums and products of floats may be rounded otherwise.
func checkCase(t *testing.T, dir string, m *model.Model) {
	n := &m.Graph.Nodes[0]
	load := func(file string, i int, infos []model.ValueInfo) *tensor.Tensor {
		v, err := model.LoadValue(filepath.Join(dir, "test_data_set_0", fmt.Sprintf("%s_%d.pb", file, i)), infos[i].Type)
		require.NoError(t, err, dir)
		if infos[i].Type.Elem == layout.BFloat16 {
			v.Tensor.Type = layout.BFloat16
		}
		return held(t)(onnx.Load(tensor.Host(), v.Tensor))
	}
	var in []onnx.Value
	for i := range m.Graph.Inputs {
		in = append(in, load("input", i, m.Graph.Inputs))
	}
	out, err := onnx.Run(n.OpType, onnx.Opset(m.Opsets[""]), n.Attrs, in...)
	require.NoError(t, err, dir)
	require.Len(t, out, len(n.Outputs))
	for i := range out {
		got, want := out[i].(*tensor.Tensor), load("output", i, m.Graph.Outputs)
		require.Equal(t, want.DType(), got.DType(), dir)
		require.Equal(t, want.Shape().String(), got.Shape().String(), dir)
		if got.DType() == layout.Float32 && strings.HasPrefix(n.OpType, "Reduce") {
			w, err := tensor.Values[float32](want)
			require.NoError(t, err)
			g, err := tensor.Values[float32](got)
			require.NoError(t, err)
			if len(w) > 0 && !math.IsInf(float64(w[0]), 0) {
				for k := range w {
					require.InDelta(t, w[k], g[k], 1e-5*max(1, math.Abs(float64(w[k]))), dir)
				}
			}
			continue
		}
		w, err := want.Format()
		require.NoError(t, err)
		g, err := got.Format()
		require.NoError(t, err)
		require.Equal(t, w, g, dir)
		require.NoError(t, got.Release())
	}
}
