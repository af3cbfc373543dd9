package onnx_test

import (
	"errors"
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
		op: "Gather", versions: []onnx.Opset{1, 11, 13},
		note: "a view if the indices are on the host and go on by equal steps",
	}, operatorTest{
		op: "GatherElements", versions: []onnx.Opset{11, 13},
	}, operatorTest{
		op: "GatherND", versions: []onnx.Opset{11, 12, 13},
		note: "`batch_dims` from 12",
	})
}

// TestGatherTypes: every type, by every version that allows it, directly, against
// the rows that the oracle takes.
func TestGatherTypes(t *testing.T) {
	s := open(t)
	indices := ints(t, s, 2, 0, -1, 2)
	for _, dtype := range layout.DTypes() {
		a := numbered(dtype, 3, 5)
		x := upload(t, a, s, dtype)
		for v := onnx.Opset(1); v <= onnx.MaxOpset; v++ {
			y, err := runGather(x, v, indices, -2)
			if !onnx.Allows("Gather", v, dtype) {
				require.ErrorIs(t, err, device.ErrInvalid)
				require.ErrorContains(t, err, "is not allowed")
				continue
			}
			require.NoError(t, err, "%v, opset %d", dtype, v)
			same(t, dtype, a.Take(0, []int64{2, 0, 2, 2}), y)
			require.NoError(t, y.Release())
		}
	}
	for _, op := range []string{"Gather", "GatherElements", "GatherND"} {
		require.True(t, onnx.Allows(op, 11, layout.String))
		require.False(t, onnx.Allows(op, 12, layout.BFloat16))
		require.True(t, onnx.Allows(op, 13, layout.BFloat16))
		require.False(t, onnx.Allows(op, 28, layout.Int4))
	}
}

// TestGatherRules: errors name the operator, the shapes and the rule.
func TestGatherRules(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.FromSlice(s, make([]float32, 12), 3, 4))
	one := ints(t, s, 1)
	narrow := held(t)(tensor.FromSlice(s, []int32{1}))
	half := held(t)(tensor.FromSlice(s, []float32{1}))
	far := ints(t, s, 1, 3, 0)
	column := held(t)(tensor.FromSlice(s, []int64{0, -1, 3}, 3, 1))
	for _, c := range []struct {
		op    string
		v     onnx.Opset
		in    onnx.Value
		attrs onnx.Attrs
		says  string
	}{
		{"Gather", 1, one, onnx.Attrs{onnx.Int("axis", 2)}, "Gather-1 of float[3,4]: axis 2 is outside [-2,1]"},
		{"Gather", 13, one, onnx.Attrs{onnx.Int("axis", -3)}, "Gather-13 of float[3,4]: axis -3 is outside [-2,1]"},
		{"Gather", 13, half, nil, "Gather-13 of float[3,4]: indices are float[1]; they must be int32 or int64"},
		{"Gather", 13, far, nil, "index 3 is outside [-3,2] of extent 3"},
		{"Gather", 13, &onnx.Sequence{Elem: layout.Int64}, nil, "indices are a sequence of int64; they must be a tensor"},
		{"Gather", 13, one, onnx.Attrs{onnx.Int("batch_dims", 0)}, `there is no attribute`},
		{"GatherElements", 10, one, nil, "the operator exists from opset 11"},
		{"GatherElements", 11, one, nil, "GatherElements-11 of float[3,4]"},
		{"GatherElements", 13, held(t)(one.Unsqueeze(0)), onnx.Attrs{onnx.Int("axis", 5)}, "axis 5 is outside [-2,1]"},
		{"GatherElements", 13, column, nil, "GatherElements-13 of float[3,4]"},
		{"GatherND", 13, narrow, nil, "GatherND-13 of float[3,4]: indices are int32[1]; they must be int64"},
		{"GatherND", 11, one, onnx.Attrs{onnx.Int("batch_dims", 0)}, "GatherND-12 has it"},
		{"GatherND", 12, one, onnx.Attrs{onnx.Int("batch_dims", 1)}, "batch_dims is 1; it must not be negative, and less than both ranks"},
		{"GatherND", 12, one, onnx.Attrs{onnx.Int("batch_dims", -1)}, "batch_dims is -1"},
		{"GatherND", 12, far, nil, "GatherND-12 of float[3,4]"},
		{"GatherND", 13, column, onnx.Attrs{onnx.Int("batch_dims", 1)}, ""},
	} {
		out, err := onnx.Run(c.op, c.v, c.attrs, x, c.in)
		if c.says == "" {
			require.NoError(t, err)
			require.Equal(t, layout.Shape{3}, out[0].(*tensor.Tensor).Shape())
			require.NoError(t, out[0].Release())
			continue
		}
		require.ErrorIs(t, err, device.ErrInvalid, "%s", c.says)
		require.ErrorContains(t, err, c.says)
	}
	_, err := call("GatherElements", 13, nil, x, nil)
	require.ErrorContains(t, err, "GatherElements-13: input 1 is missing")
	_, err = runGather(held(t)(x.Reshape(12)), 1, one, -2)
	require.ErrorContains(t, err, "Gather-1 of float[12]: axis -2 is outside [-1,0]")
	_, err = runGather(held(t)(tensor.New(s, layout.Float32, []int64{}...)), 13, one, 0)
	require.ErrorContains(t, err, "Gather-13 of float[]: axis 0: the tensor has no axes")
}

// TestGatherInShapes: what picks extents out of a shape is done on the host, and a
// constant index of the data makes a view: nothing is transferred in a run.
func TestGatherInShapes(t *testing.T) {
	for _, byNode := range []bool{false, true} {
		s, _ := openFake(t)
		tensor.CheckLeaks(t, tensor.Host())
		// x[:, -1] reshaped to [4, 1, 2] by x's own extents.
		m := model.New("heads", 17)
		m.Graph.Inputs = []model.ValueInfo{input("x", layout.Float32)}
		m.Graph.Outputs = outputs("y")
		m.Graph.Nodes = []model.Node{
			node("Shape", "shape", []string{"x"}),
			node("Gather", "ends", []string{"shape", "pick"}),
			node("Gather", "first", []string{"ends", "zero"}),
			node("Reshape", "four", []string{"first", "shape1"}),
			node("Gather", "last", []string{"x", "minus"}, onnx.Int("axis", 1)),
			node("Unsqueeze", "y", []string{"last", "four"}),
		}
		m.Graph.Initializers = []model.Tensor{
			constant(t, "pick", []int64{0, 2}), constant(t, "zero", []int64{0}), constant(t, "shape1", []int64{1}),
		}
		if byNode {
			m.Graph.Nodes = append(m.Graph.Nodes, node("Constant", "minus", nil, onnx.Int("value_int", -1)))
		} else {
			m.Graph.Initializers = append(m.Graph.Initializers, constant(t, "minus", []int64{-1}))
		}
		m.Graph.Nodes[len(m.Graph.Nodes)-1].Name = "last node"
		sess := session(t, s, m)
		require.Zero(t, s.Device().Stats().Uploads, "constants are on the host")
		var kinds []tensor.Kind
		sess.OnNode(func(n onnx.NodeReport) {
			if n.Op == "Gather-13" && !n.Host {
				kinds = append(kinds, n.Kind)
			}
		})
		x := held(t)(tensor.FromSlice(s, []float32{0, 1, 2, 3, 4, 5}, 1, 3, 2))
		up, down, _ := transfers(t, s, sess, onnx.Values{"x": x})
		require.Zero(t, up)
		require.Zero(t, down)
		require.Equal(t, []tensor.Kind{tensor.View}, kinds)
		out := run(t, sess, onnx.Values{"x": x})
		require.Equal(t, []float32{4, 5}, valuesOf[float32](t, out, "y"))
	}
}

// TestGatherTable: a table stays on the device though its indices are worked out on
// the host; these are sent, which the report says.
func TestGatherTable(t *testing.T) {
	s, _ := openFake(t)
	tensor.CheckLeaks(t, tensor.Host())
	m := model.New("table", 17)
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Float32)}
	m.Graph.Outputs = outputs("y")
	m.Graph.Nodes = []model.Node{
		node("Shape", "rows", []string{"x"}),
		node("Gather", "y", []string{"table", "rows"}),
	}
	m.Graph.Initializers = []model.Tensor{constant(t, "table", []float32{0, 10, 20, 30, 40})}
	sess := session(t, s, m)
	require.EqualValues(t, 20, s.Device().Stats().HostToDevice, "the table is on the device")
	x := held(t)(tensor.FromSlice(s, make([]float32, 12), 4, 1, 3, 1))
	var report onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) { report = n })
	out := run(t, sess, onnx.Values{"x": x})
	require.Equal(t, []float32{40, 10, 30, 10}, valuesOf[float32](t, out, "y"))
	require.Equal(t, tensor.Copy, report.Kind)
	require.EqualValues(t, 16, report.Bytes)
	require.EqualValues(t, 32, report.Sent)
}

// TestGatherFromTheHost: indices on the device are not read back to pick from what
// is on the host, but for strings; this is sent to them, and counted.
func TestGatherFromTheHost(t *testing.T) {
	s, _ := openFake(t)
	tensor.CheckLeaks(t, tensor.Host())
	m := model.New("picked", 17)
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Float32), input("i", layout.Int64)}
	m.Graph.Outputs = outputs("y")
	m.Graph.Nodes = []model.Node{node("Shape", "shape", []string{"x"}), node("Gather", "y", []string{"shape", "i"})}
	sess := session(t, s, m)
	x := held(t)(tensor.FromSlice(s, make([]float32, 6), 1, 2, 3))
	in := onnx.Values{"x": x, "i": ints(t, s, 2, 0, -2)}
	var report onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) { report = n })
	up, down, _ := transfers(t, s, sess, in)
	require.Equal(t, []int64{1, 0}, []int64{up, down})
	require.EqualValues(t, 24, report.Sent)
	out := run(t, sess, in)
	require.Equal(t, []int64{3, 1, 2}, valuesOf[int64](t, out, "y"))

	words := held(t)(tensor.FromHost([]string{"a", "b", "c"}))
	two, err := onnx.Run("Gather", 13, nil, words, ints(t, s, 2, 0, 1))
	require.NoError(t, err)
	got, err := tensor.Values[string](two[0].(*tensor.Tensor))
	require.NoError(t, err)
	require.Equal(t, []string{"c", "a", "b"}, got)
	require.NoError(t, two[0].Release())
}

// TestGatherOfNothing: an index out of range of a result without elements is found
// on every device, at the next wait at the latest. Once nothing looked.
func TestGatherOfNothing(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 5, 0))
	for _, c := range []struct {
		op           string
		right, wrong *tensor.Tensor
	}{
		{"Gather", ints(t, s, 4, -5, 0), ints(t, s, 4, 5, 0)},
		{"GatherND", held(t)(ints(t, s, 4, -5, 0).Unsqueeze(1)), held(t)(ints(t, s, 4, -5, -6).Unsqueeze(1))},
	} {
		out, err := onnx.Run(c.op, 13, nil, x, c.right)
		require.NoError(t, err)
		y := out[0].(*tensor.Tensor)
		require.Equal(t, "[3,0]", y.Shape().String())
		require.NoError(t, errors.Join(s.Wait(), y.Release()))
		out, err = onnx.Run(c.op, 13, nil, x, c.wrong)
		if err == nil {
			err = errors.Join(s.Wait(), out[0].(*tensor.Tensor).Release())
		}
		require.ErrorIs(t, err, device.ErrInvalid, c.op)
		require.ErrorContains(t, err, "is outside [-5,4] of extent 5")
	}
}
