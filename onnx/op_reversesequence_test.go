package onnx_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "ReverseSequence", versions: []onnx.Opset{10, 28},
		types: typesSince{10, 10, 10, 28},
		form:  func(onnx.Opset) (onnx.Attrs, [][]int64) { return nil, [][]int64{{2}} },
		want:  func(a array) array { return a.Take(0, []int64{1, 0}) },
	})
}

func TestReverseSequence(t *testing.T) {
	s, dev := openFake(t)
	x := held(t)(tensor.FromSlice(s, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 4, 3))
	for _, c := range []struct {
		batch, time int64
		lengths     []int64
		want        []int64
		launches    int64
	}{
		{1, 0, []int64{4, 3, 2}, []int64{9, 7, 5, 6, 4, 2, 3, 1, 8, 0, 10, 11}, 5},
		{0, 1, []int64{1, 2, 3, 0}, []int64{0, 1, 2, 4, 3, 5, 8, 7, 6, 9, 10, 11}, 5},
		{0, 1, []int64{2, 2, 1, 0}, []int64{1, 0, 2, 4, 3, 5, 6, 7, 8, 9, 10, 11}, 3},
		{1, 0, []int64{2, 2, 2}, []int64{3, 4, 5, 0, 1, 2, 6, 7, 8, 9, 10, 11}, 2},
		{1, 0, []int64{4, 4, 4}, []int64{9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2}, 0},
		{1, 0, []int64{1, 0, 1}, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 0},
	} {
		before := dev.Stats().Launches
		y := held(t)(runReverseSequence(x, 10, c.batch, c.time, c.lengths))
		require.Equal(t, c.launches, dev.Stats().Launches-before, "%v", c.lengths)
		require.Equal(t, c.launches == 0, y.Verdict().Kind == tensor.View)
		got, err := tensor.Values[int64](y)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%v", c.lengths)
	}
}

// TestReverseSequenceRandom checks random lengths on random tensors of every
// width.
func TestReverseSequenceRandom(t *testing.T) {
	onCPU := open(t)
	onFake, _ := openFake(t)
	const seed = 23
	rng := rand.New(rand.NewPCG(seed, seed))
	types := []layout.DType{layout.Bool, layout.Float16, layout.Float32, layout.Int64, layout.Complex128, layout.String}
	for range 600 {
		typ := types[rng.IntN(len(types))]
		s := onCPU
		if typ != layout.String && rng.IntN(2) == 0 {
			s = onFake
		}
		dims := []int64{rng.Int64N(6), rng.Int64N(6), 1 + rng.Int64N(3), rng.Int64N(3)}[:2+rng.IntN(3)]
		batch := rng.IntN(2)
		time := 1 - batch
		lengths := make([]int64, dims[batch])
		for i := range lengths {
			lengths[i] = rng.Int64N(dims[time] + 1)
		}
		a := numbered(typ, dims...)
		x := uploadAs(t, a, s, typ, views[rng.IntN(len(views))])
		out, err := onnx.Run("ReverseSequence", 10, onnx.Attrs{onnx.Int("batch_axis", int64(batch)), onnx.Int("time_axis", int64(time))}, x, ints(t, tensor.Host(), lengths...))
		require.NoError(t, err, "seed %d: %v %v", seed, dims, lengths)
		same(t, typ, a.Reversed(batch, time, lengths), out[0].(*tensor.Tensor))
		require.NoError(t, out[0].Release())
	}
}

func TestReverseSequenceErrors(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 4, 3))
	flat := held(t)(tensor.New(s, layout.Float32, 4))
	short := held(t)(tensor.FromSlice(s, []int32{1, 1, 1}))
	matrix := held(t)(tensor.FromSlice(s, []int64{1, 1, 1}, 3, 1))
	axes := func(batch, time int64) onnx.Attrs {
		return onnx.Attrs{onnx.Int("batch_axis", batch), onnx.Int("time_axis", time)}
	}
	for _, c := range []struct {
		attrs onnx.Attrs
		in    []onnx.Value
		says  string
	}{
		{nil, []onnx.Value{x, ints(t, s, 5, 1, 1)}, "ReverseSequence-10 of float[4,3]: sequence length 5 of batch 0 is outside [0,4], the extent of axis 0"},
		{nil, []onnx.Value{x, ints(t, s, 1, -1, 1)}, "sequence length -1 of batch 1 is outside [0,4]"},
		{axes(0, 1), []onnx.Value{x, ints(t, s, 1, 1, 1, 4)}, "sequence length 4 of batch 3 is outside [0,3], the extent of axis 1"},
		{nil, []onnx.Value{x, ints(t, s, 1, 1, 1, 1)}, "4 sequence lengths for 3 batches, axis 1"},
		{nil, []onnx.Value{x, ints(t, s)}, "0 sequence lengths for 3 batches"},
		{nil, []onnx.Value{x, short}, "sequence_lens is int32; it must be int64"},
		{nil, []onnx.Value{x, matrix}, "sequence_lens has shape [3,1]; it must have one axis"},
		{nil, []onnx.Value{flat, ints(t, s, 1)}, "the input must have two axes or more"},
		{axes(1, 1), []onnx.Value{x, ints(t, s, 1)}, "batch_axis is 1 and time_axis 1: one must be 0 and the other 1"},
		{axes(0, -1), []onnx.Value{x, ints(t, s, 1)}, "one must be 0 and the other 1"},
		{axes(2, 0), []onnx.Value{x, ints(t, s, 1)}, "one must be 0 and the other 1"},
		{nil, []onnx.Value{x}, "1 inputs are given; it takes 2"},
	} {
		_, err := onnx.Run("ReverseSequence", 10, c.attrs, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	_, err := runReverseSequence(x, 10, 1, 0, []int64{1})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = runReverseSequence(x, 10, 0, 0, []int64{1})
	require.ErrorContains(t, err, "one must be 0 and the other 1")
}

// TestReverseSequenceSession: lengths that are constant are on the host, and what
// only a Concat uses is written into it.
func TestReverseSequenceSession(t *testing.T) {
	s, dev := openFake(t)
	m := graphOf(layout.Float32,
		node("ReverseSequence", "back", []string{"x", "lengths"}),
		node("Concat", "y", []string{"x", "back"}, onnx.Int("axis", 1)),
	)
	m.Graph.Initializers = append(m.Graph.Initializers, constant(t, "lengths", []int64{3, 2}))
	sess := session(t, s, m)
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	x := held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6}, 3, 2))
	before := dev.Stats()
	out := run(t, sess, onnx.Values{"x": x})
	require.Equal(t, before.Downloads, dev.Stats().Downloads)
	require.EqualValues(t, 4, dev.Stats().Launches-before.Launches)
	require.Equal(t, []float32{1, 2, 5, 4, 3, 4, 3, 2, 5, 6, 1, 6}, valuesOf[float32](t, out, "y"))
	require.True(t, reports["back"].Elided)
}
