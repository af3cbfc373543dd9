package onnx_test

import (
	"context"
	"fmt"
	"math/rand/v2"
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
	refused(t, m, device.ErrInvalid, "1 inputs are given; Transpose takes 0")
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
		big := sparse(t, numbers(1), []int64{0}, 1<<20)
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
	limitMemory(t, 6<<20)
	refuse(device.ErrOutOfMemory, "8388608 bytes are asked for", func(g *model.Graph) {})
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

// TestOrder: whatever the order in the file, each node runs after those that
// make its inputs, and a file in order is run in its order.
func TestOrder(t *testing.T) {
	s := open(t)
	rng := rand.New(rand.NewPCG(5, 6))
	x := held(t)(tensor.FromSlice(s, make([]float32, 2*4*1024), 2, 4, 1024))
	for i := range 50 {
		m := attention(t, 16, 64)
		m.Graph.Nodes = append(m.Graph.Nodes, node("Constant", "more", nil, onnx.Ints("value_ints", -1)), node("Reshape", "flat", []string{"merged", "more"}))
		if i > 0 {
			rng.Shuffle(len(m.Graph.Nodes), func(i, j int) {
				m.Graph.Nodes[i], m.Graph.Nodes[j] = m.Graph.Nodes[j], m.Graph.Nodes[i]
			})
		}
		sess := session(t, s, m)
		made := map[string]bool{"x": true, "to_split": true, "to_packed": true, "to_rows": true}
		var order []int
		sess.OnNode(func(n onnx.NodeReport) {
			for _, in := range m.Graph.Nodes[n.Index].Inputs {
				require.True(t, made[in], "%s runs before %s is made", n.Name, in)
			}
			made[n.Output] = true
			order = append(order, n.Index)
		})
		run(t, sess, onnx.Values{"x": x})
		require.Len(t, order, len(m.Graph.Nodes))
		if i == 0 {
			require.Equal(t, []int{7, 0, 1, 2, 3, 4, 5, 6, 8}, order, "constants first, then as in the file")
		}
	}
}

// A long chain in reverse order is sorted in linear time and without recursion.
func TestOrderOfALongChain(t *testing.T) {
	const n = 50_000
	m := chain(n)
	for i := range n / 2 {
		m.Graph.Nodes[i], m.Graph.Nodes[n-1-i] = m.Graph.Nodes[n-1-i], m.Graph.Nodes[i]
	}
	s := open(t)
	x := held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3))
	out := run(t, session(t, s, m), onnx.Values{"x": x})
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, valuesOf[float32](t, out, "y"))
}

// TestGraphsThatAreNone: what is wrong with a graph is said, with the node.
func TestGraphsThatAreNone(t *testing.T) {
	initializer := func(name string) model.Tensor { return constant(t, name, []int64{1}) }
	for _, c := range []struct {
		what string
		edit func(g *model.Graph)
		says string
	}{
		{"cycle", func(g *model.Graph) {
			g.Nodes[0].Inputs[0] = "v1"
		}, "there is a cycle"},
		{"self", func(g *model.Graph) {
			g.Nodes[1].Inputs[0] = "v1"
		}, `node 1 (Transpose "v1") waits for its own output: there is a cycle`},
		{"unknown input", func(g *model.Graph) {
			g.Nodes[1].Inputs[0] = "nothing"
		}, `node 1 (Transpose "v1"): nothing makes its input "nothing"`},
		{"unknown output", func(g *model.Graph) {
			g.Outputs[0].Name = "nothing"
		}, `nothing makes its output "nothing"`},
		{"two nodes make it", func(g *model.Graph) {
			g.Nodes[1].Outputs[0] = "v0"
		}, `two values are named "v0"; the second is the output of node 1 (Transpose "v1")`},
		{"node and input", func(g *model.Graph) {
			g.Nodes[0].Outputs[0] = "x"
		}, `two values are named "x"`},
		{"node and initializer", func(g *model.Graph) {
			g.Initializers = []model.Tensor{initializer("v0")}
		}, `two values are named "v0"`},
		{"two inputs", func(g *model.Graph) {
			g.Inputs = append(g.Inputs, g.Inputs[0])
		}, `two values are named "x"; the second is an input`},
		{"two initializers", func(g *model.Graph) {
			g.Initializers = []model.Tensor{initializer("a"), initializer("a")}
		}, `two values are named "a"; the second is an initializer`},
		{"two defaults", func(g *model.Graph) {
			g.Initializers = []model.Tensor{constant(t, "x", []float32{1}), constant(t, "x", []float32{1})}
		}, `two values are named "x"; the second is an initializer`},
		{"input without name", func(g *model.Graph) {
			g.Inputs = append(g.Inputs, model.ValueInfo{})
		}, "an input has no name"},
		{"initializer without name", func(g *model.Graph) {
			g.Initializers = []model.Tensor{initializer("")}
		}, "an initializer has no name"},
		{"output without name", func(g *model.Graph) {
			g.Outputs = append(g.Outputs, model.ValueInfo{})
		}, `nothing makes its output ""`},
		{"output twice", func(g *model.Graph) {
			g.Outputs = append(g.Outputs, g.Outputs[0])
		}, `output "y" is listed twice`},
		{"no inputs", func(g *model.Graph) {
			g.Nodes[1].Inputs = nil
		}, `node 1 (Transpose "v1") has 0 inputs; Transpose-21 takes 1`},
		{"empty input", func(g *model.Graph) {
			g.Nodes[1].Inputs = []string{"", "", ""}
		}, "has 0 inputs"},
		{"too many inputs", func(g *model.Graph) {
			g.Nodes[1].Inputs = []string{"x", "", "x"}
		}, "has 3 inputs; Transpose-21 takes 1"},
		{"no outputs", func(g *model.Graph) {
			g.Nodes[1].Outputs = nil
		}, `node 1 (Transpose "v1") has 0 outputs; Transpose-21 makes 1`},
		{"too many outputs", func(g *model.Graph) {
			g.Nodes[1].Outputs = []string{"v1", "w"}
		}, "has 2 outputs"},
		{"second output only", func(g *model.Graph) {
			g.Nodes[1].Outputs = []string{"", "v1"}
		}, "has 2 outputs"},
		{"unknown attribute", func(g *model.Graph) {
			g.Nodes[1].Attrs = model.Attrs{onnx.Int("axis", 1)}
		}, `node 1 (Transpose "v1"): Transpose-21: there is no attribute "axis"`},
		{"wrong attribute", func(g *model.Graph) {
			g.Nodes[1].Attrs = model.Attrs{onnx.Int("perm", 1)}
		}, `node 1 (Transpose "v1"): Transpose-21: attribute "perm" is of kind int, want ints`},
		{"nameless node", func(g *model.Graph) {
			g.Nodes[1].Name, g.Nodes[1].Attrs = "", model.Attrs{onnx.Int("axis", 1)}
		}, `node 1 (Transpose): Transpose-21`},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := chain(3)
			c.edit(m.Graph)
			refused(t, m, device.ErrInvalid, c.says)
		})
	}
	refused(t, nil, device.ErrInvalid, "the model is nil")
	refused(t, &model.Model{Opsets: map[string]int64{"": 21}}, device.ErrInvalid, "the model has none")
	sparse := chain(1)
	sparse.Graph.SparseInitializers = make([]model.SparseTensor, 1)
	refused(t, sparse, device.ErrInvalid, "a sparse initializer has no name")
}

func TestMissingOperators(t *testing.T) {
	m := chain(2)
	add := func(domain, op string) {
		n := node(op, fmt.Sprint("n", len(m.Graph.Nodes)), []string{"x"})
		n.Domain = domain
		m.Graph.Nodes = append(m.Graph.Nodes, n)
	}
	add("", "Softmax")
	add("com.example", "Fused")
	add("com.example", "Reshape")
	add("", "Conv")
	add("", "Conv")
	add("local", "Mine")
	m.Functions = []model.Function{{
		Domain: "local", Name: "Mine", Inputs: []string{"v"}, Outputs: []string{"w"},
		Nodes: []model.Node{node("Relu", "w", []string{"v"})},
	}}
	err := refused(t, m, device.ErrUnsupported,
		"operators that are not supported: Conv, Relu, Softmax, com.example.Fused, com.example.Reshape")
	var missing *onnx.MissingError
	require.ErrorAs(t, err, &missing)
	require.Len(t, missing.Ops, 5)
	require.Equal(t, []int{2, 1, 1, 1, 1}, missing.Nodes)
}
