package onnx_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// inputsOf gives the graph of a body its inputs.
func inputsOf(body model.Attr, inputs ...model.ValueInfo) model.Attr {
	body.Value.(*model.Graph).Inputs = inputs
	return body
}

func scalarOf[T layout.Element](tb testing.TB, v T) *tensor.Tensor {
	return held(tb)(tensor.FromSlice(tensor.Host(), []T{v}, layout.Shape{}...))
}

// rowsOf is a model that takes row after row of x by a Loop, carries the last one on, and
// collects all of them, turned.
func rowsOf(tb testing.TB) *model.Model {
	body := inputsOf(bodyOf("body", []string{"on", "row", "turned"},
		node("Identity", "on", []string{"cond"}),
		node("Gather", "row", []string{"x", "i"}),
		node("Reshape", "turned", []string{"row", "column"})),
		input("i", layout.Int64), input("cond", layout.Bool), input("last", layout.Float32))
	m := graphOf(layout.Float32, node("Identity", "first", []string{"x"}), node("Loop", "y", []string{"n", "", "first"}, body))
	m.Graph.Nodes[1].Outputs = []string{"y", "all"}
	m.Graph.Inputs = append(m.Graph.Inputs, input("n", layout.Int64))
	m.Graph.Outputs = outputs("y", "all")
	m.Graph.Initializers = []model.Tensor{constant(tb, "column", []int64{-1, 1})}
	return m
}

// TestLoop: rows are views, nothing is read from the device, and only what is collected is
// copied, once.
func TestLoop(t *testing.T) {
	s, _ := openFake(t)
	sess := session(t, s, rowsOf(t))
	var told []onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) { told = append(told, n) })
	x := held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6}, 3, 2))
	before := s.Device().Stats()
	out := run(t, sess, onnx.Values{"x": x, "n": scalarOf(t, int64(3))})
	after := s.Device().Stats()
	require.Equal(t, before.DeviceToHost, after.DeviceToHost)
	require.Equal(t, before.HostToDevice, after.HostToDevice)
	require.Equal(t, int64(24), after.DeviceToDevice-before.DeviceToDevice)
	y, err := out.Tensor("y")
	require.NoError(t, err)
	require.Equal(t, x.Buffer(), y.Buffer())
	require.Equal(t, []float32{5, 6}, valuesOf[float32](t, out, "y"))
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, valuesOf[float32](t, out, "all"))
	all, err := out.Tensor("all")
	require.NoError(t, err)
	require.Equal(t, layout.Shape{3, 2, 1}, all.Shape())
	require.Len(t, told, 1+3*3+1)
	require.Equal(t, `node 1 (Loop "y").body`, told[1].Graph)
	last := told[len(told)-1]
	require.Equal(t, tensor.Copy, last.Kind)
	require.Equal(t, int64(24), last.Bytes)
	require.False(t, last.Foreign)

	p, err := sess.Plan(map[string]layout.Shape{"x": {3, 2}}, onnx.Values{"n": scalarOf(t, int64(3))})
	require.NoError(t, err)
	require.Equal(t, int64(24), p.Copied)
	_, err = sess.Plan(map[string]layout.Shape{"x": {3, 2}, "n": {}}, nil)
	require.ErrorIs(t, err, device.ErrUnsupported)
}

// TestLoopOfOne: what one iteration makes is a view; none makes extent 0 in the declared
// type.
func TestLoopOfOne(t *testing.T) {
	s := open(t)
	m := rowsOf(t)
	sess := session(t, s, m)
	x := held(t)(tensor.FromSlice(s, []float32{1, 2}, 1, 2))
	out := run(t, sess, onnx.Values{"x": x, "n": scalarOf(t, int64(1))})
	all, err := out.Tensor("all")
	require.NoError(t, err)
	require.Equal(t, x.Buffer(), all.Buffer())
	require.Equal(t, layout.Shape{1, 2, 1}, all.Shape())

	for _, n := range []int64{0, -5} {
		_, err = sess.Run(t.Context(), onnx.Values{"x": x, "n": scalarOf(t, n)})
		require.ErrorContains(t, err, `no iteration ran, and the body does not declare the type and rank of its output "turned"`)
	}
	a, _ := m.Graph.Nodes[1].Attrs.Get("body")
	a.Value.(*model.Graph).Outputs[2].Type = model.TensorOf(layout.Float32, model.Symbolic("width"), model.Known(1))
	out = run(t, session(t, s, m), onnx.Values{"x": x, "n": scalarOf(t, int64(0))})
	all, err = out.Tensor("all")
	require.NoError(t, err)
	require.Equal(t, layout.Shape{0, 0, 1}, all.Shape())
	require.Equal(t, layout.Float32, all.DType())
	require.Equal(t, []float32{1, 2}, valuesOf[float32](t, out, "y"), "what it carries is as it was")
}

// doubling is a model that doubles its shape n times, or until a condition fails: of values
// on the host alone.
func doubling(tb testing.TB, inputs ...string) *model.Model {
	body := inputsOf(bodyOf("body", []string{"on", "next", "seen"},
		node("Add", "next", []string{"size", "size"}),
		node("Less", "less", []string{"next", "most"}),
		node("Squeeze", "on", []string{"less"}),
		node("Add", "seen", []string{"size", "i"})),
		input("i", layout.Int64), input("cond", layout.Bool), input("size", layout.Int64))
	m := graphOf(layout.Float32,
		node("Shape", "shape", []string{"x"}),
		node("Loop", "y", append(inputs, "shape"), body),
		node("Expand", "wide", []string{"x", "y"}),
		node("Add", "more", []string{"y", "n"}))
	m.Graph.Nodes[1].Outputs = []string{"y", "sizes"}
	m.Graph.Initializers = []model.Tensor{constant(tb, "most", []int64{20}), constant(tb, "n", []int64{3}), constant(tb, "six", []int64{6})}
	yes := constant(tb, "yes", []bool{true})
	m.Graph.Initializers = append(m.Graph.Initializers, yes)
	m.Graph.Outputs = outputs("y", "sizes", "wide", "more")
	return m
}

// TestLoopOfShapes: values that a loop carries stay on the host, where they can be computed
// with.
func TestLoopOfShapes(t *testing.T) {
	for _, c := range []struct {
		inputs []string
		y      int64
		sizes  []int64
	}{
		{[]string{"n", ""}, 8, []int64{1, 3, 6}},
		{[]string{"", "yes"}, 32, []int64{1, 3, 6, 11, 20}},
		{[]string{"n", "yes"}, 8, []int64{1, 3, 6}},
		{[]string{"six", "yes"}, 32, []int64{1, 3, 6, 11, 20}},
		{[]string{"six", ""}, 64, []int64{1, 3, 6, 11, 20, 37}}, // the body's condition is ignored
	} {
		s, _ := openFake(t)
		sess := session(t, s, doubling(t, c.inputs...))
		x := held(t)(tensor.New(s, layout.Float32, 1))
		before := s.Device().Stats()
		out := run(t, sess, onnx.Values{"x": x})
		require.Equal(t, before, s.Device().Stats(), "nothing touches the device")
		require.Equal(t, 1, int(before.Buffers), "no constant is there")
		require.Equal(t, []int64{c.y}, valuesOf[int64](t, out, "y"))
		require.Equal(t, c.sizes, valuesOf[int64](t, out, "sizes"))
		wide, err := out.Tensor("wide")
		require.NoError(t, err)
		require.Equal(t, layout.Shape{c.y}, wide.Shape())

		e, err := onnx.Explain(s, doubling(t, c.inputs...), onnx.Assumptions{Shapes: map[string]layout.Shape{"x": {1}}})
		require.NoError(t, err)
		for _, n := range e.Nodes {
			if n.Graph != "" {
				require.Equal(t, onnx.IsHost, n.Outcome, "%s: %s", n.Op, n.Why)
			}
		}
	}
}

// TestLoopOfAConstant: a constant that a loop carries at first is on the host if the body
// computes with it.
func TestLoopOfAConstant(t *testing.T) {
	m := doubling(t, "n", "")
	m.Graph.Nodes[1].Inputs[2] = "n"
	s, _ := openFake(t)
	sess := session(t, s, m)
	x := held(t)(tensor.New(s, layout.Float32, 1))
	before := s.Device().Stats()
	require.Equal(t, []int64{24}, valuesOf[int64](t, run(t, sess, onnx.Values{"x": x}), "y"))
	require.Equal(t, before, s.Device().Stats())
}

// TestLoopOfMixedPlaces: what depends on a value that leaves the host leaves it, too.
func TestLoopOfMixedPlaces(t *testing.T) {
	body := inputsOf(bodyOf("body", []string{"cond", "a_", "b_"}, node("Identity", "a_", []string{"x"}), node("Identity", "b_", []string{"a"})),
		input("i", layout.Int64), input("cond", layout.Bool), input("a", layout.Int64), input("b", layout.Int64))
	m := graphOf(layout.Int64, node("Loop", "a", []string{"n", "", "n", "n"}, body), node("Identity", "y", []string{"b"}))
	m.Graph.Nodes[0].Outputs = []string{"a", "b"}
	m.Graph.Initializers = []model.Tensor{constant(t, "n", []int64{2})}
	s := open(t)
	out := run(t, session(t, s, m), onnx.Values{"x": ints(t, s, 7)})
	require.Equal(t, []int64{7}, valuesOf[int64](t, out, "y"))

	m.Graph.Nodes[1] = node("Add", "y", []string{"b", "n"})
	refused(t, m, device.ErrUnsupported, "Add (on the host only: of shapes)")
}

// TestLoopOfGrowth: extents may differ from those that the body declares, as its values change.
func TestLoopOfGrowth(t *testing.T) {
	body := inputsOf(bodyOf("body", []string{"cond", "next"}, node("Concat", "next", []string{"state", "state"}, onnx.Int("axis", 0))),
		input("i", layout.Int64), input("cond", layout.Bool), model.ValueInfo{Name: "state", Type: model.TensorOf(layout.Float32, model.Known(1))})
	m := graphOf(layout.Float32, node("Loop", "y", []string{"n", "", "x"}, body))
	m.Graph.Initializers = []model.Tensor{constant(t, "n", []int64{3})}
	s := open(t)
	out := run(t, session(t, s, m), onnx.Values{"x": held(t)(tensor.FromSlice(s, []float32{2}, 1))})
	require.Len(t, valuesOf[float32](t, out, "y"), 8)
}

// TestLoopsInLoops: loops in loops compute on the host, and the time to load them does not
// grow as a power with their depth.
func TestLoopsInLoops(t *testing.T) {
	ins := []model.ValueInfo{input("i", layout.Int64), input("cond", layout.Bool), input("state", layout.Int64)}
	body := inputsOf(bodyOf("body", []string{"cond", "next"}, node("Add", "next", []string{"state", "state"})), ins...)
	for range 25 {
		body = inputsOf(bodyOf("body", []string{"cond", "next"}, node("Loop", "next", []string{"one", "", "state"}, body)), ins...)
	}
	m := graphOf(layout.Int64, node("Shape", "shape", []string{"x"}), node("Loop", "y", []string{"one", "", "shape"}, body))
	m.Graph.Initializers = []model.Tensor{constant(t, "one", []int64{1})}
	s := open(t)
	out := run(t, session(t, s, m), onnx.Values{"x": ints(t, s, 1, 2, 3)})
	require.Equal(t, []int64{6}, valuesOf[int64](t, out, "y"))

	// In each of these, two values turn out to leave the host, one after the other.
	ins = append(ins, input("more", layout.Int64))
	body = inputsOf(bodyOf("body", []string{"cond", "a", "b"}, node("Identity", "a", []string{"x"}), node("Identity", "b", []string{"state"})), ins...)
	for range 25 {
		inner := node("Loop", "a", []string{"one", "", "state", "more"}, body)
		inner.Outputs = []string{"a", "b"}
		body = inputsOf(bodyOf("body", []string{"cond", "a", "b"}, inner), ins...)
	}
	outer := node("Loop", "y", []string{"one", "", "shape", "shape"}, body)
	outer.Outputs = []string{"y", "z"}
	m.Graph.Nodes[1] = outer
	out = run(t, session(t, s, m), onnx.Values{"x": ints(t, s, 1, 2, 3)})
	require.Equal(t, []int64{1, 2, 3}, valuesOf[int64](t, out, "y"))
}

// TestLoopWithEngine: a value that is on the host at first, and from an engine later, is
// moved once.
func TestLoopWithEngine(t *testing.T) {
	mix := func(output string, inputs ...string) model.Node {
		n := node("Mix", output, inputs)
		n.Domain = "test"
		return n
	}
	body := inputsOf(bodyOf("body", []string{"on", "sum"}, node("Identity", "on", []string{"cond"}), mix("sum", "state", "x")),
		input("i", layout.Int64), input("cond", layout.Bool), input("state", layout.Int64))
	m := graphOf(layout.Int64, node("Loop", "y", []string{"n", "", "zero"}, body))
	m.Opsets["test"] = 1
	m.Graph.Initializers = []model.Tensor{constant(t, "n", []int64{3}), *fourOf(t, "zero", 0)}
	s := open(t)
	sess := sessionWith(t, s, m, &mixer{})
	out := run(t, sess, onnx.Values{"x": held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2))})
	require.Equal(t, []int64{6, 12, 18, 24}, valuesOf[int64](t, out, "y"))
}

// TestLoopEnds: a loop without end ends with its context, and after an error nothing is held.
func TestLoopEnds(t *testing.T) {
	body := inputsOf(bodyOf("body", []string{"on", "last"}, node("Identity", "on", []string{"cond"}), node("Transpose", "last", []string{"state"})),
		input("i", layout.Int64), input("cond", layout.Bool), input("state", layout.Float32))
	m := graphOf(layout.Float32, node("Loop", "y", []string{"", "", "x"}, body))
	s := open(t)
	sess := session(t, s, m)
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	rounds := 0
	sess.OnNode(func(onnx.NodeReport) {
		if rounds++; rounds == 1000 {
			cancel(stop)
		}
	})
	_, err := sess.Run(ctx, onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 2, 3))})
	require.ErrorIs(t, err, stop)
	require.Equal(t, 1000, rounds)

	body.Value.(*model.Graph).Nodes, body.Value.(*model.Graph).Outputs = nil, outputs("cond", "state")
	_, err = session(t, s, m).Plan(map[string]layout.Shape{"x": {2, 3}}, nil)
	require.ErrorContains(t, err, "a plan of more than 262144 iterations")
}

func TestLoopRefuses(t *testing.T) {
	i, cond, state := input("i", layout.Int64), input("cond", layout.Bool), input("state", layout.Float32)
	loop := func(inputs, outs []string, body model.Attr) *model.Model {
		m := graphOf(layout.Float32, node("Loop", "y", inputs, body))
		m.Graph.Nodes[0].Outputs = outs
		m.Graph.Initializers = []model.Tensor{constant(t, "two", []int64{2, 2}), constant(t, "one", []int64{1})}
		return m
	}
	good := func() model.Attr {
		return inputsOf(bodyOf("body", []string{"on", "next"}, node("Identity", "on", []string{"cond"}), node("Flatten", "next", []string{"state"})), i, cond, state)
	}
	y := []string{"y"}
	for says, m := range map[string]*model.Model{
		"attribute body is missing":             loop([]string{"", "", "x"}, y, onnx.Int("body", 1)),
		"body has 2 inputs; the node needs 3":   loop([]string{"", "", "x"}, y, inputsOf(bodyOf("body", []string{"cond", "i"}), i, cond)),
		"body has 1 outputs; the node needs 2":  loop([]string{"", "", "x"}, y, inputsOf(bodyOf("body", []string{"cond"}), i, cond, state)),
		"it needs one for each of the 2 values": loop([]string{"", "", "x", "x"}, y, good()),
		`nothing makes its input "none"`:        loop([]string{"", "", "x"}, y, inputsOf(bodyOf("body", []string{"cond", "none"}), i, cond, state)),
	} {
		t.Run(says, func(t *testing.T) { refused(t, m, device.ErrInvalid, says) })
	}
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 2, 3))
	for says, m := range map[string]*model.Model{
		"the number of iterations has shape [2]; it must be one number": loop([]string{"two", "", "x"}, y, good()),
		"the condition is int64[1]; it must be one bool":                loop([]string{"one", "one", "x"}, y, good()),
		`output "state" of iteration 1 is float[6]; the first is float[2,3]`: func() *model.Model {
			m := loop([]string{"two of", "", "x"}, []string{"y", "all"}, inputsOf(bodyOf("body", []string{"cond", "next", "state"}, node("Reshape", "next", []string{"state", "flat"})), i, cond, state))
			m.Graph.Initializers = append(m.Graph.Initializers, constant(t, "flat", []int64{-1}), constant(t, "two of", []int64{2}))
			return m
		}(),
		`body: Session.Run: input "state" is float[2,3]; the graph declares int32`: loop([]string{"one", "", "x"}, y,
			inputsOf(bodyOf("body", []string{"cond", "state"}), i, cond, input("state", layout.Int32))),
	} {
		t.Run(says, func(t *testing.T) {
			_, err := session(t, s, m).Run(t.Context(), onnx.Values{"x": x})
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, says)
			require.ErrorContains(t, err, `node 0 (Loop "y")`)
		})
	}
}

// A plan of a constant that a body returns: it counts with the session's, and is not
// overwritten, as in a run.
func TestBugPlanOfConstantsInBodies(t *testing.T) {
	body := inputsOf(bodyOf("body", []string{"cond", "made"}), input("i", layout.Int64), input("cond", layout.Bool), input("state", layout.Int64))
	g := body.Value.(*model.Graph)
	g.Initializers = []model.Tensor{constant(t, "made", []int64{1, 2, 3})}
	m := graphOf(layout.Int64,
		node("Loop", "a", []string{"n", "", "x"}, body),
		node("ScatterElements", "y", []string{"a", "at", "x"}))
	m.Graph.Initializers = []model.Tensor{constant(t, "n", []int64{2}), constant(t, "at", []int64{1})}
	s := open(t)
	sess := session(t, s, m)
	p, err := sess.Plan(map[string]layout.Shape{"x": {1}}, nil)
	require.NoError(t, err)
	var ran []tensor.Verdict
	sess.OnNode(func(n onnx.NodeReport) { ran = append(ran, n.Verdict) })
	out := run(t, sess, onnx.Values{"x": ints(t, s, 7)})
	require.Equal(t, []int64{1, 7, 3}, valuesOf[int64](t, out, "y"))
	for i, n := range p.Nodes {
		require.Equal(t, ran[i].Bytes, n.Bytes, n.Op)
	}
	require.GreaterOrEqual(t, p.Constants, int64(24))
}

// A plan of text in a body says that it is not known, as outside: what stands in for it is no
// number.
func TestBugPlanOfTextInBodies(t *testing.T) {
	body := inputsOf(bodyOf("body", []string{"cond", "made"}, node("Cast", "made", []string{"x"}, onnx.Int("to", int64(layout.Int64)))),
		input("i", layout.Int64), input("cond", layout.Bool), input("state", layout.Int64))
	m := graphOf(layout.String, node("Loop", "y", []string{"n", "", "n"}, body))
	m.Graph.Initializers = []model.Tensor{constant(t, "n", []int64{2})}
	s, _ := openFake(t)
	_, err := session(t, s, m).Plan(map[string]layout.Shape{"x": {1}}, nil)
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "the strings are not known")
}

// TestBugOldBodies: before version 4 of the format, initializers of a body are also its inputs.
func TestBugOldBodies(t *testing.T) {
	body := inputsOf(bodyOf("body", []string{"on", "flat"}, node("Identity", "on", []string{"c"}), node("Reshape", "flat", []string{"v", "to"})),
		input("to", layout.Int64), input("i", layout.Int64), input("c", layout.Bool), input("v", layout.Float32))
	body.Value.(*model.Graph).Initializers = []model.Tensor{constant(t, "to", []int64{-1})}
	m := graphOf(layout.Float32, node("Loop", "y", []string{"n", "", "x"}, body))
	m.Graph.Inputs = append(m.Graph.Inputs, input("n", layout.Int64))
	m.Opsets[""] = 8
	s := open(t)
	out := run(t, session(t, s, m), onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 2, 3)), "n": scalarOf(t, int64(2))})
	y, err := out.Tensor("y")
	require.NoError(t, err)
	require.Equal(t, layout.Shape{6}, y.Shape())
}
