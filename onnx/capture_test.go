package onnx_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// A captured run uses the elements that its inputs have then; an index out of range is an error of
// that run alone.
func TestCapture(t *testing.T) {
	s := open(t)
	m := graphOf(layout.Float32,
		node("Gather", "rows", []string{"x", "ids"}),
		node("Transpose", "columns", []string{"rows"}),
		node("Concat", "y", []string{"columns", "columns"}, model.Attr{Name: "axis", Value: int64(0)}))
	m.Graph.Inputs = append(m.Graph.Inputs, input("ids", layout.Int64))
	sess := session(t, s, m)
	ids := ints(t, s, 0, 1)
	x := held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6}, 3, 2))
	c, err := sess.Capture(context.Background(), onnx.Values{"x": x, "ids": ids})
	require.NoError(t, err)
	write := func(a, b byte) {
		require.NoError(t, s.Queue().Write(ids.Buffer(), 0, []byte{a, 0, 0, 0, 0, 0, 0, 0, b, 0, 0, 0, 0, 0, 0, 0}))
	}
	for range 3 {
		require.NoError(t, c.Run())
		require.Equal(t, []float32{1, 3, 2, 4, 1, 3, 2, 4}, valuesOf[float32](t, c.Outputs(), "y"))
		write(2, 0)
		require.NoError(t, c.Run())
		require.Equal(t, []float32{5, 1, 6, 2, 5, 1, 6, 2}, valuesOf[float32](t, c.Outputs(), "y"))
		write(0, 9)
		if err = c.Run(); err == nil {
			y, of := c.Outputs().Tensor("y")
			require.NoError(t, of)
			_, err = tensor.Values[float32](y)
		}
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "index 9 is outside")
		write(0, 1)
	}
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.Run(), device.ErrClosed)

	// A node that needs elements on the host cannot be captured.
	m = graphOf(layout.Float32, node("Reshape", "y", []string{"x", "ids"}))
	m.Graph.Inputs = append(m.Graph.Inputs, input("ids", layout.Int64))
	_, err = session(t, s, m).Capture(context.Background(), onnx.Values{"x": x, "ids": ints(t, s, 2, 3)})
	require.ErrorIs(t, err, device.ErrInvalid)
	require.ErrorContains(t, err, "the queue is capturing")
}

// TestBugCapturedSequence: a captured run keeps the tensors in sequences that it gets and makes.
func TestBugCapturedSequence(t *testing.T) {
	s := open(t)
	m := graphOf(layout.Float32, node("ConcatFromSequence", "y", []string{"s"}, onnx.Int("axis", 0)), node("SequenceConstruct", "z", []string{"y"}))
	m.Graph.Inputs[0] = model.ValueInfo{Name: "s", Type: model.SequenceOf(model.TensorOf(layout.Float32))}
	m.Graph.Outputs = outputs("y", "z")
	sess := session(t, s, m)
	a, err := tensor.FromSlice(s, []float32{1, 2}, 2)
	require.NoError(t, err)
	scope := tensor.NewScope(s)
	c, err := sess.Capture(t.Context(), onnx.Values{"s": &onnx.Sequence{Elem: layout.Float32, Items: []onnx.Value{a}}})
	require.NoError(t, err)
	require.NoError(t, a.Release())
	require.NoError(t, scope.Close())
	held(t)(tensor.FromSlice(s, []float32{7, 8}, 2))
	require.NoError(t, c.Run())
	require.Equal(t, []float32{1, 2}, valuesOf[float32](t, c.Outputs(), "y"))
	require.Equal(t, []float32{1}, firsts(t, c.Outputs()["z"]))
	require.NoError(t, c.Close())
}

// TestBugReplaysNameTheirNode: an index out of range in a run of captured work names its node,
// in each run the right one.
func TestBugReplaysNameTheirNode(t *testing.T) {
	s := open(t)
	m := graphOf(layout.Float32,
		node("Gather", "g", []string{"x", "i"}),
		node("Transpose", "t", []string{"g"}),
		node("ScatterElements", "y", []string{"t", "j", "t"}, onnx.Int("axis", 1)))
	m.Graph.Inputs = append(m.Graph.Inputs, input("i", layout.Int64), input("j", layout.Int64))
	m.Opsets[""] = 18
	x, i, j := held(t)(tensor.New(s, layout.Float32, 5, 3)), ints(t, s, 0, 1), held(t)(tensor.FromSlice(s, []int64{0, 1, 1, 0, 0, 1}, 3, 2))
	c, err := session(t, s, m).Capture(t.Context(), onnx.Values{"x": x, "i": i, "j": j})
	if errors.Is(err, device.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	for _, run := range []struct {
		i    []int64
		j    int64
		says string
	}{
		{[]int64{0, 1}, 1, ""},
		{[]int64{0, 7}, 1, `node 0 (Gather "g"): Gather-13`},
		{[]int64{0, 2}, 1, ""},
		{[]int64{0, 1}, 7, `node 2 (ScatterElements "y"): ScatterElements-18`},
		{[]int64{7, 1}, 7, `node 0 (Gather "g"): Gather-13`},
	} {
		require.NoError(t, i.CopyFrom(held(t)(tensor.FromSlice(s, run.i, 2))))
		require.NoError(t, j.CopyFrom(held(t)(tensor.FromSlice(s, []int64{0, 1, run.j, 0, 0, 1}, 3, 2))))
		err := c.Run()
		if err == nil {
			_, err = c.Outputs()["y"].(*tensor.Tensor).Bytes()
		}
		if run.says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, device.ErrInvalid)
		assert.ErrorContains(t, err, run.says)
		assert.ErrorContains(t, err, "index 7 is outside")
	}
	require.NoError(t, c.Close())
	_ = s.Wait()
}
