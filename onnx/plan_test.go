package onnx_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// A plan of a random graph tells exactly what a run then reports and does.
func TestPlanIsWhatARunDoes(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 11))
			g := randomGraph(rng, 5+rng.IntN(25))
			shapes := map[string]layout.Shape{}
			for name, v := range g.Inputs {
				shapes[name] = v.Dims
			}
			onFake, _ := openFake(t)
			for _, s := range []*tensor.Stream{open(t), onFake, openHostFake(t)} {
				sess := session(t, s, g.Model)
				before := s.Device().Stats()
				p, err := sess.Plan(shapes, nil)
				require.NoError(t, err)
				require.Equal(t, before, s.Device().Stats(), "a plan does not touch the device")
				var nodes []onnx.NodeReport
				sess.OnNode(func(n onnx.NodeReport) { nodes = append(nodes, n) })
				in := feed(t, s, g, rng, views[:1])
				before = s.Device().Stats()
				run(t, sess, in)
				after := s.Device().Stats()
				require.Equal(t, nodes, p.Nodes)
				require.Equal(t, after.Launches-before.Launches, p.Copies)
				require.Equal(t, after.DeviceToDevice-before.DeviceToDevice, p.Copied)
				require.Equal(t, after.HostToDevice-before.HostToDevice, p.Uploaded)
				var copied int64
				for _, n := range nodes {
					if n.Kind == tensor.Copy && !n.Host || n.Elided {
						copied += n.Bytes
					}
				}
				require.Equal(t, p.Copied, copied, "what the reports say")
				// The pool rounds up: to 64 bytes, or by an eighth.
				require.LessOrEqual(t, after.Live-before.Live, p.Peak)
			}
		})
	}
}

// A plan for a device of the host's memory without strings was once one for another
// device: with a transfer of indices that a run uses where they are.
func TestBugPlanOnHostMemoryWithoutStrings(t *testing.T) {
	s := openHostFake(t)
	m := graphOf(layout.Int64, node("Shape", "picks", []string{"w"}), node("Gather", "y", []string{"x", "picks"}))
	m.Graph.Inputs = append(m.Graph.Inputs, input("w", layout.Int64))
	sess := session(t, s, m)
	p, err := sess.Plan(map[string]layout.Shape{"x": {3}, "w": {0, 2, 1}}, nil)
	require.NoError(t, err)
	x, w := ints(t, s, 5, 6, 7), held(t)(tensor.New(s, layout.Int64, 0, 2, 1))
	before := s.Device().Stats()
	var nodes []onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) { nodes = append(nodes, n) })
	out := run(t, sess, onnx.Values{"x": x, "w": w})
	after := s.Device().Stats()
	require.Equal(t, []int64{5, 7, 6}, valuesOf[int64](t, out, "y"))
	require.Equal(t, nodes, p.Nodes)
	require.Equal(t, after.HostToDevice-before.HostToDevice, p.Uploaded)
	require.Zero(t, p.Uploaded)
}

// Buffers are free after their last use: a chain of copies holds two at a time,
// however long it is.
func TestPlanOfAChain(t *testing.T) {
	s := open(t)
	m := graphOf(layout.Float32)
	last := "x"
	for i := range 20 {
		turned, flat := fmt.Sprint("t", i), fmt.Sprint("f", i)
		m.Graph.Nodes = append(m.Graph.Nodes,
			node("Transpose", turned, []string{last}), node("Reshape", flat, []string{turned, "shape"}))
		last = flat
	}
	m.Graph.Nodes = append(m.Graph.Nodes, node("Identity", "y", []string{last}))
	m.Graph.Initializers = []model.Tensor{constant(t, "shape", []int64{64, 32})}
	sess := session(t, s, m)
	p, err := sess.Plan(map[string]layout.Shape{"x": {64, 32}}, nil)
	require.NoError(t, err)
	const size = 64 * 32 * 4
	require.EqualValues(t, size, p.Inputs)
	require.EqualValues(t, 2*size, p.Peak)
	require.EqualValues(t, 20, p.Copies)
	require.EqualValues(t, 20*size, p.Copied)
	require.Len(t, p.Nodes, 41)

	x := held(t)(tensor.New(s, layout.Float32, 64, 32))
	run(t, sess, onnx.Values{"x": x})
	require.EqualValues(t, p.Inputs+p.Constants+p.Peak, s.Device().Stats().Peak)
}

// Elements that tell a shape must be known, on the cpu too.
func TestPlanNeedsShapes(t *testing.T) {
	onFake, _ := openFake(t)
	for _, s := range []*tensor.Stream{open(t), onFake} {
		m := graphOf(layout.Float32, node("Reshape", "y", []string{"x", "shape"}))
		m.Graph.Inputs = append(m.Graph.Inputs, input("shape", layout.Int64))
		sess := session(t, s, m)
		_, err := sess.Plan(nil, nil)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, `input "x" is declared as float: its shape must be given`)
		shapes := map[string]layout.Shape{"x": {6}, "shape": {2}}
		_, err = sess.Plan(shapes, nil)
		require.ErrorIs(t, err, device.ErrUnsupported)
		require.ErrorContains(t, err, "give the input that they come from")
		shape := held(t)(tensor.FromHost([]int64{3, 2}))
		p, err := sess.Plan(shapes, onnx.Values{"shape": shape})
		require.NoError(t, err)
		require.Equal(t, layout.Shape{3, 2}, p.Nodes[0].Shape)
		_, err = sess.Plan(map[string]layout.Shape{"x": {5}}, onnx.Values{"shape": shape})
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "Reshape-21 of float[5]")
		_, err = sess.Plan(shapes, onnx.Values{"shape": (*tensor.Tensor)(nil)})
		require.ErrorIs(t, err, device.ErrInvalid)
	}
}

// A plan of numbers that are read from strings must know these. On a device without
// strings it once had empty ones, and failed as a run on them would.
func TestBugPlanOfUnknownStrings(t *testing.T) {
	onFake, _ := openFake(t)
	for _, s := range []*tensor.Stream{open(t), onFake} {
		m := graphOf(layout.String, node("Cast", "y", []string{"x"}, onnx.Int("to", 7)))
		sess := session(t, s, m)
		_, err := sess.Plan(map[string]layout.Shape{"x": {2}}, nil)
		require.ErrorIs(t, err, device.ErrUnsupported)
		require.ErrorContains(t, err, "give the input that they come from")
		x := held(t)(tensor.FromSlice(tensor.Host(), []string{"1", "2"}))
		p, err := sess.Plan(nil, onnx.Values{"x": x})
		require.NoError(t, err)
		require.Equal(t, layout.Shape{2}, p.Nodes[0].Shape)
	}
}

// What no memory could hold can be planned.
func TestPlanOfMoreThanThereIs(t *testing.T) {
	s := open(t)
	m := graphOf(layout.Float32, node("Transpose", "turned", []string{"x"}), node("Reshape", "y", []string{"turned", "all"}))
	m.Graph.Initializers = []model.Tensor{constant(t, "all", []int64{-1})}
	p, err := session(t, s, m).Plan(map[string]layout.Shape{"x": {1 << 22, 1 << 20}}, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1<<44, p.Peak)
}

// A shape for an input that there is not, a mistake in its name as a rule, is an
// error, and so is more memory than 64 bits count: once the plan had a negative size.
func TestPlanErrors(t *testing.T) {
	onFake, _ := openFake(t)
	for _, s := range []*tensor.Stream{open(t), onFake} {
		m := graphOf(layout.Int8, node("Identity", "y", []string{"x"}))
		m.Graph.Inputs = append(m.Graph.Inputs, input("z", layout.Int8))
		sess := session(t, s, m)
		_, err := sess.Plan(map[string]layout.Shape{"x": {6}, "z": {6}, "X": {6}}, nil)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, `Session.Plan: the graph has no input "X"; it has x, z`)
		_, err = sess.Plan(map[string]layout.Shape{"x": {1 << 62}, "z": {1 << 62}}, nil)
		require.ErrorIs(t, err, device.ErrOutOfMemory)
		require.ErrorContains(t, err, "4611686018427387904 bytes beside 4611686018427387904 are more than 64 bits count")
		require.Zero(t, s.Device().Stats().Peak)
	}
}

// A plan once said that DynamicQuantizeLinear reads nothing from the device; reports of a run,
// that strings were read.
func TestBugPlanOfWhatIsReadOnTheHost(t *testing.T) {
	s, _ := openFake(t)
	m := graphOf(layout.Float32, model.NewNode("DynamicQuantizeLinear", []string{"x"}, []string{"y", "scale", "zero"}))
	m.Graph.Outputs[0].Type.Elem = layout.Uint8
	nodes := runAsPlanned(t, s, m, held(t)(tensor.FromSlice(s, []float32{1, 2, 3})))
	require.EqualValues(t, 12, nodes[0].Read)
	require.Contains(t, nodes[0].Why, "12 bytes of operands were read from the device: their range is found on the host")
}

// Reports of scatters once counted the copy of the input, or nothing, but not the updates.
func TestBugReportsOfScattersWithoutUpdates(t *testing.T) {
	s, _ := openFake(t)
	m := graphOf(layout.Int64, node("ScatterElements", "y", []string{"x", "at", "more"}))
	m.Graph.Initializers = []model.Tensor{constant(t, "at", []int64{2}), constant(t, "more", []int64{7})}
	nodes := runAsPlanned(t, s, m, ints(t, s, 1, 2, 3))
	require.EqualValues(t, 24+8, nodes[0].Bytes)
	require.Contains(t, nodes[0].Why, "8 bytes were put where indices say")
}

// runAsPlanned runs a model of one input, x, and returns reports, which must be those of its
// plan.
func runAsPlanned(t *testing.T, s *tensor.Stream, m *model.Model, x *tensor.Tensor) (nodes []onnx.NodeReport) {
	t.Helper()
	sess := session(t, s, m)
	p, err := sess.Plan(map[string]layout.Shape{"x": x.Shape()}, nil)
	require.NoError(t, err)
	sess.OnNode(func(n onnx.NodeReport) { nodes = append(nodes, n) })
	run(t, sess, onnx.Values{"x": x})
	require.Equal(t, nodes, p.Nodes)
	return nodes
}

// TestBugReportsOfLoops: reports of iterations are charged, in plans and profiles.
func TestBugReportsOfLoops(t *testing.T) {
	s := open(t)
	body := inputsOf(bodyOf("body", []string{"on", "next"}, node("Identity", "on", []string{"c"}), node("Identity", "next", []string{"v"})),
		input("i", layout.Int64), input("c", layout.Bool), input("v", layout.Float32))
	m := graphOf(layout.Float32, node("Loop", "y", []string{"n", "", "x"}, body))
	m.Graph.Initializers = []model.Tensor{constant(t, "n", []int64{1 << 40})}
	sess := session(t, s, m)
	used := budget.Process().InUse()
	limitMemory(t, used+1<<20)
	_, err := sess.Plan(map[string]layout.Shape{"x": {2}}, nil)
	require.ErrorIs(t, err, budget.ErrOutOfMemory)
	_, _, err = sess.Profile(t.Context(), onnx.Values{"x": held(t)(tensor.New(s, layout.Float32, 2))})
	require.ErrorIs(t, err, budget.ErrOutOfMemory)
}
