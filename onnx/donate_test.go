package onnx_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// cached is a model that puts an update into a cache of [2,8,3] floats by an operator.
func cached(op string) *model.Model {
	m := model.New("cached", 24)
	m.Graph.Inputs = []model.ValueInfo{input("past", layout.Float32), input("at", layout.Int64), input("update", layout.Float32)}
	m.Graph.Outputs = outputs("present")
	in := []string{"past", "at", "update"}
	if op == "TensorScatter" {
		in = []string{"past", "update", "at"}
	}
	m.Graph.Nodes = []model.Node{node(op, "present", in)}
	if op == "ScatterElements" {
		m.Graph.Nodes[0].Attrs = onnx.Attrs{onnx.Int("axis", 1)}
	}
	return m
}

// cachedInputs are the indices and the update of a step, which sets row at of both batches.
func cachedInputs(t *testing.T, s *tensor.Stream, op string, at int64, to float32) onnx.Values {
	value := []float32{to, to, to, to, to, to}
	var where *tensor.Tensor
	dims := []int64{2, 1, 3}
	switch op {
	case "TensorScatter":
		where = held(t)(tensor.FromSlice(tensor.Host(), []int64{at, at}, 2))
	case "ScatterND":
		where = held(t)(tensor.FromSlice(s, []int64{0, at, 1, at}, 2, 2))
		dims = []int64{2, 3}
	default:
		where = held(t)(tensor.FromSlice(s, []int64{at, at, at, at, at, at}, 2, 1, 3))
	}
	return onnx.Values{"at": where, "update": held(t)(tensor.FromSlice(s, value, dims...))}
}

var scatters = []string{"TensorScatter", "ScatterND", "ScatterElements"}

// Each step of a cache that is given away writes the new rows alone, into the same memory.
func TestDonatedCache(t *testing.T) {
	for _, op := range scatters {
		t.Run(op, func(t *testing.T) {
			s := open(t)
			sess := session(t, s, cached(op))
			var report onnx.NodeReport
			sess.OnNode(func(n onnx.NodeReport) { report = n })
			past, err := tensor.New(s, layout.Float32, 2, 8, 3)
			require.NoError(t, err)
			memory := past.Buffer()
			for at := range int64(8) {
				in := cachedInputs(t, s, op, at, float32(at))
				in["past"] = onnx.Donate(past)
				live := s.Device().Stats().Live
				out, err := sess.Run(t.Context(), in)
				require.NoError(t, err)
				_, err = past.Bytes()
				require.ErrorIs(t, err, tensor.ErrReleased)
				past, err = out.Tensor("present")
				require.NoError(t, err)
				require.True(t, memory == past.Buffer())
				require.Equal(t, live, s.Device().Stats().Live)
				require.EqualValues(t, 6*4, report.Bytes)
				require.Contains(t, report.Why, "in place")
			}
			got, err := tensor.Values[float32](past)
			require.NoError(t, err)
			require.Equal(t, []float32{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7}, got[:24])
			require.NoError(t, past.Release())
		})
	}
}

// What another tensor has, or a later node uses, is copied.
func TestDonatedCacheThatOthersHave(t *testing.T) {
	for _, op := range scatters {
		s := open(t)
		m := cached(op)
		m.Graph.Nodes = append(m.Graph.Nodes, node("Transpose", "before", []string{"past"}, onnx.Ints("perm", 0, 1, 2)))
		m.Graph.Outputs = outputs("present", "before")
		for name, model := range map[string]*model.Model{"a view": cached(op), "a later node": m} {
			sess := session(t, s, model)
			past, err := tensor.New(s, layout.Float32, 2, 8, 3)
			require.NoError(t, err)
			view := past
			if name == "a view" {
				view = held(t)(past.Transpose())
			}
			in := cachedInputs(t, s, op, 3, 7)
			in["past"] = onnx.Donate(past)
			out := run(t, sess, in)
			if name == "a later node" {
				view, err = out.Tensor("before")
				require.NoError(t, err)
			}
			got, err := tensor.Values[float32](view)
			require.NoError(t, err)
			require.Equal(t, make([]float32, 48), got, "%s: %s", op, name)
			require.Equal(t, []float32{0, 0, 0, 7, 7, 7, 0, 0, 0}, valuesOf[float32](t, out, "present")[6:15])
		}
	}
}

func TestDonatedInputsAreRefused(t *testing.T) {
	s := open(t)
	sess := session(t, s, cached("ScatterElements"))
	cache := func() *tensor.Tensor { return held(t)(tensor.New(s, layout.Float32, 2, 8, 3)) }
	past, gone := cache(), cache()
	require.NoError(t, gone.Release())
	with := func(x onnx.Value, change func(onnx.Values)) error {
		in := cachedInputs(t, s, "ScatterElements", 0, 1)
		in["past"] = x
		change(in)
		out, err := sess.Run(t.Context(), in)
		require.Nil(t, out)
		return err
	}
	nothing := func(onnx.Values) {}
	require.ErrorContains(t, with(onnx.Donate(nil), nothing), `input "past" is missing`)
	require.ErrorIs(t, with(onnx.Donate(gone), nothing), tensor.ErrReleased)
	for _, twice := range []onnx.Value{past, onnx.Donate(past)} {
		err := with(onnx.Donate(past), func(in onnx.Values) { in["update"] = twice })
		require.ErrorIs(t, err, device.ErrInvalid)
		require.Regexp(t, `input "(past|update)" is given away, and is input "(past|update)", too`, err)
	}
	require.ErrorContains(t, with(onnx.Donate(past), func(in onnx.Values) { in["other"] = cache() }), `no input "other"`)
	require.ErrorContains(t, with(onnx.Donate(past), func(in onnx.Values) { delete(in, "at") }), `input "at" is missing`)
	_, err := past.Bytes()
	require.NoError(t, err, "it is still the caller's")

	require.ErrorContains(t, with(onnx.Donate(past), func(in onnx.Values) { in["update"] = cache() }), "node 0 (ScatterElements")
	_, err = past.Bytes()
	require.ErrorIs(t, err, tensor.ErrReleased)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	past = cache()
	in := cachedInputs(t, s, "ScatterElements", 0, 1)
	in["past"] = onnx.Donate(past)
	_, err = sess.Run(ctx, in)
	require.ErrorIs(t, err, context.Canceled)
	_, err = past.Bytes()
	require.ErrorIs(t, err, tensor.ErrReleased)
}

// A plan says what is written in place.
func TestPlanOfDonatedInputs(t *testing.T) {
	s := open(t)
	sess := session(t, s, cached("ScatterElements"))
	past := held(t)(tensor.New(s, layout.Float32, 2, 8, 3))
	in := cachedInputs(t, s, "ScatterElements", 0, 1)
	in["past"] = past
	p, err := sess.Plan(nil, in)
	require.NoError(t, err)
	require.EqualValues(t, 48*4+6*4, p.Copied)
	in["past"] = onnx.Donate(past)
	p, err = sess.Plan(nil, in)
	require.NoError(t, err)
	require.EqualValues(t, 6*4, p.Copied)
	require.Contains(t, p.Nodes[0].Why, "in place")
	require.Zero(t, p.Peak)
	_, err = past.Bytes()
	require.NoError(t, err, "a plan takes nothing")
}

// An explanation says of which input the run must be given to write in place.
func TestExplainOfDonatedInputs(t *testing.T) {
	s := open(t)
	for _, op := range scatters {
		m := cached(op)
		e, err := onnx.Explain(s, m, onnx.Assumptions{Shapes: map[string]layout.Shape{"past": {2, 8, 3}, "update": {2, 1, 3}}})
		require.NoError(t, err)
		require.Contains(t, e.Nodes[0].Why, `if input "past" is given away`, op)
		m.Graph.Nodes = append(m.Graph.Nodes, node("Transpose", "before", []string{"past"}))
		m.Graph.Outputs = outputs("present", "before")
		e, err = onnx.Explain(s, m, onnx.Assumptions{Shapes: map[string]layout.Shape{"past": {2, 8, 3}, "update": {2, 1, 3}}})
		require.NoError(t, err)
		require.NotContains(t, e.Nodes[0].Why, "given away", op)
	}
}

// placedAt returns memory for an output: now and then an input's own.
func placedAt(t *testing.T, s *tensor.Stream, rng *rand.Rand, w layout.Shape, typ layout.DType, in onnx.Values) *tensor.Tensor {
	for _, name := range slices.Sorted(maps.Keys(in)) {
		x, ok := in[name].(*tensor.Tensor)
		if !ok || x.DType() != typ || rng.IntN(2) == 0 || x.Stream() != s {
			continue
		}
		l := x.Layout()
		if slices.Equal(x.Shape(), w) && !l.SelfOverlaps() {
			return x
		}
	}
	if rng.IntN(2) == 0 || len(w) == 0 {
		return held(t)(tensor.Empty(s, typ, w...))
	}
	dims := slices.Clone(w)
	axis := rng.IntN(len(w))
	from := rng.Int64N(3)
	dims[axis] += from + rng.Int64N(3)
	return held(t)(held(t)(tensor.Empty(s, typ, dims...)).Slice(axis, from, from+w[axis], 1))
}

// TestRandomGraphsInPlace gives away some inputs, names memory for some outputs, which may be
// an input's, and has calls of the device fail: outputs are right, and nothing is left behind.
func TestRandomGraphsInPlace(t *testing.T) {
	for seed := range uint64(120) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 36))
			g := randomGraph(rng, 5+rng.IntN(25))
			onFake, dev := openFake(t)
			for _, s := range []*tensor.Stream{open(t), onFake} {
				tensor.CheckLeaks(t, tensor.Host())
				sess := session(t, s, g.Model)
				for try := range 3 {
					in := feed(t, s, g, rng, views)
					before := in
					in = maps.Clone(in)
					for name, v := range in {
						if rng.IntN(2) == 0 {
							in[name] = onnx.Donate(v.(*tensor.Tensor))
						}
					}
					var options []onnx.RunOption
					named := map[*tensor.Tensor]bool{}
					for _, name := range slices.Sorted(maps.Keys(g.Outputs)) {
						w := g.Outputs[name]
						if rng.IntN(2) == 0 {
							continue
						}
						x := placedAt(t, s, rng, w.Array.Dims, w.Type, before)
						if !named[x] {
							named[x] = true
							options = append(options, onnx.Into(name, x))
						}
					}
					buffers := s.Device().Stats().Buffers
					if s == onFake && try == 2 {
						dev.failAt = 1 + rng.IntN(20)
					}
					out, err := sess.Run(t.Context(), in, options...)
					if s == onFake && try == 2 && dev.failAt == 0 {
						require.ErrorIs(t, err, device.ErrOutOfMemory)
						require.LessOrEqual(t, s.Device().Stats().Buffers, buffers)
						continue
					}
					dev.failAt = 0
					require.NoError(t, err)
					hasOutputs(t, g, out)
					require.NoError(t, out.Release())
					require.LessOrEqual(t, s.Device().Stats().Buffers, buffers)
				}
			}
		})
	}
}
