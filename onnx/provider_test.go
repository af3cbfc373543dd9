package onnx_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// TestProviderTransformer runs a block whose layout is the session's: between the
// engine's operators all of it is views but the Reshape that joins heads, as no strides
// can.
func TestProviderTransformer(t *testing.T) {
	const batch, tokens, heads, width = 2, 5, 3, 4
	s := openOn(t, must(cpu.Open()))
	m := transformer(heads, width)
	sess := sessionWith(t, s, m, engine{strided: onnx.All})
	x := held(t)(numbersLike(.1, batch, tokens, heads*width).Upload(s, layout.Float32))
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	before := s.Device().Stats()
	out := run(t, sess, onnx.Values{"x": x})
	after := s.Device().Stats()

	joined := int64(4 * batch * tokens * heads * width)
	require.Equal(t, joined, after.DeviceToDevice-before.DeviceToDevice, "bytes that the session copied")
	for name, want := range map[string]onnx.Outcome{
		"qkv": onnx.IsForeign, "split": onnx.IsView, "apart": onnx.IsView, "q": onnx.IsView, "k": onnx.IsView, "v": onnx.IsView,
		"kt": onnx.IsView, "scores": onnx.IsForeign, "weights": onnx.IsForeign, "mixed": onnx.IsForeign,
		"back": onnx.IsView, "joined": onnx.IsCopy, "out": onnx.IsForeign, "y": onnx.IsForeign,
	} {
		require.Equal(t, want, reports[name].Outcome(), name)
	}
	require.Equal(t, joined, reports["joined"].Bytes)
	want := transformerByHand(t, m, x, heads, width)
	got := valuesOf[float32](t, out, "y")
	require.Len(t, got, len(want))
	for i := range want {
		require.InDelta(t, want[i], got[i], 1e-4)
	}

	// An engine that wants contiguous operands costs their copies: q, k and v.
	plain := sessionWith(t, s, m, engine{})
	moved := int64(0)
	plain.OnNode(func(n onnx.NodeReport) { moved += n.Bytes })
	before = s.Device().Stats()
	out = run(t, plain, onnx.Values{"x": x})
	require.Equal(t, 4*joined, s.Device().Stats().DeviceToDevice-before.DeviceToDevice)
	require.Equal(t, 4*joined, moved)
	require.Equal(t, got, valuesOf[float32](t, out, "y"))

	// The plan knows all of that before.
	p, err := sess.Plan(map[string]layout.Shape{"x": {batch, tokens, heads * width}}, nil)
	require.NoError(t, err)
	require.Equal(t, joined, p.Copied)
}

func sessionWith(t *testing.T, s *tensor.Stream, m *model.Model, p onnx.Provider) *onnx.Session {
	t.Helper()
	sess, err := onnx.NewSession(s, m, onnx.WithOperators(p))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sess.Close()) })
	return sess
}

// transformerByHand computes the block with loops.
func transformerByHand(t *testing.T, m *model.Model, in *tensor.Tensor, heads, width int) []float32 {
	t.Helper()
	x, err := tensor.Values[float32](in)
	require.NoError(t, err)
	weights := func(name string) []float32 {
		w, ok := m.Graph.Initializer(name)
		require.True(t, ok)
		v := held(t)(onnx.Load(tensor.Host(), w))
		list, err := tensor.Values[float32](v)
		require.NoError(t, err)
		return list
	}
	wide := heads * width
	batch, tokens := int(in.Dim(0)), int(in.Dim(1))
	times := func(a []float32, w []float32, n int) []float32 {
		rows := len(a) / wide
		out := make([]float32, rows*n)
		for r := range rows {
			for c := range n {
				for k := range wide {
					out[r*n+c] += a[r*wide+k] * w[k*n+c]
				}
			}
		}
		return out
	}
	qkv := times(x, weights("w_qkv"), 3*wide)
	at := func(b, tok, part, h, i int) float32 {
		return qkv[(b*tokens+tok)*3*wide+part*wide+h*width+i]
	}
	joined := make([]float32, len(x))
	for b := range batch {
		for h := range heads {
			for i := range tokens {
				scores, sum := make([]float64, tokens), 0.
				for j := range tokens {
					for k := range width {
						scores[j] += float64(at(b, i, 0, h, k) * at(b, j, 1, h, k))
					}
				}
				for j := range scores {
					scores[j] = math.Exp(scores[j])
					sum += scores[j]
				}
				for j := range scores {
					for k := range width {
						joined[(b*tokens+i)*wide+h*width+k] += float32(scores[j]/sum) * at(b, j, 2, h, k)
					}
				}
			}
		}
	}
	out := times(joined, weights("w_out"), wide)
	for i := range out {
		out[i] += x[i]
	}
	return out
}

// numbersLike is an array of floats.
func numbersLike(step float32, dims ...int64) array {
	n := count(dims)
	a := array{Dims: dims}
	for i := range n {
		v := math.Float32bits(step * float32((i*7)%11-5))
		a.Elems = append(a.Elems, string([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}))
	}
	return a
}

// lone is a provider of one operator.
type lone struct {
	op  string
	is  *onnx.Operator
	err error
}

func (l lone) Operator(n onnx.Node) (*onnx.Operator, error) {
	if n.Op != l.op {
		return nil, nil
	}
	return l.is, l.err
}

// TestProviderRefuses: what an engine does wrong is an error, and leaves nothing behind.
func TestProviderRefuses(t *testing.T) {
	s, other := open(t), open(t)
	m := graphOf(layout.Float32, node("Softmax", "y", []string{"x"}))
	x := held(t)(tensor.New(s, layout.Float32, 4))
	made := func(on *tensor.Stream) onnx.Value {
		y, err := tensor.New(on, layout.Float32, 4)
		require.NoError(t, err)
		return y
	}
	failed := errors.New("out of order")
	for says, run := range map[string]func(*onnx.Call) error{
		"the engine made no output 0":           func(*onnx.Call) error { return nil },
		"the engine set 0 outputs; there are 1": func(c *onnx.Call) error { c.Outputs = nil; return nil },
		"out of order":                          func(c *onnx.Call) error { c.Outputs[0] = made(s); return failed },
		"the engine made output 0 on ":          func(c *onnx.Call) error { c.Outputs[0] = made(other); return nil },
		"input 7 is no tensor":                  func(c *onnx.Call) error { _, err := c.Tensor(7); return err },
	} {
		sess := sessionWith(t, s, m, lone{op: "Softmax", is: &onnx.Operator{Run: run}})
		_, err := sess.Run(t.Context(), onnx.Values{"x": x})
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, `node 0 (Softmax "y")`)
	}
	_, err := onnx.NewSession(s, m, onnx.WithOperators(lone{op: "Softmax", err: failed}))
	require.ErrorIs(t, err, failed)
	_, err = onnx.NewSession(s, m, onnx.WithOperators(lone{op: "Softmax", is: &onnx.Operator{}}))
	require.ErrorContains(t, err, "has no Run")
	_, err = onnx.NewSession(s, m, onnx.WithOperators(lone{op: "Gelu"}))
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "not supported: Softmax")
}

// TestProviderIsTold what a node says, and gets shapes on the host.
func TestProviderIsTold(t *testing.T) {
	s, _ := openFake(t)
	m := graphOf(layout.Float32,
		node("Shape", "all", []string{"x"}),
		node("Gather", "k", []string{"all", "zero"}),
		node("Pick", "y", []string{"x", "", "k"}, onnx.Int("axis", 1)))
	m.Graph.Initializers = []model.Tensor{constant(t, "zero", []int64{0})}
	m.Graph.Nodes[2].Domain = "com.example"
	m.Opsets["com.example"] = 4
	var told onnx.Node
	op := &onnx.Operator{Host: 1 << 2, Strided: 1 << 0, Run: func(c *onnx.Call) error {
		k, err := c.Tensor(2)
		if err != nil {
			return err
		}
		if k.Stream() != tensor.Host() || c.Inputs[1] != nil || c.Stream != s || c.Context == nil {
			return errors.New("an input is not as it was asked for")
		}
		x, err := c.Tensor(0)
		if err != nil {
			return err
		}
		c.Outputs[0], err = x.Alias()
		return err
	}}
	sess := sessionWith(t, s, m, providerFunc(func(n onnx.Node) (*onnx.Operator, error) {
		told = n
		return op, nil
	}))
	require.Equal(t, "com.example Pick 4 y [x  k] [y]", fmt.Sprint(told.Domain, " ", told.Op, " ", told.Version, " ", told.Name, " ", told.Inputs, " ", told.Outputs))
	axis, _, err := told.Attrs.Int("axis")
	require.NoError(t, err)
	require.Equal(t, int64(1), axis)
	x := held(t)(held(t)(tensor.New(s, layout.Float32, 2, 3)).Transpose())
	up, down, _ := transfers(t, s, sess, onnx.Values{"x": x})
	require.Zero(t, up)
	require.Zero(t, down)
}

type providerFunc func(onnx.Node) (*onnx.Operator, error)

func (f providerFunc) Operator(n onnx.Node) (*onnx.Operator, error) { return f(n) }

// TestProviderArithmetic: of an operator that both have, the session does shapes and the
// engine the rest.
func TestProviderArithmetic(t *testing.T) {
	s := openOn(t, must(cpu.Open()))
	m := graphOf(layout.Float32,
		node("Shape", "shape", []string{"x"}),
		node("Add", "more", []string{"shape", "shape"}),
		node("Add", "y", []string{"x", "x"}))
	m.Graph.Outputs = outputs("more", "y")
	sess := sessionWith(t, s, m, engine{})
	reports := map[string]onnx.NodeReport{}
	sess.OnNode(func(n onnx.NodeReport) { reports[n.Output] = n })
	out := run(t, sess, onnx.Values{"x": held(t)(tensor.FromSlice(s, []float32{1, 2}, 2))})
	require.Equal(t, []int64{4}, valuesOf[int64](t, out, "more"))
	require.Equal(t, []float32{2, 4}, valuesOf[float32](t, out, "y"))
	require.Equal(t, onnx.IsHost, reports["more"].Outcome())
	require.Equal(t, onnx.IsForeign, reports["y"].Outcome())
}

// TestProviderMayOverwrite: an engine may write over what nobody else uses.
func TestProviderMayOverwrite(t *testing.T) {
	s := open(t)
	may := map[string]bool{}
	op := &onnx.Operator{Strided: onnx.All, Run: func(c *onnx.Call) error {
		x, err := c.Tensor(0)
		if err == nil {
			c.Outputs[0], err = x.Clone()
		}
		may[fmt.Sprint(len(may))] = c.MayOverwrite(0)
		return err
	}}
	m := graphOf(layout.Float32,
		node("Softmax", "a", []string{"x"}), // the caller's
		node("Softmax", "b", []string{"a"}), // used again
		node("Softmax", "c", []string{"a"}),
		node("Softmax", "d", []string{"b"}),
		node("Concat", "y", []string{"c", "d"}, onnx.Int("axis", 0)))
	run(t, sessionWith(t, s, m, lone{op: "Softmax", is: op}), onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 2))})
	require.Equal(t, map[string]bool{"0": false, "1": false, "2": true, "3": true}, may)
}

// looper runs Loops of a given number of iterations and one state by sessions of their
// bodies.
type looper struct{}

func (l *looper) Operator(n onnx.Node) (*onnx.Operator, error) {
	if n.Op != "Loop" {
		return nil, nil
	}
	m, err := n.Body("body")
	if err != nil {
		return nil, err
	}
	return &onnx.Operator{Host: 1 << 0, Strided: onnx.All, Run: func(c *onnx.Call) error {
		sess, err := onnx.NewSession(c.Stream, m, onnx.WithOperators(l))
		if err != nil {
			return err
		}
		defer sess.Close()
		times, err := c.Tensor(0)
		if err != nil {
			return err
		}
		count, err := times.AppendInts(nil)
		if err != nil {
			return err
		}
		state, err := c.Inputs[2].(*tensor.Tensor).Alias()
		for i := int64(0); i < count[0] && err == nil; i++ {
			in := onnx.Values{m.Graph.Inputs[2].Name: state}
			in[m.Graph.Inputs[0].Name], _ = tensor.FromHost([]int64{i}, []int64{}...)
			in[m.Graph.Inputs[1].Name], _ = tensor.FromHost([]bool{true}, []int64{}...)
			for k, name := range n.Captured {
				in[name] = c.Inputs[len(n.Inputs)+k]
			}
			var out onnx.Values
			if out, err = sess.Run(c.Context, in); err == nil {
				err = errors.Join(state.Release(), out[m.Graph.Outputs[0].Name].Release())
				state = out[m.Graph.Outputs[1].Name].(*tensor.Tensor)
			}
		}
		c.Outputs[0] = state
		return err
	}}, nil
}

// TestProviderLoop: an engine can run a Loop by a session of its body.
func TestProviderLoop(t *testing.T) {
	s := open(t)
	body := bodyOf("body", []string{"go_on", "next"},
		node("Identity", "go_on", []string{"cond"}),
		node("Concat", "next", []string{"state", "x"}, onnx.Int("axis", 0)))
	body.Value.(*model.Graph).Inputs = []model.ValueInfo{{Name: "i"}, {Name: "cond"}, {Name: "state"}}
	m := graphOf(layout.Float32, node("Loop", "y", []string{"times", "", "x"}, body))
	m.Graph.Initializers = []model.Tensor{constant(t, "times", []int64{3})}
	sess := sessionWith(t, s, m, &looper{})
	out := run(t, sess, onnx.Values{"x": held(t)(tensor.FromSlice(s, []float32{1, 2}, 2))})
	require.Equal(t, []float32{1, 2, 1, 2, 1, 2, 1, 2}, valuesOf[float32](t, out, "y"))
}

// TestProviderOutputsAreItsOwn: what a session is given it releases, so that inputs
// themselves, or one tensor twice, are refused, and the caller's tensor lives on.
func TestProviderOutputsAreItsOwn(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 2))
	for name, set := range map[string]func(c *onnx.Call){
		"an input":       func(c *onnx.Call) { c.Outputs[0] = c.Inputs[0] },
		"a tensor twice": func(c *onnx.Call) { c.Outputs[0] = c.Outputs[1] },
	} {
		op := &onnx.Operator{Strided: onnx.All, Run: func(c *onnx.Call) error {
			y, err := c.Inputs[0].(*tensor.Tensor).Clone()
			c.Outputs[1] = y
			set(c)
			return err
		}}
		two := node("Softmax", "y", []string{"x"})
		two.Outputs = append(two.Outputs, "z")
		m := graphOf(layout.Float32, two)
		m.Graph.Outputs = outputs("y", "z")
		_, err := sessionWith(t, s, m, lone{op: "Softmax", is: op}).Run(t.Context(), onnx.Values{"x": x})
		require.ErrorIs(t, err, device.ErrInvalid, name)
		require.ErrorContains(t, err, "Alias makes a tensor of its own", name)
		_, err = tensor.Values[float32](x)
		require.NoError(t, err, name)
	}
}
