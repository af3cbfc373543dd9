package onnx_test

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// resizes is the shape arithmetic of an exported model: y is x's first half along axis
// 1, with as many rows as floor(extent * 0.5) says, and positions are those of its
// rows.
func resizes(tb testing.TB) *model.Model {
	m := graphOf(layout.Float32,
		node("Shape", "shape", []string{"x"}),
		node("Gather", "columns", []string{"shape", "one"}),
		node("Cast", "wide", []string{"columns"}, onnx.Int("to", int64(layout.Float32))),
		node("Mul", "scaled", []string{"wide", "half"}),
		node("Floor", "floor", []string{"scaled"}),
		node("Cast", "n", []string{"floor"}, onnx.Int("to", int64(layout.Int64))),
		node("Slice", "y", []string{"x", "zero", "n", "one"}),
		node("Squeeze", "scalar", []string{"n"}),
		node("Range", "positions", []string{"start", "scalar", "step"}),
		node("Unsqueeze", "rows", []string{"positions", "one"}),
		node("LessOrEqual", "mask", []string{"positions", "rows"}),
	)
	scalar := func(name string, v int64) model.Tensor {
		t, err := model.NewTensor(name, []int64{v})
		require.NoError(tb, err)
		t.Dims = layout.Shape{}
		return t
	}
	m.Graph.Initializers = []model.Tensor{
		constant(tb, "one", []int64{1}), constant(tb, "zero", []int64{0}), constant(tb, "half", []float32{.5}),
		scalar("start", 0), scalar("step", 1),
	}
	m.Graph.Outputs = outputs("y", "mask")
	return m
}

// TestShapeArithmetic: a session computes shapes on the host, whatever the device, and
// without a transfer.
func TestShapeArithmetic(t *testing.T) {
	s, _ := openFake(t)
	sess := session(t, s, resizes(t))
	x := held(t)(tensor.New(s, layout.Float32, 2, 7))
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	before := s.Device().Stats()
	out := run(t, sess, onnx.Values{"x": x})
	after := s.Device().Stats()
	require.Equal(t, before.HostToDevice, after.HostToDevice)
	require.Equal(t, before.DeviceToHost, after.DeviceToHost)
	require.Equal(t, tensor.View, reports["y"].Kind)
	require.Equal(t, layout.Shape{2, 3}, reports["y"].Shape)
	for _, name := range []string{"scaled", "floor", "positions", "mask"} {
		require.True(t, reports[name].Host, name)
		require.Equal(t, "worked out on the host", reports[name].Why, name)
	}
	require.Equal(t, []bool{true, false, false, true, true, false, true, true, true}, valuesOf[bool](t, out, "mask"))
}

// TestShapeArithmeticOfOldFiles: constants that are listed as inputs, as files before format
// 4 have them, are constants all the same; and may be given.
func TestShapeArithmeticOfOldFiles(t *testing.T) {
	s, _ := openFake(t)
	m := resizes(t)
	for _, c := range m.Graph.Initializers {
		m.Graph.Inputs = append(m.Graph.Inputs, input(c.Name, c.Type))
	}
	sess := session(t, s, m)
	x := held(t)(tensor.New(s, layout.Float32, 2, 8))
	up, down, _ := transfers(t, s, sess, onnx.Values{"x": x})
	require.Zero(t, up)
	require.Zero(t, down)
	out := run(t, sess, onnx.Values{"x": x, "half": held(t)(tensor.FromSlice(s, []float32{.25}, 1))})
	y, err := out.Tensor("y")
	require.NoError(t, err)
	require.Equal(t, layout.Shape{2, 2}, y.Shape())
}

// TestArithmeticOfData: what is not the arithmetic of shapes is an engine's.
func TestArithmeticOfData(t *testing.T) {
	m := graphOf(layout.Float32, node("Add", "y", []string{"x", "x"}))
	err := refused(t, m, device.ErrUnsupported, "Add (on the host only: of shapes)")
	var missing *onnx.MissingError
	require.ErrorAs(t, err, &missing)

	m = graphOf(layout.Float32, node("Shape", "n", []string{"x"}), node("Mul", "y", []string{"n", "large"}))
	m.Graph.Initializers = []model.Tensor{constant(t, "large", make([]int64, 1<<17))}
	refused(t, m, device.ErrUnsupported, "Mul (on the host only: of shapes)")
}

// TestArithmeticReads: a shape that is computed from data of the device is read, up to
// a size.
func TestArithmeticReads(t *testing.T) {
	s, _ := openFake(t)
	m := graphOf(layout.Float32, node("ReduceMax", "n", []string{"lengths"}), node("Reshape", "y", []string{"x", "n"}))
	m.Opsets[""] = 13
	m.Graph.Inputs = append(m.Graph.Inputs, input("lengths", layout.Int64))
	sess := session(t, s, m)
	x := held(t)(tensor.New(s, layout.Float32, 2, 3))
	var report onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) {
		if n.Output == "n" {
			report = n
		}
	})
	out := run(t, sess, onnx.Values{"x": x, "lengths": ints(t, s, 4, 6, 5)})
	y, err := out.Tensor("y")
	require.NoError(t, err)
	require.Equal(t, layout.Shape{6}, y.Shape())
	require.Equal(t, int64(24), report.Read)
	require.Contains(t, report.Why, "24 bytes of operands were read from the device: shapes are computed on the host")

	_, err = sess.Run(t.Context(), onnx.Values{"x": x, "lengths": held(t)(tensor.New(s, layout.Int64, 1<<17))})
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "int64[131072] is on ")
}

// TestArithmeticIsBounded: a few bytes of a model do not become more memory than there
// is.
func TestArithmeticIsBounded(t *testing.T) {
	limitMemory(t, 1<<28)
	column := held(t)(held(t)(tensor.New(tensor.Host(), layout.Int64, 1<<16)).Reshape(1<<16, 1))
	row := held(t)(tensor.New(tensor.Host(), layout.Int64, 1<<16))
	_, err := onnx.Run("Add", 14, nil, column, row)
	require.ErrorIs(t, err, device.ErrOutOfMemory)
	wide := held(t)(row.Expand(1<<40, 1<<16))
	for _, op := range []string{"NonZero", "Neg", "ReduceMax", "TopK"} {
		in := []onnx.Value{wide}
		if op == "TopK" {
			in = append(in, ints(t, tensor.Host(), 1))
		}
		_, err = onnx.Run(op, 13, nil, in...)
		require.ErrorIs(t, err, device.ErrOutOfMemory, op)
	}
}

// TestAxisBeyondRank: an axis of an old opset near the end of 64 bits is refused.
func TestAxisBeyondRank(t *testing.T) {
	a := held(t)(tensor.New(tensor.Host(), layout.Int64, 2, 3))
	b := held(t)(tensor.New(tensor.Host(), layout.Int64, 3))
	for _, axis := range []int64{math.MaxInt64, math.MaxInt64 - 1, 2, math.MinInt64} {
		_, err := onnx.Run("Add", 6, onnx.Attrs{onnx.Int("broadcast", 1), onnx.Int("axis", axis)}, a, b)
		require.ErrorIs(t, err, device.ErrInvalid, axis)
	}
	_, err := onnx.Run("Add", 6, onnx.Attrs{onnx.Int("broadcast", 1), onnx.Int("axis", 0)}, b, a)
	require.ErrorIs(t, err, device.ErrInvalid)
}

// TestRunsKeepTheirErrors: runs of one session at once do not see each other's errors.
func TestRunsKeepTheirErrors(t *testing.T) {
	s := open(t)
	m := graphOf(layout.Float32, node("Shape", "n", []string{"x"}), node("ReduceMax", "y", []string{"n", "axes"}))
	m.Opsets[""] = 18
	m.Graph.Inputs = append(m.Graph.Inputs, input("axes", layout.Int64))
	sess := session(t, s, m)
	x := held(t)(tensor.New(s, layout.Float32, 2, 3))
	good, bad := ints(t, tensor.Host(), 0), ints(t, tensor.Host(), 7)
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			axes := []onnx.Value{good, bad}[i%2]
			out, err := sess.Run(t.Context(), onnx.Values{"x": x, "axes": axes})
			if i%2 == 0 {
				assert.NoError(t, err)
				assert.NoError(t, out.Release())
			} else {
				assert.ErrorIs(t, err, device.ErrInvalid)
			}
		})
	}
	group.Wait()
}
