package onnx_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// graphBuilder grows a random graph of valid nodes, and works out with the
// oracle what each value is.
type graphBuilder struct {
	tb    testing.TB
	rng   *rand.Rand
	m     *model.Model
	names []string // of the data values
	data  map[string]array
}

// randomGraph returns a model at opset 13 or later of n nodes or more on the
// int64 input x of dims [2,3,4], and what its outputs are.
func randomGraph(tb testing.TB, rng *rand.Rand, n int) (*model.Model, array, map[string]array) {
	g := &graphBuilder{tb: tb, rng: rng, m: model.New("random", 13+rng.Int64N(16)), data: map[string]array{}}
	x := numbered(layout.Int64, 2, 3, 4)
	g.m.Graph.Inputs = []model.ValueInfo{input("x", layout.Int64)}
	g.names, g.data["x"] = []string{"x"}, x
	for range n {
		g.grow()
	}
	outs := map[string]array{}
	for _, name := range g.names {
		if rng.IntN(3) == 0 || name == g.names[len(g.names)-1] {
			g.m.Graph.Outputs = append(g.m.Graph.Outputs, model.ValueInfo{Name: name})
			outs[name] = g.data[name]
		}
	}
	nodes := g.m.Graph.Nodes
	rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	return g.m, x, outs
}

// list returns the name of a value that holds a list of numbers: an initializer,
// a Constant or a node's work on one, and now and then an output too.
func (g *graphBuilder) list(values ...int64) string {
	name := g.name(numbers(values...))
	switch g.rng.IntN(4) {
	case 0:
		g.m.Graph.Nodes = append(g.m.Graph.Nodes, node("Constant", name, nil, onnx.Ints("value_ints", values...)))
	case 1:
		from := g.list(values...)
		g.m.Graph.Nodes = append(g.m.Graph.Nodes, node("Identity", name, []string{from}))
	default:
		g.m.Graph.Initializers = append(g.m.Graph.Initializers, constant(g.tb, name, values))
	}
	if g.rng.IntN(8) == 0 {
		g.names = append(g.names, name)
	}
	return name
}

// grow adds a node of one of the operators, or more, on one of the values.
func (g *graphBuilder) grow() {
	from := g.names[g.rng.IntN(len(g.names))]
	for {
		op := operatorTests[g.rng.IntN(len(operatorTests))]
		if op.grow != nil && op.grow(g, from, g.data[from]) {
			return
		}
	}
}

// name returns a new name of a value.
func (g *graphBuilder) name(a array) string {
	name := fmt.Sprint("v", len(g.data))
	g.data[name] = a
	return name
}

// hidden adds a node whose output no others use by chance, and returns its name.
func (g *graphBuilder) hidden(op string, out array, in []string, attrs ...model.Attr) string {
	name := g.name(out)
	g.m.Graph.Nodes = append(g.m.Graph.Nodes, node(op, name, in, attrs...))
	return name
}

// named adds a node and returns its output's name.
func (g *graphBuilder) named(op string, out array, in []string, attrs ...model.Attr) string {
	name := g.hidden(op, out, in, attrs...)
	g.names = append(g.names, name)
	return name
}

// add adds a node; it is what an operator's grow returns.
func (g *graphBuilder) add(op string, out array, in []string, attrs ...model.Attr) bool {
	g.named(op, out, in, attrs...)
	return true
}

// TestRandomGraphs runs random graphs in random order on the cpu and on a fake
// device: every output is the oracle's, nothing is left behind, and no list of
// numbers is read back from the device.
func TestRandomGraphs(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			m, a, want := randomGraph(t, rng, 5+rng.IntN(25))
			onFake, _ := openFake(t)
			for _, s := range []*tensor.Stream{open(t), onFake} {
				tensor.CheckLeaks(t, tensor.Host())
				sess := session(t, s, m)
				sess.OnNode(func(onnx.NodeReport) {})
				x := uploadAs(t, a, s, layout.Int64, views[rng.IntN(len(views))])
				downloads := s.Device().Stats().Downloads
				out := run(t, sess, onnx.Values{"x": x})
				if s == onFake {
					require.Equal(t, downloads, s.Device().Stats().Downloads)
				}
				require.Len(t, out, len(want))
				for name, w := range want {
					y, err := out.Tensor(name)
					require.NoError(t, err)
					same(t, layout.Int64, w, y)
				}
			}
		})
	}
}

// TestConcurrentGraphs: 16 goroutines run one random graph of all operators.
func TestConcurrentGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	m, a, want := randomGraph(t, rng, 120)
	onFake, _ := openFake(t)
	for _, s := range []*tensor.Stream{open(t), onFake} {
		sess := session(t, s, m)
		x := upload(t, a, s, layout.Int64)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				out, err := sess.Run(t.Context(), onnx.Values{"x": x})
				if !onGoroutine(t, err) {
					return
				}
				for name, w := range want {
					got := make([]int64, len(w.Elems))
					if onGoroutine(t, out[name].(*tensor.Tensor).Read(got)) && fmt.Sprint(numbers(got...).Elems) != fmt.Sprint(w.Elems) {
						t.Errorf("%s is %v", name, got)
					}
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
			m, a, want := randomGraph(t, rng, 20)
			s, dev := openFake(t)
			tensor.CheckLeaks(t, tensor.Host())
			sess := session(t, s, m)
			x := uploadAs(t, a, s, layout.Int64, views[rng.IntN(len(views))])
			before := s.Device().Stats().Buffers
			for call := 1; ; call++ {
				dev.failAt = call
				out, err := sess.Run(t.Context(), onnx.Values{"x": x})
				if dev.failAt > 0 { // there are no more calls
					dev.failAt = 0
					require.NoError(t, err)
					for name, w := range want {
						same(t, layout.Int64, w, out[name].(*tensor.Tensor))
					}
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
			m, a, want := randomGraph(t, rng, 5+rng.IntN(25))
			onFake, _ := openFake(t)
			for _, s := range []*tensor.Stream{open(t), onFake} {
				tensor.CheckLeaks(t, tensor.Host())
				other, err := tensor.NewStream(s.Device())
				require.NoError(t, err)
				defer func() { require.NoError(t, other.Close()) }()
				sess := session(t, s, m)
				for _, on := range []*tensor.Stream{tensor.Host(), other} {
					x := uploadAs(t, a, on, layout.Int64, views[rng.IntN(len(views))])
					out, err := sess.Run(t.Context(), onnx.Values{"x": x})
					require.NoError(t, err)
					for name, w := range want {
						same(t, layout.Int64, w, out[name].(*tensor.Tensor))
					}
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
