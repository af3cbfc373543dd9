package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// TestFoldRoom: what is much larger than the constants that it is made of is left to runs,
// and Explain says so, too: what operands become by broadcasting, places of elements that
// are not zero, reductions of no elements, and many outputs together.
func TestFoldRoom(t *testing.T) {
	s := open(t)
	ints := func(name string, dims ...int64) model.Tensor {
		n := int64(1)
		for _, d := range dims {
			n *= d
		}
		x := constant(t, name, make([]int64, n))
		x.Dims = dims
		return x
	}
	row, column, none := ints("row", 600), ints("column", 600, 1), ints("none", 400, 400, 0)
	few, fewer, last := ints("few", 200), ints("fewer", 200, 1), constant(t, "last", []int64{2})
	large, four, axis := ints("large", 4, 4, 4, 4, 4, 4), ints("four", 4), constant(t, "axis", []int64{1})
	for i := range large.Data {
		large.Data[i] = 1
	}
	for name, test := range map[string]struct {
		constants []model.Tensor
		nodes     []model.Node
		folds     []string
	}{
		"broadcast": {
			[]model.Tensor{row, column},
			[]model.Node{node("Add", "sum", []string{"row", "column"}), node("Add", "twice", []string{"row", "row"})},
			[]string{"twice"},
		},
		"places": {
			[]model.Tensor{large, four},
			[]model.Node{
				node("NonZero", "all", []string{"large"}), node("NonZero", "all again", []string{"large"}),
				node("NonZero", "more", []string{"large"}), node("NonZero", "most", []string{"large"}),
				node("NonZero", "and more", []string{"large"}), node("NonZero", "nothing", []string{"four"}),
				node("NonZero", "too many", []string{"large"}),
			},
			[]string{"all", "all again", "more", "most", "and more", "nothing"},
		},
		"of no elements": {
			[]model.Tensor{none, last, axis, four},
			[]model.Node{node("ReduceSum", "zeros", []string{"none", "last"}), node("ReduceSum", "zero", []string{"four"})},
			[]string{"zero"},
		},
		"one after the other": {
			[]model.Tensor{few, fewer},
			[]model.Node{
				node("Max", "of two", []string{"few", "fewer"}),
				node("Max", "of six", []string{"few", "fewer", "few", "few", "few", "few"}),
			},
			[]string{"of two"},
		},
		"extents of a large constant": {
			[]model.Tensor{none, large},
			[]model.Node{node("Shape", "extents", []string{"large"}), node("Size", "size", []string{"none"})},
			[]string{"extents", "size"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := graphOf(layout.Int64, append(test.nodes, node("Identity", "y", []string{"x"}))...)
			m.Graph.Initializers = test.constants
			var names []string
			for _, n := range test.nodes {
				names = append(names, n.Outputs[0])
			}
			m.Graph.Outputs = outputs(append(names, "y")...)
			sess := session(t, s, m)
			var folded []string
			sess.OnNode(func(n onnx.NodeReport) {
				if n.Outcome() == onnx.IsConstant {
					folded = append(folded, n.Output)
				}
			})
			run(t, sess, onnx.Values{"x": held(t)(tensor.FromSlice(s, []int64{1}, 1))})
			require.Equal(t, test.folds, folded)
			e, err := onnx.Explain(s, m, onnx.Assumptions{Shapes: map[string]layout.Shape{"x": {1}}})
			require.NoError(t, err)
			var explained []string
			for _, n := range e.Nodes {
				if n.Outcome == onnx.IsConstant {
					explained = append(explained, n.Outputs[0].Name)
				}
			}
			require.Equal(t, test.folds, explained)
		})
	}
}
