package onnx_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// Once each node was looked up in the list of functions: 2.5 billion steps.
func TestManyNodesAndManyFunctions(t *testing.T) {
	const n = 50_000
	m := chain(n)
	for i := range n {
		m.Functions = append(m.Functions, model.Function{Name: "Transpose", Overload: fmt.Sprint(i)})
	}
	m.Functions[7].Domain = "ai.onnx"
	session(t, open(t), m)
	m.Graph.Nodes[5].Overload = "7"
	refused(t, m, device.ErrUnsupported, "not supported: Transpose (a function of the model)")
}

// Once each node's inputs were looked up in the list of the graph's, and in that of
// what the node is the last to use.
func TestManyInputs(t *testing.T) {
	const n = 50_000
	m := model.New("wide", 21)
	m.Graph.Outputs = outputs("y")
	var all []string
	for i := range n {
		in, copied := fmt.Sprint("x", i), fmt.Sprint("v", i)
		m.Graph.Inputs = append(m.Graph.Inputs, input(in, layout.Float32))
		m.Graph.Initializers = append(m.Graph.Initializers, constant(t, fmt.Sprint("c", i), []float32{1}))
		m.Graph.Nodes = append(m.Graph.Nodes, node("Identity", copied, []string{in}))
		all = append(all, copied, fmt.Sprint("c", i))
	}
	m.Graph.Nodes = append(m.Graph.Nodes, node("Concat", "y", all, onnx.Int("axis", 0)))
	session(t, open(t), m)
}

// Once each of the axes copied all of them.
func TestSliceOfAHighRank(t *testing.T) {
	const rank = 50_000
	s := open(t)
	dims, ends := make([]int64, rank), make([]int64, rank)
	for i := range dims {
		dims[i], ends[i] = 1, 1
	}
	x := held(t)(tensor.New(s, layout.Int8, dims...))
	y := held(t)(onnx.Slice(x, 13, make([]int64, rank), ends, nil, nil))
	require.Equal(t, rank, y.Rank())
}

// Once a default was taken whatever its input was declared as.
func TestDefaultsThatAreNotAsDeclared(t *testing.T) {
	for _, c := range []struct {
		typ  model.Type
		says string
	}{
		{model.Type{Kind: model.TensorType, Elem: layout.Float32}, `graph: the default of input "d" is int64[2]; the graph declares float`},
		{model.TensorOf(layout.Int64, model.Known(3)), "declares int64[3]"},
		{model.TensorOf(layout.Int64, model.Known(2), model.Symbolic("N")), "declares int64[2,N]"},
		{model.SequenceOf(model.Type{Kind: model.TensorType, Elem: layout.Int64}), "declares sequence(int64)"},
		{model.TensorOf(layout.Int64, model.Symbolic("N")), ""},
		{model.Type{Kind: model.TensorType}, ""},
		{model.Type{}, ""},
	} {
		dense := chain(1)
		dense.Graph.Inputs = append(dense.Graph.Inputs, model.ValueInfo{Name: "d", Type: c.typ})
		spread := chain(1)
		spread.Graph.Inputs = dense.Graph.Inputs
		dense.Graph.Initializers = []model.Tensor{constant(t, "d", []int64{1, 2})}
		w := sparse(t, numbers(5), []int64{1}, 2)
		w.Values.Name = "d"
		spread.Graph.SparseInitializers = []model.SparseTensor{*w}
		for _, m := range []*model.Model{dense, spread} {
			if c.says == "" {
				session(t, open(t), m)
			} else {
				refused(t, m, device.ErrInvalid, c.says)
			}
		}
	}
}

// Once what a graph made was handed out whatever its output was declared as.
func TestOutputsThatAreNotAsDeclared(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.FromSlice(s, []float32{1, 2}, 1, 2))
	for _, c := range []struct {
		typ  model.Type
		says string
	}{
		{model.Type{Kind: model.TensorType, Elem: layout.Int64}, `output "y" is float[2,1]; the graph declares int64`},
		{model.OptionalOf(model.Type{Kind: model.TensorType, Elem: layout.Float32}), "declares optional(float)"},
		{model.TensorOf(layout.Int64, model.Known(2), model.Known(1)), "declares int64[2,1]"},
		// Extents are not compared.
		{model.TensorOf(layout.Float32, model.Known(1), model.Symbolic("N")), ""},
		{model.TensorOf(layout.Float32), ""},
		{model.Type{Kind: model.TensorType}, ""},
		{model.Type{}, ""},
	} {
		m := chain(3)
		m.Graph.Outputs = append(outputs("x", "v1"), model.ValueInfo{Name: "y", Type: c.typ})
		sess := session(t, s, m)
		out, err := sess.Run(context.Background(), onnx.Values{"x": x})
		if c.says == "" {
			require.NoError(t, err)
			require.NoError(t, out.Release())
			continue
		}
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
		require.Nil(t, out)
	}
}

// Once they were printed as Go structs of pointers.
func TestContainersAreReadable(t *testing.T) {
	s := open(t)
	a, b := held(t)(tensor.FromSlice(s, []float32{1, 2}, 2)), held(t)(tensor.FromSlice(s, []float32{3}, 1))
	items := &onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{a, b}}
	require.Equal(t, fmt.Sprintf("sequence of float, 2 items:\n%v\n%v", a, b), fmt.Sprint(items))
	require.Equal(t, "sequence of float, 0 items", fmt.Sprint(&onnx.Sequence{Elem: layout.Float32}))
	require.Equal(t, "optional of float: none", fmt.Sprint(&onnx.Optional{Elem: layout.Float32}))
	require.Equal(t, fmt.Sprintf("optional of float: %v", a), fmt.Sprint(&onnx.Optional{Elem: layout.Float32, Value: a}))
	require.Equal(t, fmt.Sprintf("optional of float: %v", items), fmt.Sprint(&onnx.Optional{Elem: layout.Float32, Value: items}))
	require.Equal(t, "<nil> <nil>", fmt.Sprint((*onnx.Sequence)(nil), (*onnx.Optional)(nil)))

	for want, v := range map[string]onnx.Value{
		"float[2]":                  a,
		"sequence(float)":           items,
		"optional(float)":           &onnx.Optional{Elem: layout.Float32},
		"optional(sequence(float))": &onnx.Optional{Elem: layout.Float32, Value: items},
	} {
		m := model.New("m", 21)
		m.Graph.Inputs, m.Graph.Outputs = outputs("x"), outputs("y")
		m.Graph.Nodes = []model.Node{node("Identity", "y", []string{"x"})}
		sess := session(t, s, m)
		var got string
		sess.OnNode(func(n onnx.NodeReport) { got = n.TypeString() })
		run(t, sess, onnx.Values{"x": v})
		require.Equal(t, want, got)
	}
}

// Once such models were refused.
func TestSparseInitializers(t *testing.T) {
	w := sparse(t, numbers(5, 7), []int64{0, 2, 1, 0}, 2, 3)
	w.Values.Name = "w"
	at := sparse(t, numbers(6), []int64{0}, 1)
	at.Values.Name = "shape"
	m := model.New("sparse", 21)
	m.Graph.Inputs = []model.ValueInfo{input("shape", layout.Int64)}
	m.Graph.SparseInitializers = []model.SparseTensor{*w, *at}
	m.Graph.Nodes = []model.Node{node("Reshape", "y", []string{"w", "shape"})}
	m.Graph.Outputs = outputs("y", "w")
	onFake, _ := openFake(t)
	for _, s := range []*tensor.Stream{open(t), onFake} {
		sess := session(t, s, m)
		require.Empty(t, sess.Inputs())
		out := run(t, sess, nil)
		require.Equal(t, []int64{0, 0, 5, 7, 0, 0}, valuesOf[int64](t, out, "y"))
		require.Equal(t, []int64{0, 0, 5, 7, 0, 0}, valuesOf[int64](t, out, "w"))
		given := run(t, sess, onnx.Values{"shape": ints(t, s, 3, 2)})
		y, err := given.Tensor("y")
		require.NoError(t, err)
		require.Equal(t, layout.Shape{3, 2}, y.Shape())
	}
	refuse := func(kind error, says string, edit func(g *model.Graph)) {
		t.Helper()
		m := model.New("sparse", 21)
		big := sparse(t, numbers(1), []int64{0}, 1<<26)
		big.Values.Name = "big"
		m.Graph.SparseInitializers = []model.SparseTensor{*big}
		m.Graph.Nodes = []model.Node{node("Constant", "c", nil, onnx.Attr{Name: "sparse_value", Value: big})}
		edit(m.Graph)
		refused(t, m, kind, says)
	}
	refuse(device.ErrInvalid, `graph: sparse initializer "big": index 9 is outside [0,4)`, func(g *model.Graph) {
		g.SparseInitializers[0] = *sparse(t, numbers(1), []int64{9}, 4)
		g.SparseInitializers[0].Values.Name = "big"
	})
	refuse(device.ErrInvalid, `two values are named "c"`, func(g *model.Graph) { g.SparseInitializers[0].Values.Name = "c" })
	refuse(device.ErrUnsupported, `graph: sparse initializer "again" of int64[67108864]: 536870912 bytes; a model's sparse constants may have 1073741824 in all`, func(g *model.Graph) {
		again := g.SparseInitializers[0]
		again.Values.Name = "again"
		g.SparseInitializers = append(g.SparseInitializers, again)
	})
}

// Once errors gave ranges that the version does not have, left the input out, or
// gave its shape twice.
func TestOperatorErrors(t *testing.T) {
	s := open(t)
	of := func(typ layout.DType, dims ...int64) *tensor.Tensor { return held(t)(tensor.New(s, typ, dims...)) }
	x, scalar := of(layout.Float32, 2, 3), held(t)(tensor.FromSlice(s, []float32{1}, []int64{}...))
	for _, c := range []struct {
		op   string
		v    onnx.Opset
		attr onnx.Attrs
		in   []onnx.Value
		says string
	}{
		{"Flatten", 9, onnx.Attrs{onnx.Int("axis", 3)}, []onnx.Value{x}, "Flatten-9 of float[2,3]: axis 3 is outside [0,2]"},
		{"Flatten", 9, onnx.Attrs{onnx.Int("axis", -1)}, []onnx.Value{x}, "Flatten-9 of float[2,3]: axis -1 is negative; Flatten allows that from opset 11"},
		{"Flatten", 11, onnx.Attrs{onnx.Int("axis", 3)}, []onnx.Value{x}, "Flatten-11 of float[2,3]: axis 3 is outside [-2,2]"},
		{"Squeeze", 1, onnx.Attrs{onnx.Ints("axes", 2)}, []onnx.Value{x}, "Squeeze-1 of float[2,3]: axis 2 is outside [0,1]"},
		{"Unsqueeze", 1, onnx.Attrs{onnx.Ints("axes", 3)}, []onnx.Value{x}, "Unsqueeze-1 of float[2,3]: axis 3 is outside [0,2]"},
		{"Slice", 1, onnx.Attrs{onnx.Ints("starts", 0), onnx.Ints("ends", 1), onnx.Ints("axes", 2)}, []onnx.Value{x}, "Slice-1 of float[2,3]: axis 2 is outside [0,1]"},
		{"Slice", 10, nil, []onnx.Value{x, ints(t, s, 0), ints(t, s, 1), ints(t, s, 2)}, "Slice-10 of float[2,3]: axis 2 is outside [0,1]"},
		{"Slice", 13, nil, []onnx.Value{scalar, ints(t, s, 0), ints(t, s, 1), ints(t, s, 0)}, "Slice-13 of float[]: axis 0: the tensor has no axes"},
		{"Transpose", 21, onnx.Attrs{onnx.Ints("perm", 0)}, []onnx.Value{scalar}, "Transpose-21 of float[]: perm [0]: the tensor has no axes"},
		{"Squeeze", 21, nil, []onnx.Value{x, ints(t, s, 0)}, "Squeeze-21 of float[2,3]: axis 0 has extent 2, not 1"},
		{"Squeeze", 21, nil, []onnx.Value{x, ints(t, s, 0, 0)}, "Squeeze-21 of float[2,3]: axis 0 "},
		{"Reshape", 21, nil, []onnx.Value{x, of(layout.Int32, 1)}, "Reshape-21 of float[2,3]: shape is int32; it must be int64"},
		{"Reshape", 13, nil, []onnx.Value{of(layout.Int4, 2, 3), ints(t, s, 6)}, "Reshape-13 of int4[2,3]: type int4 is not allowed; Reshape allows it from opset 21"},
		{"Reshape", 1, onnx.Attrs{onnx.Ints("shape", 6)}, []onnx.Value{x, x}, "Reshape-1: 2 inputs are given; it takes 1"},
		{"Squeeze", 13, nil, []onnx.Value{x, x, x}, "Squeeze-13: 3 inputs are given; it takes 1 or 2"},
		{"Slice", 13, nil, []onnx.Value{x}, "Slice-13: 1 inputs are given; it takes 3 to 5"},
	} {
		_, err := onnx.Run(c.op, c.v, c.attr, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid)
		if strings.HasSuffix(c.says, " ") {
			require.ErrorContains(t, err, c.says)
			require.Equal(t, 1, strings.Count(err.Error(), "[2,3]"), err.Error())
		} else {
			require.EqualError(t, err, c.says)
		}
	}
	_, err := onnx.Identity(of(layout.Int4, 3), 13)
	require.EqualError(t, err, "Identity-13 of int4[3]: type int4 is not allowed; Identity allows it from opset 21")
	gone, err := tensor.New(s, layout.Int8, 2)
	require.NoError(t, err)
	require.NoError(t, gone.Release())
	_, err = onnx.Transpose(gone, 21, nil)
	require.ErrorIs(t, err, tensor.ErrReleased)
	require.Equal(t, 1, strings.Count(err.Error(), "Transpose-21"), err.Error())
}

// Once names reached errors as they are: with escapes, and of any length.
func TestNamesInErrorsArePrintable(t *testing.T) {
	evil := "\x1b[31m\n" + strings.Repeat("é", 5000)
	edits := map[string]func(m *model.Model){
		"operator":  func(m *model.Model) { m.Graph.Nodes[0].OpType = evil },
		"domain":    func(m *model.Model) { m.Graph.Nodes[0].Domain = evil },
		"node":      func(m *model.Model) { m.Graph.Nodes[0].Name, m.Graph.Nodes[0].Inputs = evil, nil },
		"attribute": func(m *model.Model) { m.Graph.Nodes[0].Attrs = model.Attrs{onnx.Int(evil, 1)} },
		"reference": func(m *model.Model) { m.Graph.Nodes[0].Attrs = model.Attrs{{Name: "perm", Ref: evil}} },
		"input":     func(m *model.Model) { m.Graph.Nodes[0].Inputs[0] = evil },
		"output":    func(m *model.Model) { m.Graph.Outputs[0].Name = evil },
		"twice":     func(m *model.Model) { m.Graph.Inputs = outputs("x", evil, evil) },
		"constant": func(m *model.Model) {
			m.Graph.Initializers = []model.Tensor{{Name: evil, Type: layout.Int8, Dims: layout.Shape{-1}}}
			m.Graph.Nodes[0].Inputs[0] = evil
		},
		"default": func(m *model.Model) {
			m.Graph.Inputs = append(m.Graph.Inputs, model.ValueInfo{Name: "d", Type: model.TensorOf(layout.Int8, model.Symbolic(evil))})
			m.Graph.Initializers = []model.Tensor{{Name: "d", Type: layout.Int8, Data: []byte{1}}}
		},
	}
	check := func(err error) {
		t.Helper()
		require.Error(t, err)
		require.NotContains(t, err.Error(), "\x1b")
		require.NotContains(t, err.Error(), "\n")
		require.Less(t, len(err.Error()), 700)
	}
	for what, edit := range edits {
		t.Run(what, func(t *testing.T) {
			m := chain(2)
			edit(m)
			_, err := onnx.NewSession(open(t), m)
			check(err)
		})
	}
	m := chain(1)
	m.Graph.Inputs = append(m.Graph.Inputs, input(evil, layout.Int8))
	sess := session(t, open(t), m)
	for _, in := range []onnx.Values{{}, {"what": nil}, {evil + "?": nil}} {
		_, err := sess.Run(context.Background(), in)
		check(err)
	}
	_, err := onnx.Values{}.Tensor(evil)
	check(err)
	_, err = onnx.Run(evil, 21, nil)
	check(err)
}

// Once a model of a million unknown operators made an error of as many names.
func TestMissingOperatorsAreCut(t *testing.T) {
	m := chain(1)
	for i := range 25 {
		m.Graph.Nodes = append(m.Graph.Nodes, node(fmt.Sprintf("Op%02d", i), fmt.Sprint(i), []string{"x"}))
	}
	err := refused(t, m, device.ErrUnsupported, "Op18, Op19 and 5 more")
	require.NotContains(t, err.Error(), "Op20")
	var missing *onnx.MissingError
	require.ErrorAs(t, err, &missing)
	require.Len(t, missing.Ops, 25)
}
