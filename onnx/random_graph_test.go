package onnx_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/graphs"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// randomGraph returns a model of n nodes or more at opset 13 or later, of types that
// every device holds, whose runs need read nothing from the device.
func randomGraph(rng *rand.Rand, n int) *graphs.Graph { return graphs.Random(rng, randomLimits(n)) }

func randomLimits(n int) graphs.Limits {
	numbers := slices.DeleteFunc(layout.DTypes(), func(t layout.DType) bool { return t == layout.String })
	return graphs.Limits{Nodes: n, First: 13, Last: onnx.MaxOpset, Types: numbers, Ranks: 6, Resident: true}
}

// feed puts the inputs of a graph on a stream; views says how they lie in memory.
func feed(tb testing.TB, s *tensor.Stream, g *graphs.Graph, rng *rand.Rand, views []string) onnx.Values {
	tb.Helper()
	in := onnx.Values{}
	for _, name := range slices.Sorted(maps.Keys(g.Inputs)) {
		in[name] = uploadAs(tb, g.Inputs[name].Array, s, g.Inputs[name].Type, views[rng.IntN(len(views))])
	}
	return in
}

// hasOutputs checks all outputs.
func hasOutputs(tb testing.TB, g *graphs.Graph, out onnx.Values) {
	tb.Helper()
	require.Len(tb, out, len(g.Outputs))
	for name, w := range g.Outputs {
		y, err := out.Tensor(name)
		require.NoError(tb, err)
		same(tb, w.Type, w.Array, y)
	}
}

// TestRandomGraphs runs random graphs in random order on the cpu and on a fake
// device: every output is the oracle's, nothing is left behind, and no list of
// numbers is read back from the device.
func TestRandomGraphs(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			g := randomGraph(rng, 5+rng.IntN(25))
			onFake, _ := openFake(t)
			for _, s := range []*tensor.Stream{open(t), onFake} {
				tensor.CheckLeaks(t, tensor.Host())
				sess := session(t, s, g.Model)
				sess.OnNode(func(onnx.NodeReport) {})
				in := feed(t, s, g, rng, views)
				downloads := s.Device().Stats().Downloads
				out := run(t, sess, in)
				if s == onFake {
					require.Equal(t, downloads, s.Device().Stats().Downloads)
				}
				hasOutputs(t, g, out)
			}
		})
	}
}

// TestOutlinedGraphs: random graphs whose nodes are in functions, Ifs and Loops.
func TestOutlinedGraphs(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 23))
			g := randomGraph(rng, 5+rng.IntN(15))
			// The positions of a circular one are read where they are.
			circular := slices.ContainsFunc(g.Model.Graph.Nodes, func(n model.Node) bool { return n.OpType == "TensorScatter" })
			graphs.Outline(rng, g, 1+rng.IntN(5))
			onFake, _ := openFake(t)
			for _, s := range []*tensor.Stream{open(t), onFake} {
				tensor.CheckLeaks(t, tensor.Host())
				sess := session(t, s, g.Model)
				in := feed(t, s, g, rng, views)
				downloads := s.Device().Stats().Downloads
				out := run(t, sess, in)
				if s == onFake && !circular {
					require.Equal(t, downloads, s.Device().Stats().Downloads)
				}
				hasOutputs(t, g, out)
			}
		})
	}
}

// TestConcurrentGraphs: 16 goroutines run one random graph of all operators.
func TestConcurrentGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	g := randomGraph(rng, 120)
	onFake, _ := openFake(t)
	for _, s := range []*tensor.Stream{open(t), onFake} {
		sess := session(t, s, g.Model)
		in := feed(t, s, g, rng, views)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				out, err := sess.Run(t.Context(), in)
				if !onGoroutine(t, err) {
					return
				}
				for name, w := range g.Outputs {
					onGoroutine(t, w.Compare(w.Type, out[name].(*tensor.Tensor)))
				}
				onGoroutine(t, out.Release())
			})
		}
		wg.Wait()
	}
}

// TestRandomGraphsThatFail has each call to the device fail in turn: the run fails,
// nothing is left behind, and the next one works.
func TestRandomGraphsThatFail(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 17))
			g := randomGraph(rng, 20)
			s, dev := openFake(t)
			tensor.CheckLeaks(t, tensor.Host())
			sess := session(t, s, g.Model)
			in := feed(t, s, g, rng, views)
			before := s.Device().Stats().Buffers
			for call := 1; ; call++ {
				dev.failAt = call
				out, err := sess.Run(t.Context(), in)
				if dev.failAt > 0 { // there are no more calls
					dev.failAt = 0
					require.NoError(t, err)
					hasOutputs(t, g, out)
					require.NoError(t, out.Release())
					break
				}
				require.ErrorIs(t, err, device.ErrOutOfMemory)
				require.ErrorContains(t, err, "node ")
				require.Equal(t, before, s.Device().Stats().Buffers, "call %d", call)
			}
		})
	}
}

// TestRandomGraphsElsewhere has the input on the host, or on another stream of the
// device.
func TestRandomGraphsElsewhere(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 23))
			g := randomGraph(rng, 5+rng.IntN(25))
			onFake, _ := openFake(t)
			for _, s := range []*tensor.Stream{open(t), onFake} {
				tensor.CheckLeaks(t, tensor.Host())
				other, err := tensor.NewStream(s.Device())
				require.NoError(t, err)
				defer func() { require.NoError(t, other.Close()) }()
				sess := session(t, s, g.Model)
				for _, on := range []*tensor.Stream{tensor.Host(), other} {
					in := feed(t, on, g, rng, views)
					out, err := sess.Run(t.Context(), in)
					require.NoError(t, err)
					hasOutputs(t, g, out)
					require.NoError(t, out.Release())
				}
			}
		})
	}
}

// TestSessionsThatFail has each call to the device fail while a session loads its
// constants, to the host and the device: nothing is left behind.
func TestSessionsThatFail(t *testing.T) {
	m := graphOf(layout.Int64,
		node("Reshape", "z", []string{"x", "both"}),
		node("Concat", "y", []string{"z", "both", "more"}, onnx.Int("axis", 0)))
	m.Graph.Initializers = []model.Tensor{constant(t, "both", []int64{2}), constant(t, "more", []int64{3, 4})}
	s, dev := openFake(t)
	tensor.CheckLeaks(t, tensor.Host())
	for call := 1; ; call++ {
		dev.failAt = call
		sess, err := onnx.NewSession(s, m)
		if dev.failAt > 0 {
			dev.failAt = 0
			require.NoError(t, err)
			require.NoError(t, sess.Close())
			require.Greater(t, call, 2)
			break
		}
		require.ErrorIs(t, err, device.ErrOutOfMemory)
		require.Regexp(t, `constant "(both|more)": `, err)
		require.Zero(t, s.Device().Stats().Buffers)
	}
}
