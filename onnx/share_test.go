package onnx_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// weighted is a model with constants on the device: of the graph, of a branch, and folded
// ones.
func weighted(tb testing.TB) *model.Model {
	branch := func(attr, out, from string) model.Attr {
		b := bodyOf(attr, []string{out}, node("Concat", out, []string{"x", from, from + "w"}, onnx.Int("axis", 0)))
		g := b.Value.(*model.Graph)
		g.Initializers = []model.Tensor{constant(tb, from+"w", []int64{7, 8})}
		return b
	}
	m := graphOf(layout.Int64, node("Transpose", "wt", []string{"w"}), node("Reshape", "flat", []string{"wt", "to"}),
		node("If", "y", []string{"turn"}, branch("then_branch", "a", "w"), branch("else_branch", "b", "flat")))
	m.Graph.Inputs = append(m.Graph.Inputs, input("turn", layout.Bool))
	w := constant(tb, "w", make([]int64, 6))
	for i := range int64(6) {
		w.Data[8*i] = byte(i)
	}
	m.Graph.Initializers = []model.Tensor{w, constant(tb, "to", []int64{-1})}
	return m
}

// Sessions on streams of one device hold the weights once, whichever is closed first, and run
// at the same time.
func TestSessionsShareWeights(t *testing.T) {
	s := open(t)
	tensor.CheckLeaks(t, tensor.Host())
	empty := s.Device().Stats().Live
	first, err := onnx.NewSession(s, weighted(t))
	require.NoError(t, err)
	held := s.Device().Stats().Live
	require.Greater(t, held, empty)
	sessions := []*onnx.Session{first}
	for range 3 {
		other, err := tensor.NewStream(s.Device())
		require.NoError(t, err)
		defer func() { require.NoError(t, other.Close()) }()
		next, err := sessions[len(sessions)-1].On(other)
		require.NoError(t, err)
		sessions = append(sessions, next)
	}
	require.Equal(t, held, s.Device().Stats().Live)
	require.NoError(t, first.Close())
	_, err = first.On(s)
	require.ErrorIs(t, err, device.ErrClosed)
	require.Equal(t, held, s.Device().Stats().Live)
	var all sync.WaitGroup
	for _, sess := range sessions[1:] {
		all.Go(func() {
			for i := range 20 {
				turn := i%2 == 0
				x, err := tensor.FromSlice(tensor.Host(), []int64{9}, 1)
				onGoroutine(t, err)
				cond, err := tensor.FromSlice(tensor.Host(), []bool{turn}, 1)
				onGoroutine(t, err)
				out, err := sess.Run(t.Context(), onnx.Values{"x": x, "turn": cond})
				if !onGoroutine(t, err) {
					return
				}
				y, err := out.Tensor("y")
				onGoroutine(t, err)
				got, err := tensor.Values[int64](y)
				onGoroutine(t, err)
				want := []int64{9, 0, 1, 2, 3, 4, 5, 7, 8}
				if fmt.Sprint(want) != fmt.Sprint(got) {
					onGoroutine(t, fmt.Errorf("%v, not %v", got, want))
				}
				onGoroutine(t, out.Release())
				onGoroutine(t, x.Release())
				onGoroutine(t, cond.Release())
			}
		})
	}
	all.Wait()
	for _, sess := range sessions[1:] {
		require.Equal(t, held, s.Device().Stats().Live)
		require.NoError(t, sess.Close())
		require.NoError(t, sess.Close(), "twice")
	}
	require.Equal(t, empty, s.Device().Stats().Live)
}

// On another device the constants are copied.
func TestSessionOnAnotherDevice(t *testing.T) {
	s, other := open(t), openOn(t, must(cpu.Open()))
	first, err := onnx.NewSession(s, weighted(t))
	require.NoError(t, err)
	second, err := first.On(other)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	x, turn := ints(t, other, 9), held(t)(tensor.FromSlice(tensor.Host(), []bool{true}, 1))
	out := run(t, second, onnx.Values{"x": x, "turn": turn})
	require.Equal(t, []int64{9, 0, 1, 2, 3, 4, 5, 7, 8}, valuesOf[int64](t, out, "y"))
	require.NoError(t, second.Close())
}

// An engine's operator, with the weights that it keeps, is shared, and closed once.
func TestSessionsShareEngines(t *testing.T) {
	s := open(t)
	other, err := tensor.NewStream(s.Device())
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	var asked, closed int
	var on *tensor.Stream
	is := &onnx.Operator{
		Run: func(c *onnx.Call) error {
			on = c.Stream
			x, err := c.Tensor(0)
			if err == nil {
				c.Outputs[0], err = x.Alias()
			}
			return err
		},
		Close: func() error { closed++; return nil },
	}
	first, err := onnx.NewSession(s, graphOf(layout.Float32, node("Mystery", "y", []string{"x"})), onnx.WithOperators(counted{lone{op: "Mystery", is: is}, &asked}))
	require.NoError(t, err)
	second, err := first.On(other)
	require.NoError(t, err)
	_, err = first.On(openOn(t, must(cpu.Open())))
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "Session.On: the engine's operators are for device")
	for stream, sess := range map[*tensor.Stream]*onnx.Session{s: first, other: second} {
		run(t, sess, onnx.Values{"x": held(t)(tensor.New(stream, layout.Float32, 2))})
		require.True(t, on == stream)
	}
	require.Equal(t, 1, asked)
	require.NoError(t, first.Close())
	require.Zero(t, closed)
	require.NoError(t, second.Close())
	require.Equal(t, 1, closed)
}

// counted counts the nodes that a provider is asked for.
type counted struct {
	onnx.Provider
	asked *int
}

func (c counted) Operator(n onnx.Node) (*onnx.Operator, error) {
	*c.asked++
	return c.Provider.Operator(n)
}
