package onnxruntime_test

import (
	"context"
	"math"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func node(op string, inputs, outputs []string, attrs ...model.Attr) model.Node {
	return model.NewNode(op, inputs, outputs, attrs...)
}

func list(names ...string) []string { return names }

func values(names ...string) (infos []model.ValueInfo) {
	for _, name := range names {
		infos = append(infos, model.ValueInfo{Name: name})
	}
	return infos
}

// modelOf returns a model with inputs and outputs of any type.
func modelOf(inputs, outputs []string, nodes ...model.Node) *model.Model {
	m := model.New("test", 17)
	m.Graph.Inputs, m.Graph.Outputs, m.Graph.Nodes = values(inputs...), values(outputs...), nodes
	return m
}

func run(t *testing.T, sess *onnx.Session, in onnx.Values) onnx.Values {
	t.Helper()
	out, err := sess.Run(t.Context(), in)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, out.Release()) })
	return out
}

// floats returns an output as floats, checking its shape and type.
func floats(t *testing.T, out onnx.Values, name string, of layout.DType, dims ...int64) []float32 {
	t.Helper()
	x, err := out.Tensor(name)
	require.NoError(t, err)
	require.Equal(t, of.String()+layout.Shape(dims).String(), x.DType().String()+x.Shape().String(), name)
	y := held(t)(x.Cast(layout.Float32, device.Rounding{}))
	v, err := tensor.Values[float32](y)
	require.NoError(t, err)
	return v
}

func input(t *testing.T, s *tensor.Stream, of layout.DType, v []float32, dims ...int64) *tensor.Tensor {
	t.Helper()
	return held(t)(held(t)(tensor.FromSlice(s, v, dims...)).Cast(of, device.Rounding{}))
}

// TestTypes: scalars, tensors without elements, and types that Go lacks are passed in and out,
// the first time and when shapes are known.
func TestTypes(t *testing.T) {
	s := openOn(t, "cpu")
	m := modelOf(list("half", "one", "none", "wide"), list("roots", "sum", "exps", "empty", "rows", "mean"),
		node("Sqrt", list("half"), list("roots")),
		node("ReduceSum", list("half"), list("sum"), onnx.Int("keepdims", 0)),
		node("Exp", list("one"), list("exps")),
		node("Sqrt", list("none"), list("empty")),
		node("MatMul", list("none", "wide"), list("rows")),
		node("ReduceMean", list("wide"), list("mean"), onnx.Int("keepdims", 0)))
	sess := newSession(t, s, m, newEngine(t))
	in := onnx.Values{
		"half": input(t, s, layout.Float16, []float32{4, 9, 16}, 3),
		"one":  input(t, s, layout.Float32, []float32{0}, []int64{}...),
		"none": input(t, s, layout.Float64, nil, 0, 2),
		"wide": input(t, s, layout.Float64, []float32{1, 2, 3, 4, 5, 6}, 2, 3),
	}
	for range 3 {
		out := run(t, sess, in)
		require.Equal(t, []float32{2, 3, 4}, floats(t, out, "roots", layout.Float16, 3))
		require.Equal(t, []float32{29}, floats(t, out, "sum", layout.Float16))
		require.Equal(t, []float32{1}, floats(t, out, "exps", layout.Float32))
		require.Empty(t, floats(t, out, "empty", layout.Float64, 0, 2))
		require.Empty(t, floats(t, out, "rows", layout.Float64, 0, 3))
		require.Equal(t, []float32{3.5}, floats(t, out, "mean", layout.Float64))
	}
	// Types and ranks come from the call, not from the model.
	in["one"] = input(t, s, layout.Float64, []float32{0, 0}, 2)
	require.Equal(t, []float32{1, 1}, floats(t, run(t, sess, in), "exps", layout.Float64, 2))
}

// TestOldOpset: axes were attributes.
func TestOldOpset(t *testing.T) {
	s := openOn(t, "cpu")
	m := modelOf(list("x"), list("y"), node("ReduceSum", list("x"), list("y"), onnx.Int("keepdims", 0)))
	m.Opsets[""] = 11
	out := run(t, newSession(t, s, m, newEngine(t)), onnx.Values{"x": input(t, s, layout.Float32, []float32{1, 2, 3}, 3)})
	require.Equal(t, []float32{6}, floats(t, out, "y", layout.Float32))
}

// TestViews: windows of inputs and views of outputs remain views. Those that the engine needs
// contiguous are copied for it, and reports say so; contiguous parts of other memory are not
// copied.
func TestViews(t *testing.T) {
	s := openOn(t, "cpu")
	m := modelOf(list("x"), list("y", "z"),
		node("Slice", list("x", "one", "three", "one"), list("right")),
		node("Exp", list("right"), list("a")),
		node("Transpose", list("a"), list("y")),
		node("Split", list("x"), list("first", "second"), onnx.Int("axis", 0)),
		node("Exp", list("second"), list("z")))
	for name, v := range map[string]int64{"one": 1, "three": 3} {
		x, err := model.NewTensor(name, []int64{v}, 1)
		require.NoError(t, err)
		m.Graph.Initializers = append(m.Graph.Initializers, x)
	}
	sess := newSession(t, s, m, newEngine(t))
	bytes := map[string]int64{}
	sess.OnNode(func(n onnx.NodeReport) { bytes[n.Output] = n.Bytes })
	x := input(t, s, layout.Float32, []float32{0, 0, 0, 1, 2, 3}, 2, 3)
	out := run(t, sess, onnx.Values{"x": x})
	e := func(v float64) float32 { return float32(math.Exp(v)) }
	require.InDeltaSlice(t, []float32{1, e(2), 1, e(3)}, floats(t, out, "y", layout.Float32, 2, 2), 1e-5)
	require.InDeltaSlice(t, []float32{e(1), e(2), e(3)}, floats(t, out, "z", layout.Float32, 1, 3), 1e-5)
	require.Equal(t, map[string]int64{"right": 0, "a": 16, "y": 0, "first": 0, "z": 0}, bytes)
}

// TestShapesOfElements: shapes of outputs may follow from elements, and change from run to
// run.
func TestShapesOfElements(t *testing.T) {
	s := openOn(t, "cpu")
	sess := newSession(t, s, modelOf(list("x"), list("y"), node("Unique", list("x"), list("y"))), newEngine(t))
	for _, c := range []struct{ in, want []float32 }{
		{[]float32{1, 1, 1}, []float32{1}},
		{[]float32{1, 1, 1}, []float32{1}},
		{[]float32{3, 2, 3}, []float32{2, 3}},
		{[]float32{3, 2, 1}, []float32{1, 2, 3}},
		{[]float32{1, 1, 1}, []float32{1}},
	} {
		out := run(t, sess, onnx.Values{"x": input(t, s, layout.Float32, c.in, 3)})
		require.Equal(t, c.want, floats(t, out, "y", layout.Float32, int64(len(c.want))))
	}
}

// TestDomains: ONNX Runtime's own operators, and functions of the model.
func TestDomains(t *testing.T) {
	s := openOn(t, "cpu")
	m := modelOf(list("x"), list("y"),
		model.Node{OpType: "Gelu", Domain: "com.microsoft", Inputs: list("x"), Outputs: list("a")},
		model.Node{OpType: "Twice", Domain: "test", Inputs: list("a"), Outputs: list("y")})
	m.Opsets["com.microsoft"], m.Opsets["test"] = 1, 1
	m.Functions = []model.Function{{Domain: "test", Name: "Twice", Inputs: list("v"), Outputs: list("w"), Opsets: map[string]int64{"": 17},
		Nodes: []model.Node{node("Add", list("v", "v"), list("w"))}}}
	out := run(t, newSession(t, s, m, newEngine(t)), onnx.Values{"x": input(t, s, layout.Float32, []float32{0, 1}, 2)})
	require.InDeltaSlice(t, []float32{0, 2 * .8413447}, floats(t, out, "y", layout.Float32, 2), 1e-5)
}

// TestWeights: large ones and those in separate files.
func TestWeights(t *testing.T) {
	const n = 600
	w := make([]float32, n*n)
	for i := range n {
		w[i*n+(i+1)%n] = 2
	}
	m := modelOf(list("x"), list("y"), node("MatMul", list("x", "w"), list("y")))
	weights, err := model.NewTensor("w", w, n, n)
	require.NoError(t, err)
	m.Graph.Initializers = []model.Tensor{weights}
	path := filepath.Join(t.TempDir(), "m.onnx")
	require.NoError(t, m.SaveExternal(path, "w.bin", 1))
	external, err := model.Load(path)
	require.NoError(t, err)
	require.NotNil(t, external.Graph.Initializers[0].External)
	s := openOn(t, "cpu")
	x := make([]float32, n)
	x[0], x[n-1] = 1, 3
	want := make([]float32, n)
	want[1], want[0] = 2, 6
	in := held(t)(tensor.FromHost(x, 1, n))
	for _, m := range []*model.Model{m, external} {
		before := s.Device().Stats().Live
		sess := newSession(t, s, m, newEngine(t))
		require.Equal(t, before, s.Device().Stats().Live, "weights that the session has beside ONNX Runtime")
		out, err := sess.Run(t.Context(), onnx.Values{"x": in})
		require.NoError(t, err)
		require.Equal(t, want, floats(t, out, "y", layout.Float32, 1, n))
		require.NoError(t, out.Release())
	}
}

// TestNoInputs: a group of constants alone.
func TestNoInputs(t *testing.T) {
	m := modelOf(nil, list("y"), node("Exp", list("zero"), list("y")))
	zero, err := model.NewTensor("zero", []float32{0, 0}, 2)
	require.NoError(t, err)
	m.Graph.Initializers = []model.Tensor{zero}
	out := run(t, newSession(t, openOn(t, "cpu"), m, newEngine(t)), nil)
	require.Equal(t, []float32{1, 1}, floats(t, out, "y", layout.Float32, 2))
}

// TestArithmeticOfMany: the session computes shapes, unless they have many elements.
func TestArithmeticOfMany(t *testing.T) {
	m := modelOf(list("x"), list("y"),
		node("Shape", list("x"), list("shape")),
		node("ConstantOfShape", list("shape"), list("zeros")),
		node("Add", list("zeros", "one"), list("y")))
	one, err := model.NewTensor("one", []float32{1}, []int64{}...)
	require.NoError(t, err)
	m.Graph.Initializers = []model.Tensor{one}
	s := openOn(t, "cpu")
	sess := newSession(t, s, m, newEngine(t))
	for _, n := range []int64{3, 70_000} {
		out := run(t, sess, onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, n))})
		for _, v := range floats(t, out, "y", layout.Float32, n) {
			require.Equal(t, float32(1), v)
		}
	}
}

// TestPlan: a plan contains the shapes that ONNX Runtime infers.
func TestPlan(t *testing.T) {
	s := openOn(t, "cpu")
	m := modelOf(list("x"), list("y"),
		node("MatMul", list("x", "w"), list("a")),
		node("Transpose", list("a"), list("b")),
		node("Flatten", list("b"), list("y"), onnx.Int("axis", 0)))
	w, err := model.NewTensor("w", make([]float32, 12), 3, 4)
	require.NoError(t, err)
	m.Graph.Initializers = []model.Tensor{w}
	m.Graph.Inputs[0].Type = model.TensorOf(layout.Float32, model.Symbolic("n"), model.Known(3))
	p, err := newSession(t, s, m, newEngine(t)).Plan(map[string]layout.Shape{"x": {5, 3}}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(4*5*4), p.Copied, "no view of the transposed product is flat")
	require.Equal(t, layout.Shape{1, 20}, p.Nodes[len(p.Nodes)-1].Shape)
}

// TestBugPlanOfForgottenWeights: a plan needs no weights, which are forgotten if they are large.
func TestBugPlanOfForgottenWeights(t *testing.T) {
	b := build(t, floatInput("x", 5, 100))
	b.model.Graph.Outputs = values(b.add("MatMul", list("x", b.weights(100, 40))))
	b.model.Graph.Inputs[0].Type.Dims[0] = model.Symbolic("n")
	p, err := newSession(t, openOn(t, "cpu"), b.model, newEngine(t)).Plan(map[string]layout.Shape{"x": {5, 100}}, nil)
	require.NoError(t, err)
	require.Equal(t, layout.Shape{5, 40}, p.Nodes[len(p.Nodes)-1].Shape)
}

// TestConcurrentRuns: 8 goroutines, two shapes.
func TestConcurrentRuns(t *testing.T) {
	s := openOn(t, "cpu")
	sess := newSession(t, s, modelOf(list("x"), list("y"), node("Exp", list("x"), list("y"))), newEngine(t))
	var wg sync.WaitGroup
	for k := range 8 {
		n := int64(1 + k%2)
		x := input(t, s, layout.Float32, []float32{float32(k), float32(k)}[:n], n)
		wg.Go(func() {
			for range 50 {
				out, err := sess.Run(context.Background(), onnx.Values{"x": x})
				if err != nil {
					t.Error(err)
					return
				}
				v, err := tensor.Values[float32](out["y"].(*tensor.Tensor))
				if err != nil || math.Abs(float64(v[0])-math.Exp(float64(k))) > 1e-3 || len(v) != int(n) {
					t.Errorf("exp(%d) is %v: %v", k, v, err)
				}
				if err := out.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestCancelled: a context that is done ends a run within ONNX Runtime.
func TestCancelled(t *testing.T) {
	s := openOn(t, "cpu")
	body := &model.Graph{Name: "body", Inputs: values("i", "on", "v"), Outputs: values("on_", "v_"), Nodes: []model.Node{
		node("Identity", list("on"), list("on_")), node("Add", list("v", "v"), list("v_")),
	}}
	for i, of := range []layout.DType{layout.Int64, layout.Bool, layout.Float32} {
		body.Inputs[i].Type = model.TensorOf(of)
	}
	m := modelOf(list("times", "x"), list("y"), node("Loop", list("times", "", "x"), list("y"), model.Attr{Name: "body", Value: body}))
	sess := newSession(t, s, m, newEngine(t))
	in := onnx.Values{"x": input(t, s, layout.Float32, []float32{1}, []int64{}...)}
	times := func(n int64) { in["times"] = held(t)(tensor.FromSlice(s, []int64{n}, []int64{}...)) }
	times(3)
	require.Equal(t, []float32{8}, floats(t, run(t, sess, in), "y", layout.Float32))
	times(1 << 60)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := sess.Run(ctx, in)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	times(2)
	require.Equal(t, []float32{4}, floats(t, run(t, sess, in), "y", layout.Float32))
}

// TestTransfers: on a device without host memory, groups get their inputs by transfers, and
// return their outputs by transfers.
func TestTransfers(t *testing.T) {
	for _, name := range []string{"opencl:0", "cuda:0"} {
		t.Run(name, func(t *testing.T) { testTransfers(t, name) })
	}
}

func testTransfers(t *testing.T, device string) {
	engine := newEngine(t)
	s := openOn(t, device)
	m := modelOf(list("x"), list("y"),
		node("Transpose", list("x"), list("a")),
		node("Exp", list("a"), list("b")),
		node("Transpose", list("b"), list("y")))
	sess := newSession(t, s, m, engine)
	var groups []onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) {
		if n.Group != nil {
			groups = append(groups, n)
		}
	})
	x := input(t, s, layout.Float32, []float32{0, 0, 0, 1, 0, 0}, 2, 3)
	before := s.Device().Stats()
	out := run(t, sess, onnx.Values{"x": x})
	after := s.Device().Stats()
	require.Equal(t, s, out["y"].(*tensor.Tensor).Stream())
	require.InDeltaSlice(t, []float32{1, 1, 1, math.E, 1, 1}, floats(t, out, "y", layout.Float32, 2, 3), 1e-5)
	require.Len(t, groups, 1)
	require.Equal(t, []int64{24, 24}, []int64{groups[0].Read, groups[0].Sent})
	require.Equal(t, int64(24), after.DeviceToHost-before.DeviceToHost)
	require.Equal(t, int64(24), after.HostToDevice-before.HostToDevice)
}

// TestOtherDomainsAlone: a model that does not import ONNX's own operators gets those that
// the adapter adds.
func TestOtherDomainsAlone(t *testing.T) {
	s := openOn(t, "cpu")
	m := modelOf(list("x"), list("y"), model.Node{OpType: "Gelu", Domain: "com.microsoft", Inputs: list("x"), Outputs: list("y")})
	m.Opsets = map[string]int64{"com.microsoft": 1}
	out := run(t, newSession(t, s, m, newEngine(t)), onnx.Values{"x": input(t, s, layout.Float32, []float32{0}, []int64{}...)})
	require.Equal(t, []float32{0}, floats(t, out, "y", layout.Float32))
}

// TestBugNamesOfTheAdapter: models may have values with names that the adapter uses.
func TestBugNamesOfTheAdapter(t *testing.T) {
	s := openOn(t, "cpu")
	inner := &model.Graph{Name: "inner", Outputs: values("restride.cast.half"), Nodes: []model.Node{
		node("Sqrt", list("restride.axes"), list("restride.cast.half")),
	}}
	m := modelOf(list("restride.axes", "restride.axes_", "b"), list("sum", "half", "scalar"),
		node("ReduceSum", list("restride.axes"), list("sum"), onnx.Int("keepdims", 0)),
		node("Exp", list("sum"), list("restride.unsqueezed.sum")),
		node("Log", list("restride.unsqueezed.sum"), list("restride.of.restride.axes_")),
		node("Mul", list("restride.axes_", "restride.of.restride.axes_"), list("scalar")),
		node("If", list("b"), list("whole"), model.Attr{Name: "then_branch", Value: inner}, model.Attr{Name: "else_branch", Value: inner}),
		node("Cast", list("whole"), list("half"), onnx.Int("to", int64(layout.Float16))))
	in := onnx.Values{
		"restride.axes":  input(t, s, layout.Float32, []float32{4, 9}, 2),
		"restride.axes_": input(t, s, layout.Float32, []float32{2}, []int64{}...),
		"b":              held(t)(tensor.FromSlice(s, []bool{true}, []int64{}...)),
	}
	sess := newSession(t, s, m, newEngine(t))
	for range 2 {
		out := run(t, sess, in)
		require.Equal(t, []float32{13}, floats(t, out, "sum", layout.Float32))
		require.InDeltaSlice(t, []float32{26}, floats(t, out, "scalar", layout.Float32), 1e-3)
		require.Equal(t, []float32{2, 3}, floats(t, out, "half", layout.Float16, 2))
	}
	none := modelOf(nil, list("restride.none"), node("RandomNormal", nil, list("restride.none"), onnx.Ints("shape", 3)))
	require.Len(t, floats(t, run(t, newSession(t, s, none, newEngine(t)), nil), "restride.none", layout.Float32, 3), 3)
}
