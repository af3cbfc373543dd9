package onnx_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// copies is a graph of n copies, one after the other: each node's result is
// new memory of x's size, but for the Transposes between.
func copies(t *testing.T, n int) *model.Model {
	m := model.New("copies", 21)
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Float32)}
	m.Graph.Outputs = outputs("y")
	m.Graph.Initializers = []model.Tensor{constant(t, "shape", []int64{64, 64})}
	m.Graph.Initializers = append(m.Graph.Initializers, constant(t, "flat", []int64{-1}))
	from := "x"
	for i := range n {
		name := string(rune('a' + i))
		m.Graph.Nodes = append(m.Graph.Nodes,
			node("Reshape", name+"0", []string{from, "shape"}),
			node("Transpose", name+"1", []string{name + "0"}),
			node("Reshape", name+"2", []string{name + "1", "flat"}))
		from = name + "2"
	}
	m.Graph.Outputs = outputs(from)
	return m
}

// TestIntermediatesAreFreed at their last use: a chain of copies never holds
// more than two.
func TestIntermediatesAreFreed(t *testing.T) {
	const size = 64 * 64 * 4
	s := open(t)
	sess := session(t, s, copies(t, 6))
	x := held(t)(tensor.New(s, layout.Float32, 64*64))
	base := s.Device().Stats().Live
	var most int64
	sess.OnNode(func(n onnx.NodeReport) {
		live := s.Device().Stats().Live - base
		require.LessOrEqual(t, live, int64(2*size), "after %s", n.Name)
		most = max(most, live)
	})
	out, err := sess.Run(t.Context(), onnx.Values{"x": x})
	require.NoError(t, err)
	require.EqualValues(t, 2*size, most, "its input and its output while a copy runs")
	require.EqualValues(t, size, s.Device().Stats().Live-base)
	require.NoError(t, out.Release())
	require.Equal(t, base, s.Device().Stats().Live)
}

// Results that nobody uses are freed at once.
func TestUnusedResultsAreFreed(t *testing.T) {
	s := open(t)
	m := copies(t, 3)
	m.Graph.Outputs = outputs("x")
	sess := session(t, s, m)
	x := held(t)(tensor.New(s, layout.Float32, 64*64))
	base := s.Device().Stats().Live
	out, err := sess.Run(t.Context(), onnx.Values{"x": x})
	require.NoError(t, err)
	require.Equal(t, base, s.Device().Stats().Live)
	require.NoError(t, out.Release())
}

// TestErrorInTheMiddle: whichever node fails, nothing is left behind, and the
// session still works.
func TestErrorInTheMiddle(t *testing.T) {
	s, f := openFake(t)
	tensor.CheckLeaks(t, tensor.Host())
	m := copies(t, 3)
	m.Graph.Nodes = append(m.Graph.Nodes, node("Shape", "kept", []string{"a1"}))
	m.Graph.Outputs = outputs("a2", "kept", "b2", "c2", "x", "shape")
	sess := session(t, s, m)
	x := held(t)(tensor.FromSlice(s, make([]float32, 64*64)))
	base := s.Device().Stats().Live
	for _, name := range []string{"a2", "b2", "c2"} {
		before := name[:1] + "1"
		sess.OnNode(func(n onnx.NodeReport) { f.failCopy = n.Name == before })
		_, err := sess.Run(t.Context(), onnx.Values{"x": x})
		require.ErrorIs(t, err, device.ErrOutOfMemory)
		require.ErrorContains(t, err, `(Reshape "`+name+`")`)
		require.Equal(t, base, s.Device().Stats().Live)
		f.failCopy = false
	}
	sess.OnNode(nil)
	run(t, sess, onnx.Values{"x": x})
}

// TestCancel: a cancelled context stops a run before the next node.
func TestCancel(t *testing.T) {
	s := open(t)
	sess := session(t, s, copies(t, 3))
	x := held(t)(tensor.New(s, layout.Float32, 64*64))
	base := s.Device().Stats().Live
	for stop := range 9 {
		cause := errors.New("nobody waits for it")
		ctx, cancel := context.WithCancelCause(t.Context())
		ran := 0
		sess.OnNode(func(onnx.NodeReport) {
			if ran++; ran == stop {
				cancel(cause)
			}
		})
		if stop == 0 {
			cancel(cause)
		}
		_, err := sess.Run(ctx, onnx.Values{"x": x})
		require.ErrorIs(t, err, cause)
		require.ErrorContains(t, err, "node ")
		require.Equal(t, stop, ran)
		require.Equal(t, base, s.Device().Stats().Live)
		cancel(nil)
	}
}

// TestClose: a closed session does not run, and closing it again does nothing.
func TestClose(t *testing.T) {
	s := open(t)
	tensor.CheckLeaks(t, tensor.Host())
	m := copies(t, 1)
	m.Graph.Nodes = append(m.Graph.Nodes, node("Identity", "kept", []string{"data"}))
	m.Graph.Initializers = append(m.Graph.Initializers, constant(t, "data", []float32{1, 2}))
	m.Graph.Outputs = append(m.Graph.Outputs, outputs("kept")...)
	sess, err := onnx.NewSession(s, m)
	require.NoError(t, err)
	require.NotZero(t, s.Device().Stats().Live)
	require.NoError(t, sess.Close())
	require.NoError(t, sess.Close())
	require.Zero(t, s.Device().Stats().Live)
	_, err = sess.Run(t.Context(), onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 64*64))})
	require.ErrorIs(t, err, device.ErrClosed)
	require.ErrorContains(t, err, "Session.Run")
}

// A session whose constants cannot be loaded leaves none behind.
func TestConstantThatDoesNotLoad(t *testing.T) {
	m := copies(t, 1)
	m.Graph.Initializers = append(m.Graph.Initializers, model.Tensor{
		Name: "w", Type: layout.Float32, Dims: layout.Shape{2}, External: &model.External{Path: "gone", Dir: t.TempDir(), Length: -1},
	})
	m.Graph.Outputs = outputs("w")
	refused(t, m, device.ErrInvalid, `constant "w"`)
}

// TestReleasedInput is an error, not a crash.
func TestReleasedInput(t *testing.T) {
	s := open(t)
	sess := session(t, s, copies(t, 1))
	x, err := tensor.New(s, layout.Float32, 64*64)
	require.NoError(t, err)
	require.NoError(t, x.Release())
	_, err = sess.Run(t.Context(), onnx.Values{"x": x})
	require.ErrorIs(t, err, tensor.ErrReleased)
	m := copies(t, 0)
	m.Graph.Outputs = outputs("shape", "x", "flat")
	_, err = session(t, s, m).Run(t.Context(), onnx.Values{"x": x})
	require.ErrorIs(t, err, tensor.ErrReleased)
}

// TestConcurrentRuns: 16 goroutines share a session, on a cpu and on a fake
// device, each with data of its own, while others look on.
func TestConcurrentRuns(t *testing.T) {
	onFake, _ := openFake(t)
	for name, s := range map[string]*tensor.Stream{"cpu": open(t), "fake": onFake} {
		t.Run(name, func(t *testing.T) {
			sess := session(t, s, attention(t, 4, 8))
			var reports sync.Map
			sess.OnNode(func(n onnx.NodeReport) { reports.Store(n.Name, n) })
			var wg sync.WaitGroup
			for g := range 16 {
				wg.Go(func() {
					for round := range 10 {
						tokens := int64(1 + (g+round)%3)
						data := make([]float32, 2*tokens*32)
						for i := range data {
							data[i] = float32(g*1000 + i)
						}
						x, err := tensor.FromSlice(s, data, 2, tokens, 32)
						if !onGoroutine(t, err) {
							return
						}
						out, err := sess.Run(context.Background(), onnx.Values{"x": x})
						if !onGoroutine(t, err) {
							return
						}
						got := make([]float32, len(data))
						onGoroutine(t, out["merged"].(*tensor.Tensor).ReadInto(got))
						for i, v := range got {
							if v != data[i] {
								t.Errorf("goroutine %d: element %d is %v, want %v", g, i, v, data[i])
								break
							}
						}
						onGoroutine(t, out.Release())
						onGoroutine(t, x.Release())
					}
				})
			}
			wg.Wait()
		})
	}
}

// onGoroutine reports an error where require must not be used.
func onGoroutine(t *testing.T, err error) bool {
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// TestRandomIndicesNameTheirNode: an index out of range is an error of the run or, on devices
// that find it later, of its outputs, each time; it names the node. Runs beside it, of the same
// session and of another one on the same stream, are well.
func TestRandomIndicesNameTheirNode(t *testing.T) {
	s := open(t)
	m := graphOf(layout.Float32,
		node("Gather", "g", []string{"x", "i"}),
		node("Transpose", "t", []string{"g"}),
		node("ScatterElements", "y", []string{"t", "j", "t"}, onnx.Int("axis", 1)))
	m.Graph.Inputs = append(m.Graph.Inputs, input("i", layout.Int64), input("j", layout.Int64))
	m.Opsets[""] = 18
	sess := session(t, s, m)
	twin, err := sess.On(s)
	require.NoError(t, err)
	defer func() { require.NoError(t, twin.Close()) }()
	x := held(t)(tensor.New(s, layout.Float32, 5, 3))
	rounds := 25
	if soak.Enabled() {
		rounds = 10000
	}
	// once is a run that is well, or has one index of 7.
	once := func(sess *onnx.Session, fault int) error {
		i, j, says := []int64{0, 1}, []int64{0, 1, 1, 0, 0, 1}, ""
		switch fault {
		case 1:
			i[1], says = 7, `node 0 (Gather "g"): Gather-13`
		case 2:
			j[3], says = 7, `node 2 (ScatterElements "y"): ScatterElements-18`
		}
		at, err := tensor.FromSlice(s, i, 2)
		if err != nil {
			return err
		}
		to, err := tensor.FromSlice(s, j, 3, 2)
		if err != nil {
			return err
		}
		out, err := sess.Run(t.Context(), onnx.Values{"x": x, "i": at, "j": to})
		for range 2 {
			read := err
			if err == nil {
				_, read = out["y"].(*tensor.Tensor).Bytes()
			}
			if says == "" && read != nil {
				return read
			}
			if says != "" && (!errors.Is(read, device.ErrInvalid) || !strings.Contains(read.Error(), says) || !strings.Contains(read.Error(), "index 7 is outside")) {
				return fmt.Errorf("%q; of index 7 it must say %q", fmt.Sprint(read), says)
			}
		}
		return errors.Join(out.Release(), at.Release(), to.Release())
	}
	var all sync.WaitGroup
	for k := range 8 {
		all.Go(func() {
			for round := range rounds {
				if !onGoroutine(t, once([]*onnx.Session{sess, twin}[k%2], (k+round)%3)) {
					return
				}
			}
		})
	}
	all.Wait()
	_ = s.Wait() // with the errors that no read has returned
}

// TestBugLateErrorsNameGraphs: an index out of range that the device finds later names the node
// around the graph, too.
func TestBugLateErrorsNameGraphs(t *testing.T) {
	s := open(t)
	m := graphOf(layout.Float32, node("If", "y", []string{"c"}, bodyOf("then_branch", []string{"g"}, node("Gather", "g", []string{"x", "i"})), bodyOf("else_branch", []string{"x"})))
	m.Graph.Inputs = append(m.Graph.Inputs, input("i", layout.Int64), input("c", layout.Bool))
	out, err := session(t, s, m).Run(t.Context(), onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 5, 3)), "i": ints(t, s, 0, 7), "c": scalarOf(t, true)})
	if err == nil {
		_, err = out["y"].(*tensor.Tensor).Bytes()
	}
	require.ErrorIs(t, err, device.ErrInvalid)
	require.ErrorContains(t, err, `node 0 (If "y")`)
	require.ErrorContains(t, err, `node 0 (Gather "g")`)
	require.NoError(t, out.Release())
	_ = s.Wait()
}
