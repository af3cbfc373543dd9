package onnx_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// What only a Concat uses is written straight into its output: a Tile, a
// DepthToSpace, a SpaceToDepth and a ConstantOfShape.
func TestPendingIntoConcat(t *testing.T) {
	s, dev := openFake(t)
	one := numbered(layout.Float32, 1)
	axis := func(i int64) onnx.Attr { return onnx.Int("axis", i) }
	block := onnx.Int("blocksize", 2)
	m := graphOf(layout.Float32,
		node("Tile", "tiled", []string{"x", "repeats"}),
		node("ConstantOfShape", "ones", []string{"shape"}, onnx.Attr{Name: "value", Value: tensorOf(one, layout.Float32)}),
		node("Concat", "a", []string{"tiled", "ones"}, axis(1)),
		node("DepthToSpace", "dcr", []string{"x"}, block),
		node("DepthToSpace", "crd", []string{"x"}, block, onnx.Attr{Name: "mode", Value: "CRD"}),
		node("Concat", "b", []string{"dcr", "crd"}, axis(3)),
		node("SpaceToDepth", "deep", []string{"x"}, block),
		node("Reshape", "flat", []string{"x", "column"}),
		node("Concat", "c", []string{"flat", "deep"}, axis(0)),
		node("Expand", "wide", []string{"x", "five"}),
		node("Concat", "d", []string{"wide", "x"}, axis(0)),
	)
	m.Graph.Initializers = []model.Tensor{constant(t, "repeats", []int64{1, 1, 2, 3}), constant(t, "shape", []int64{1, 2, 4, 6}),
		constant(t, "column", []int64{1, 16, 1, 1}), constant(t, "five", []int64{5, 1, 1, 1})}
	m.Graph.Outputs = outputs("a", "b", "c", "d")
	sess := session(t, s, m)
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	x := numbered(layout.Float32, 1, 4, 2, 2)
	in := onnx.Values{"x": upload(t, x, s, layout.Float32)}
	before := dev.Stats()
	out := run(t, sess, in)
	require.EqualValues(t, 8, dev.Stats().Launches-before.Launches, "each element is copied once")
	plan, err := sess.Plan(map[string]layout.Shape{"x": x.Dims}, nil)
	require.NoError(t, err)
	require.EqualValues(t, 8, plan.Copies)
	require.Equal(t, before.Downloads+before.Uploads, dev.Stats().Downloads+dev.Stats().Uploads)
	ones := array{Dims: []int64{1, 2, 4, 6}, Elems: slices.Repeat(one.Elems, 48)}
	for name, parts := range map[string][]array{
		"a": {x.Tile(1, 1, 2, 3).Transpose(1, 0, 2, 3), ones.Transpose(1, 0, 2, 3)},
		"b": {x.DepthToSpace(2, "DCR").Transpose(3, 1, 2, 0), x.DepthToSpace(2, "CRD").Transpose(3, 1, 2, 0)},
		"c": {x.Reshape(1, 16, 1, 1), x.SpaceToDepth(2, "DCR")},
		"d": {x.Expand(5, 4, 2, 2), x},
	} {
		// With the axis of the Concat in front, its output is one part after the other.
		whole := array{Dims: append([]int64{}, parts[0].Dims...), Elems: append(slices.Clone(parts[0].Elems), parts[1].Elems...)}
		whole.Dims[0] += parts[1].Dims[0]
		switch name {
		case "a":
			whole = whole.Transpose(1, 0, 2, 3)
		case "b":
			whole = whole.Transpose(3, 1, 2, 0)
		}
		y, err := out.Tensor(name)
		require.NoError(t, err)
		same(t, layout.Float32, whole, y)
	}
	for _, name := range []string{"tiled", "ones", "dcr", "crd", "deep"} {
		require.True(t, reports[name].Elided, name)
	}
	require.False(t, reports["wide"].Elided)
	require.Equal(t, "strides [0,4,2,1] over the same elements", reports["wide"].Why)
}
