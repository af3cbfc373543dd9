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
	for op, note := range map[string]string{
		"SequenceConstruct": "references to the tensors", "SequenceEmpty": "", "SequenceInsert": "", "SequenceErase": "", "SequenceAt": "", "SequenceLength": "",
	} {
		operatorTests = append(operatorTests, operatorTest{op: op, versions: []onnx.Opset{11}, note: note})
	}
	operatorTests = append(operatorTests,
		operatorTest{op: "SplitToSequence", versions: []onnx.Opset{11, 24}, note: "windows"},
		operatorTest{op: "ConcatFromSequence", versions: []onnx.Opset{11}},
		operatorTest{op: "Optional", versions: []onnx.Opset{15, 28}},
		operatorTest{op: "OptionalGetElement", versions: []onnx.Opset{15, 18, 28}, note: "tensors and sequences from 18"},
		operatorTest{op: "OptionalHasElement", versions: []onnx.Opset{15, 18, 28}, note: "tensors, sequences and nothing from 18"})
}

// first runs an operator and returns its output, to be released at the end.
func first(tb testing.TB, op string, v onnx.Opset, attrs onnx.Attrs, in ...onnx.Value) onnx.Value {
	tb.Helper()
	out, err := onnx.Run(op, v, attrs, in...)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, out[0].Release()) })
	return out[0]
}

// firsts returns the first element of each item.
func firsts(tb testing.TB, v onnx.Value) []float32 {
	tb.Helper()
	var all []float32
	for _, item := range v.(*onnx.Sequence).Items {
		list, err := tensor.Values[float32](item.(*tensor.Tensor))
		require.NoError(tb, err)
		all = append(all, list[0])
	}
	return all
}

// TestSequences: every position of insertions and erasures, without a copy.
func TestSequences(t *testing.T) {
	s := open(t)
	one := func(v float32) *tensor.Tensor { return held(t)(tensor.FromSlice(s, []float32{v}, 1)) }
	a, b, c, d := one(1), one(2), one(3), one(4)
	before := s.Device().Stats()
	seq := first(t, "SequenceConstruct", 11, nil, a, b, c)
	require.Equal(t, []float32{1, 2, 3}, firsts(t, seq))
	length := first(t, "SequenceLength", 11, nil, seq).(*tensor.Tensor)
	require.Empty(t, length.Shape())
	require.Same(t, tensor.Host(), length.Stream())
	n, err := tensor.Values[int64](length)
	require.NoError(t, err)
	require.Equal(t, []int64{3}, n)

	for at := -3; at <= 3; at++ {
		in := slices.Insert([]float32{1, 2, 3}, (at+3)%3, 4)
		if at == 3 {
			in = []float32{1, 2, 3, 4}
		}
		require.Equal(t, in, firsts(t, first(t, "SequenceInsert", 11, nil, seq, d, scalarOf(t, int64(at)))), "%d", at)
		if at == 3 {
			continue
		}
		require.Equal(t, slices.Delete([]float32{1, 2, 3}, (at+3)%3, (at+3)%3+1), firsts(t, first(t, "SequenceErase", 11, nil, seq, scalarOf(t, int32(at)))), "%d", at)
		x := first(t, "SequenceAt", 11, nil, seq, ints(t, tensor.Host(), int64(at))).(*tensor.Tensor)
		require.Equal(t, []*tensor.Tensor{a, b, c}[(at+3)%3].Buffer(), x.Buffer())
	}
	require.Equal(t, []float32{1, 2, 3, 4}, firsts(t, first(t, "SequenceInsert", 11, nil, seq, d)))
	require.Equal(t, []float32{1, 2}, firsts(t, first(t, "SequenceErase", 11, nil, seq, nil)))
	require.Equal(t, []float32{1, 2, 3}, firsts(t, seq), "what is given stays as it is")
	require.Equal(t, before.DeviceToDevice, s.Device().Stats().DeviceToDevice)

	empty := first(t, "SequenceEmpty", 11, onnx.Attrs{onnx.Int("dtype", int64(layout.Int8))}).(*onnx.Sequence)
	require.Equal(t, layout.Int8, empty.Elem)
	empty = first(t, "SequenceEmpty", 11, nil).(*onnx.Sequence)
	require.Equal(t, layout.Float32, empty.Elem)
	require.Equal(t, []float32{4}, firsts(t, first(t, "SequenceInsert", 11, nil, empty, d)))
}

func TestSequencesRefuse(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 2, 3))
	whole := held(t)(tensor.New(s, layout.Int64, 2))
	seq := first(t, "SequenceConstruct", 11, nil, x, x)
	none := first(t, "SequenceEmpty", 11, nil)
	at := func(i int64) onnx.Value { return scalarOf(t, i) }
	axis := onnx.Attrs{onnx.Int("axis", 0)}
	for _, c := range []struct {
		op    string
		attrs onnx.Attrs
		in    []onnx.Value
		says  string
	}{
		{"SequenceConstruct", nil, []onnx.Value{x, whole}, "input 1 is int64[2]; it must be a tensor of float"},
		{"SequenceConstruct", nil, []onnx.Value{seq}, "a sequence of float is given; a tensor is needed"},
		{"SequenceConstruct", nil, nil, "0 inputs are given"},
		{"SequenceEmpty", onnx.Attrs{onnx.Int("dtype", 99)}, nil, "type dtype(99) is not allowed"},
		{"SequenceEmpty", onnx.Attrs{onnx.Int("dtype", 0)}, nil, "attribute dtype is 0"},
		{"SequenceInsert", nil, []onnx.Value{x, x}, "float[2,3] is given; a sequence is needed"},
		{"SequenceInsert", nil, []onnx.Value{seq, whole}, "input 1 is int64[2]; it must be a tensor of float"},
		{"SequenceInsert", nil, []onnx.Value{seq, seq}, "input 1 is a sequence of float; it must be a tensor"},
		{"SequenceInsert", nil, []onnx.Value{seq, x, at(3)}, "position 3 is outside [-2,2]: the sequence has 2 items"},
		{"SequenceErase", nil, []onnx.Value{seq, at(2)}, "position 2 is outside [-2,1]"},
		{"SequenceErase", nil, []onnx.Value{none}, "the sequence is empty"},
		{"SequenceAt", nil, []onnx.Value{none, at(0)}, "the sequence is empty"},
		{"SequenceAt", nil, []onnx.Value{seq, whole}, "the position has shape [2]; it must be one number"},
		{"SequenceAt", nil, []onnx.Value{seq, x}, "the position is float; it must be int64 or int32"},
		{"SequenceAt", nil, []onnx.Value{seq, at(-3)}, "position -3 is outside [-2,1]"},
		{"SplitToSequence", nil, []onnx.Value{x, at(0)}, "split is 0; it must be positive"},
		{"SplitToSequence", nil, []onnx.Value{x, ints(t, s, 1, 2)}, "split"},
		{"SplitToSequence", onnx.Attrs{onnx.Int("axis", 2)}, []onnx.Value{x}, "axis 2 is outside [-2,1]"},
		{"ConcatFromSequence", nil, []onnx.Value{seq}, "attribute axis is missing"},
		{"ConcatFromSequence", axis, []onnx.Value{none}, "the sequence is empty: there is nothing to join"},
		{"ConcatFromSequence", onnx.Attrs{onnx.Int("axis", 3), onnx.Int("new_axis", 1)}, []onnx.Value{seq}, "axis 3 is outside [-3,2]"},
		{"ConcatFromSequence", onnx.Attrs{onnx.Int("axis", 0), onnx.Int("new_axis", 2)}, []onnx.Value{seq}, "attribute new_axis is 2; it must be 0 or 1"},
	} {
		_, err := onnx.Run(c.op, 17, c.attrs, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid, "%s: %s", c.op, c.says)
		require.ErrorContains(t, err, c.says)
	}
}

// TestSplitAndConcatSequences: windows by one number, by a list, and one by one; joined along
// an axis or a new one.
func TestSplitAndConcatSequences(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 2, 5))
	axis := func(i int64, more ...onnx.Attr) onnx.Attrs { return append(onnx.Attrs{onnx.Int("axis", i)}, more...) }
	shapes := func(v onnx.Value) (all []layout.Shape) {
		for _, item := range v.(*onnx.Sequence).Items {
			require.Equal(t, x.Buffer(), item.(*tensor.Tensor).Buffer())
			all = append(all, item.(*tensor.Tensor).Shape())
		}
		return all
	}
	by2 := first(t, "SplitToSequence", 11, axis(1), x, scalarOf(t, int64(2)))
	require.Equal(t, []layout.Shape{{2, 2}, {2, 2}, {2, 1}}, shapes(by2))
	listed := first(t, "SplitToSequence", 24, axis(-1, onnx.Int("keepdims", 0)), x, held(t)(tensor.FromSlice(tensor.Host(), []int32{4, 0, 1}, 3)))
	require.Equal(t, []layout.Shape{{2, 4}, {2, 0}, {2, 1}}, shapes(listed), "keepdims has no meaning with split")
	require.Equal(t, []layout.Shape{{1, 5}, {1, 5}}, shapes(first(t, "SplitToSequence", 11, nil, x)))
	rows := first(t, "SplitToSequence", 11, axis(0, onnx.Int("keepdims", 0)), x, nil)
	require.Equal(t, []layout.Shape{{5}, {5}}, shapes(rows))

	for _, c := range []struct {
		attrs onnx.Attrs
		in    onnx.Value
		shape layout.Shape
		want  []float32
	}{
		{axis(1), by2, layout.Shape{2, 5}, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{axis(0, onnx.Int("new_axis", 1)), rows, layout.Shape{2, 5}, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{axis(-1, onnx.Int("new_axis", 1)), rows, layout.Shape{5, 2}, []float32{1, 6, 2, 7, 3, 8, 4, 9, 5, 10}},
		{axis(0), rows, layout.Shape{10}, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
	} {
		y := first(t, "ConcatFromSequence", 11, c.attrs, c.in).(*tensor.Tensor)
		require.Equal(t, c.shape, y.Shape())
		got, err := tensor.Values[float32](y)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

// TestSequenceOfASession: a sequence whose last use is an insertion hands its items over; one
// that is used again keeps them.
func TestSequenceOfASession(t *testing.T) {
	s := open(t)
	m := graphOf(layout.Float32,
		node("SequenceConstruct", "a", []string{"x", "x"}),
		node("SequenceInsert", "b", []string{"a", "x"}),
		node("SequenceErase", "c", []string{"b", "zero"}),
		node("SequenceInsert", "d", []string{"b", "x", "zero"}),
		node("SequenceLength", "n", []string{"d"}),
		node("ConcatFromSequence", "y", []string{"d"}, onnx.Int("axis", 0)))
	m.Graph.Initializers = []model.Tensor{constant(t, "zero", []int64{0})}
	m.Graph.Outputs = outputs("y", "n", "c")
	x := held(t)(tensor.FromSlice(s, []float32{7}, 1))
	out := run(t, session(t, s, m), onnx.Values{"x": x})
	require.Equal(t, []float32{7, 7, 7, 7}, valuesOf[float32](t, out, "y"))
	require.Equal(t, []int64{4}, valuesOf[int64](t, out, "n"))
	require.Equal(t, []float32{7, 7}, firsts(t, out["c"]))

	m.Graph.Initializers = []model.Tensor{constant(t, "zero", []int64{9})}
	_, err := session(t, s, m).Run(t.Context(), onnx.Values{"x": x})
	require.ErrorContains(t, err, "position 9 is outside [-3,2]")
}

func TestOptional(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 2))
	seq := first(t, "SequenceConstruct", 15, nil, x)
	float := model.Type{Kind: model.TensorType, Elem: layout.Float32}
	list := model.SequenceOf(float)
	of := func(t *model.Type) onnx.Attrs { return onnx.Attrs{{Name: "type", Value: t}} }
	has := func(v onnx.Opset, in ...onnx.Value) bool {
		y, err := tensor.Values[bool](first(t, "OptionalHasElement", v, nil, in...).(*tensor.Tensor))
		require.NoError(t, err)
		return y[0]
	}
	for _, in := range []onnx.Value{x, seq} {
		o := first(t, "Optional", 15, nil, in)
		require.True(t, has(15, o))
		require.IsType(t, in, first(t, "OptionalGetElement", 15, nil, o))
		require.IsType(t, in, first(t, "OptionalGetElement", 18, nil, in))
		require.True(t, has(18, in))
	}
	none := first(t, "Optional", 15, of(&list))
	require.Equal(t, layout.Float32, none.(*onnx.Optional).Elem)
	require.False(t, has(15, none))
	require.False(t, has(18))
	require.False(t, has(18, nil))
	first(t, "Optional", 15, of(&list), seq)
	held(t)(tensor.New(s, layout.Int4, 2))

	four := held(t)(tensor.New(s, layout.Int4, 2))
	first(t, "Optional", 28, nil, four)
	for _, c := range []struct {
		op    string
		v     onnx.Opset
		attrs onnx.Attrs
		in    []onnx.Value
		says  string
	}{
		{"Optional", 15, nil, nil, "without an input, attribute type must say"},
		{"Optional", 15, of(&float), []onnx.Value{seq}, "the input is a sequence of float; attribute type says float"},
		{"Optional", 15, onnx.Attrs{onnx.Int("type", 1)}, []onnx.Value{x}, "attribute type is of kind int"},
		{"Optional", 15, nil, []onnx.Value{four}, "type int4 is not allowed; Optional allows it from opset 28"},
		{"OptionalGetElement", 15, nil, []onnx.Value{x}, "float[2] is given; an optional is needed"},
		{"OptionalGetElement", 15, nil, []onnx.Value{none}, "the optional of float has no value"},
		{"OptionalHasElement", 15, nil, []onnx.Value{seq}, "a sequence of float is not allowed; OptionalHasElement allows it from opset 18"},
		{"OptionalHasElement", 15, nil, nil, "0 inputs are given; it takes 1"},
	} {
		_, err := onnx.Run(c.op, c.v, c.attrs, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid, "%s: %s", c.op, c.says)
		require.ErrorContains(t, err, c.says)
	}
}

// TestSequenceMap: the body gets item after item, and what is no sequence each time.
func TestSequenceMap(t *testing.T) {
	s := open(t)
	body := inputsOf(bodyOf("body", []string{"joined", "shape"},
		node("Concat", "joined", []string{"item", "each"}, onnx.Int("axis", 0)), node("Shape", "shape", []string{"joined"})),
		input("item", layout.Float32), input("each", layout.Float32))
	m := graphOf(layout.Float32, node("SequenceMap", "y", []string{"s", "x"}, body))
	m.Graph.Inputs = append(m.Graph.Inputs, model.ValueInfo{Name: "s", Type: model.SequenceOf(model.Type{Kind: model.TensorType, Elem: layout.Float32})})
	m.Graph.Nodes[0].Outputs = []string{"y", "shapes"}
	m.Graph.Outputs = outputs("y", "shapes")
	sess := session(t, s, m)
	a := held(t)(tensor.FromSlice(s, []float32{1}, 1))
	b := held(t)(tensor.FromSlice(s, []float32{2, 3}, 2))
	seq := &onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{a, b}}
	out := run(t, sess, onnx.Values{"s": seq, "x": a})
	require.Equal(t, []float32{1, 2}, firsts(t, out["y"]))
	require.Equal(t, layout.Int64, out["shapes"].(*onnx.Sequence).Elem)
	second, err := tensor.Values[int64](out["shapes"].(*onnx.Sequence).Items[1].(*tensor.Tensor))
	require.NoError(t, err)
	require.Equal(t, []int64{3}, second)

	_, err = sess.Run(t.Context(), onnx.Values{"s": &onnx.Sequence{Elem: layout.Float32}, "x": a})
	require.ErrorContains(t, err, `the body does not declare the type of its output "joined"`)
}

// TestBugMapOfSequences: the items of a sequence are tensors.
func TestBugMapOfSequences(t *testing.T) {
	s := open(t)
	body := inputsOf(bodyOf("body", []string{"list"}, node("SequenceConstruct", "list", []string{"item"})), input("item", layout.Float32))
	sess := session(t, s, graphOf(layout.Float32, node("SequenceConstruct", "s", []string{"x"}), node("SequenceMap", "y", []string{"s"}, body)))
	_, err := sess.Run(t.Context(), onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 2))})
	require.ErrorIs(t, err, device.ErrInvalid)
	require.ErrorContains(t, err, `the body's output "list" is a sequence of float in iteration 0; the items`)
}
