package onnx_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// mixer is an engine with an operator of its own, Mix of any number of inputs, that runs
// groups of it and notes them.
type mixer struct {
	declines bool       // groups
	groups   [][]string // names of nodes
	closed   int
}

func (m *mixer) Operator(n onnx.Node) (*onnx.Operator, error) {
	if n.Op != "Mix" {
		return nil, nil
	}
	nodes := []model.Node{{OpType: n.Op, Inputs: n.Inputs, Outputs: n.Outputs}}
	return m.operator(nodes, nil, n.Inputs, n.Outputs), nil
}

func (m *mixer) Group(g onnx.Group) (*onnx.Operator, error) {
	if m.declines {
		return nil, nil
	}
	var names []string
	for _, n := range g.Model.Graph.Nodes {
		names = append(names, n.Name)
	}
	m.groups = append(m.groups, names)
	return m.operator(g.Model.Graph.Nodes, g.Model.Graph.Initializers, valueNames(g.Model.Graph.Inputs), valueNames(g.Model.Graph.Outputs)), nil
}

func valueNames(values []model.ValueInfo) (names []string) {
	for _, v := range values {
		names = append(names, v.Name)
	}
	return names
}

func (m *mixer) operator(nodes []model.Node, constants []model.Tensor, inputs, outputs []string) *onnx.Operator {
	run := func(c *onnx.Call) error {
		values := map[string][]int64{}
		for i := range constants {
			for at := 0; at < len(constants[i].Data); at += 8 {
				values[constants[i].Name] = append(values[constants[i].Name], int64(binary.LittleEndian.Uint64(constants[i].Data[at:])))
			}
		}
		for i, name := range inputs {
			x, err := c.Tensor(i)
			if err != nil {
				return err
			}
			if values[name], err = tensor.Values[int64](x); err != nil {
				return err
			}
		}
		for _, n := range nodes {
			var in [][]int64
			for _, name := range n.Inputs {
				v, made := values[name]
				if !made {
					return fmt.Errorf("%s runs before its input %s", n.Name, name)
				}
				in = append(in, v)
			}
			values[n.Outputs[0]] = mix(in)
		}
		for i, name := range outputs {
			y, err := tensor.FromSlice(c.Stream, values[name], 2, 2)
			if err != nil {
				return err
			}
			c.Outputs[i] = y
		}
		return nil
	}
	return &onnx.Operator{Run: run, Close: func() error { m.closed++; return nil }}
}

// mix adds up its inputs, each by its position.
func mix(in [][]int64) []int64 {
	out := make([]int64, 4)
	for k, v := range in {
		for i := range out {
			out[i] += int64(k+1) * v[i] % 1000
		}
	}
	return out
}

// mixed is a random graph of Mix and of layout operators, and what comes of it.
type mixed struct {
	model *model.Model
	from  map[string][]string // the inputs of each node
	want  map[string][]int64
}

func mixedGraph(rng *rand.Rand, nodes int, foreign float64) *mixed {
	m := model.New("mixed", 21)
	m.Opsets["test"] = 1
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Int64)}
	g := &mixed{model: m, from: map[string][]string{}, want: map[string][]int64{"x": {1, 2, 3, 4}}}
	values := []string{"x"}
	near := 1 + rng.IntN(8)
	pick := func() string { return values[max(0, len(values)-1-rng.IntN(near))] }
	for i := range nodes {
		name := fmt.Sprint("v", i)
		n := node("Mix", name, nil)
		for range 1 + rng.IntN(3) {
			n.Inputs = append(n.Inputs, pick())
		}
		a := g.want[n.Inputs[0]]
		switch {
		case rng.Float64() < foreign:
			n.Domain = "test"
			var in [][]int64
			for _, name := range n.Inputs {
				in = append(in, g.want[name])
			}
			g.want[name] = mix(in)
		case len(n.Inputs) == 1:
			n.OpType, g.want[name] = "Transpose", []int64{a[0], a[2], a[1], a[3]}
		default:
			b := g.want[n.Inputs[1]]
			n.OpType, n.Inputs, g.want[name] = "Where", []string{"which", n.Inputs[0], n.Inputs[1]}, []int64{a[0], b[1], b[2], a[3]}
		}
		m.Graph.Nodes = append(m.Graph.Nodes, n)
		g.from[name] = n.Inputs
		values = append(values, name)
	}
	which, err := model.NewTensor("which", []bool{true, false, false, true}, 2, 2)
	if err != nil {
		panic(err)
	}
	m.Graph.Initializers = []model.Tensor{which}
	for _, name := range values {
		if rng.IntN(4) == 0 {
			m.Graph.Outputs = append(m.Graph.Outputs, model.ValueInfo{Name: name})
		}
	}
	rng.Shuffle(nodes, func(i, j int) {
		m.Graph.Nodes[i], m.Graph.Nodes[j] = m.Graph.Nodes[j], m.Graph.Nodes[i]
	})
	return g
}

// whole gives every node the number of what it runs in: of its group, or its own.
func (g *mixed) whole(groups [][]string) map[string]int {
	in := map[string]int{}
	for i, group := range groups {
		for _, name := range group {
			in[name] = i
		}
	}
	for name := range g.from {
		if _, grouped := in[name]; !grouped {
			in[name] = len(groups) + len(in)
		}
	}
	return in
}

// cyclic reports whether groups wait for each other, with nodes of none as groups of one.
func (g *mixed) cyclic(in map[string]int) bool {
	after := map[int]map[int]bool{}
	for name, inputs := range g.from {
		for _, from := range inputs {
			if k, made := in[from]; made && k != in[name] {
				if after[k] == nil {
					after[k] = map[int]bool{}
				}
				after[k][in[name]] = true
			}
		}
	}
	state := map[int]int{} // 1: on the path, 2: done
	var visit func(k int) bool
	visit = func(k int) bool {
		if state[k] > 0 {
			return state[k] == 1
		}
		state[k] = 1
		for next := range after[k] {
			if visit(next) {
				return true
			}
		}
		state[k] = 2
		return false
	}
	for k := range after {
		if visit(k) {
			return true
		}
	}
	return false
}

// connected reports whether values join all nodes of a group.
func (g *mixed) connected(group []string) bool {
	reached := map[string]bool{group[0]: true}
	for range group {
		for _, name := range group {
			for _, from := range g.from[name] {
				if slices.Contains(group, from) && (reached[name] || reached[from]) {
					reached[name], reached[from] = true, true
				}
			}
		}
	}
	return len(reached) == len(group)
}

// TestGroups: groups of random graphs are connected, can be run whole, and none could be
// larger by another; what comes of the graph is what comes of its nodes.
func TestGroups(t *testing.T) {
	larger, graphs := 0, uint64(400)
	if race.Enabled {
		graphs = 40
	}
	for seed := range graphs {
		rng := rand.New(rand.NewPCG(seed, 31))
		g := mixedGraph(rng, 1+rng.IntN(30), []float64{.3, .6, .9}[rng.IntN(3)])
		if len(g.model.Graph.Outputs) == 0 {
			continue
		}
		says := fmt.Sprintf("seed %d", seed)
		s := open(t)
		engine := &mixer{}
		sess := sessionWith(t, s, g.model, engine)
		in := g.whole(engine.groups)
		require.False(t, g.cyclic(in), "%s: %v", says, engine.groups)
		for _, group := range engine.groups {
			require.True(t, g.connected(group), "%s: %v", says, group)
			larger += len(group) - 1
		}
		for name, inputs := range g.from {
			for _, from := range inputs {
				a, b := in[name], in[from]
				if _, made := in[from]; !made || a == b || max(a, b) >= len(engine.groups) {
					continue
				}
				joined := map[string]int{}
				for name, k := range in {
					if joined[name] = k; k == a {
						joined[name] = b
					}
				}
				require.True(t, g.cyclic(joined), "%s: %v and %v can be one", says, engine.groups[a], engine.groups[b])
			}
		}
		x := held(t)(tensor.FromSlice(s, g.want["x"], 2, 2))
		out := run(t, sess, onnx.Values{"x": x})
		for _, o := range g.model.Graph.Outputs {
			require.Equal(t, g.want[o.Name], valuesOf[int64](t, out, o.Name), "%s: %s", says, o.Name)
		}
	}
	require.Greater(t, larger, int(graphs)*5/2)
}

// TestGroupsOfMany: a graph that no two groups of can be joined in takes seconds at most.
func TestGroupsOfMany(t *testing.T) {
	if race.Enabled {
		t.Skip("it takes a minute, on one goroutine")
	}
	m := model.New("ladder", 21)
	m.Opsets["test"] = 1
	m.Graph.Inputs = []model.ValueInfo{input("x", layout.Int64)}
	before, side := "x", "x"
	for i := range 3000 {
		mix, turn := fmt.Sprint("m", i), fmt.Sprint("t", i)
		n := node("Mix", mix, []string{before, side})
		n.Domain = "test"
		m.Graph.Nodes = append(m.Graph.Nodes, n, node("Transpose", turn, []string{mix}))
		before, side = mix, turn
	}
	m.Graph.Outputs = outputs(before)
	engine := &mixer{}
	sessionWith(t, open(t), m, engine)
	require.Len(t, engine.groups, 3000)
}

// TestGroupIsToldItsModel: constants, types, opsets and functions come along, and the
// report is of all nodes.
func TestGroupIsToldItsModel(t *testing.T) {
	s := open(t)
	mix := func(output string, inputs ...string) model.Node {
		n := node("Mix", output, inputs)
		n.Domain = "test"
		return n
	}
	m := graphOf(layout.Int64,
		node("Constant", "two", nil, model.Attr{Name: "value", Value: fourOf(t, "", 2)}),
		mix("a", "x", "one"),
		node("Identity", "seen", []string{"a"}),
		mix("b", "a", "two", "default"),
		mix("unused", "b"),
		mix("y", "b", "b"))
	m.Opsets["test"] = 1
	m.Functions = []model.Function{{Domain: "test", Name: "Mix"}}
	m.Graph.Initializers = []model.Tensor{*fourOf(t, "one", 1), *fourOf(t, "default", 3)}
	m.Graph.Inputs = append(m.Graph.Inputs, input("default", layout.Int64))
	m.Graph.Outputs = outputs("y", "seen")
	of := model.TensorOf(layout.Int64, model.Known(2), model.Known(2))
	m.Graph.ValueInfo = []model.ValueInfo{{Name: "a", Type: of}, {Name: "b", Type: of}}
	m.Graph.Outputs[0].Type = of
	var told onnx.Group
	inner := &mixer{}
	sess := sessionWith(t, s, m, grouperFunc{inner, func(g onnx.Group) (*onnx.Operator, error) {
		told = g
		g.Model.Graph.Nodes = slices.Clone(g.Model.Graph.Nodes)
		return &onnx.Operator{Run: func(c *onnx.Call) error {
			for i := range c.Outputs {
				y, err := tensor.FromSlice(c.Stream, []int64{1, 2, 3, 4}, 2, 2)
				if err != nil {
					return err
				}
				c.Outputs[i] = y
			}
			return nil
		}}, nil
	}})
	g := told.Model.Graph
	require.Equal(t, s, told.Stream)
	require.Equal(t, m.Opsets, told.Model.Opsets)
	require.Equal(t, m.Functions, told.Model.Functions)
	require.Equal(t, []model.ValueInfo{{Name: "x", Type: m.Graph.Inputs[0].Type}, {Name: "default", Type: m.Graph.Inputs[1].Type}}, g.Inputs)
	require.Equal(t, []model.ValueInfo{{Name: "a", Type: of}, {Name: "y", Type: of}}, g.Outputs)
	require.Equal(t, []model.ValueInfo{{Name: "b", Type: of}}, g.ValueInfo)
	require.Len(t, g.Initializers, 2)
	require.Equal(t, "one two", g.Initializers[0].Name+" "+g.Initializers[1].Name)
	require.Len(t, g.Nodes, 4)

	var reports []onnx.NodeReport
	sess.OnNode(func(n onnx.NodeReport) { reports = append(reports, n) })
	run(t, sess, onnx.Values{"x": held(t)(tensor.New(s, layout.Int64, 2, 2))})
	require.Len(t, reports, 3)
	require.Equal(t, "a constant that nothing here uses: not loaded", reports[0].Why)
	require.Equal(t, []int{1, 3, 4, 5}, reports[1].Group)
	require.Equal(t, onnx.IsForeign, reports[1].Outcome())
	require.Equal(t, "group of 4", reports[1].Op)
	require.Equal(t, "a y", reports[1].Output+" "+reports[1].More[0].Output)
	require.Equal(t, "Identity-21", reports[2].Op)
	p, err := sess.Plan(map[string]layout.Shape{"x": {2, 2}}, nil)
	require.NoError(t, err)
	require.Len(t, p.Nodes, 3)
}

func fourOf(t *testing.T, name string, v int64) *model.Tensor {
	t.Helper()
	c, err := model.NewTensor(name, []int64{v, v, v, v}, 2, 2)
	require.NoError(t, err)
	return &c
}

type grouperFunc struct {
	onnx.Provider
	group func(onnx.Group) (*onnx.Operator, error)
}

func (g grouperFunc) Group(of onnx.Group) (*onnx.Operator, error) { return g.group(of) }

// TestGroupDeclined: nodes of groups that the engine does not run are run one by one; what
// it keeps is closed with the session, once.
func TestGroupDeclined(t *testing.T) {
	g := mixedGraph(rand.New(rand.NewPCG(5, 31)), 20, .6)
	s := open(t)
	engine := &mixer{declines: true}
	sess, err := onnx.NewSession(s, g.model, onnx.WithOperators(engine))
	require.NoError(t, err)
	out := run(t, sess, onnx.Values{"x": held(t)(tensor.FromSlice(s, g.want["x"], 2, 2))})
	for _, o := range g.model.Graph.Outputs {
		require.Equal(t, g.want[o.Name], valuesOf[int64](t, out, o.Name))
	}
	mixes := 0
	for _, n := range g.model.Graph.Nodes {
		if n.OpType == "Mix" {
			mixes++
		}
	}
	require.NoError(t, sess.Close())
	require.NoError(t, sess.Close())
	require.Equal(t, mixes, engine.closed)
}

// TestGroupRefused: an engine's error names the group, and what it keeps is closed.
func TestGroupRefused(t *testing.T) {
	m := graphOf(layout.Int64, node("Mix", "a", []string{"x"}), node("Mix", "y", []string{"a"}))
	m.Graph.Nodes[0].Domain, m.Graph.Nodes[1].Domain, m.Opsets["test"] = "test", "test", 1
	failed := errors.New("out of order")
	for says, op := range map[string]*onnx.Operator{"out of order": nil, "has no Run": {}} {
		closed := 0
		if op != nil {
			op.Close = func() error { closed++; return nil }
		}
		_, err := onnx.NewSession(open(t), m, onnx.WithOperators(grouperFunc{&mixer{}, func(onnx.Group) (*onnx.Operator, error) {
			if op == nil {
				return nil, failed
			}
			return op, nil
		}}))
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, `node 0 (group of 2 "a")`)
		require.Equal(t, strings.Count(says, "Run"), closed)
	}
}

// TestGroupsInBranches: the nodes of a graph of an If are in groups of their own, and take
// what is around them.
func TestGroupsInBranches(t *testing.T) {
	mix := func(output string, inputs ...string) model.Node {
		n := node("Mix", output, inputs)
		n.Domain = "test"
		return n
	}
	m := graphOf(layout.Int64, mix("a", "x"),
		node("If", "y", []string{"which"},
			bodyOf("then_branch", []string{"d"}, mix("b", "a"), mix("c", "b", "four"), node("Transpose", "d", []string{"c"})),
			bodyOf("else_branch", []string{"e"}, node("Identity", "e", []string{"a"}))))
	m.Opsets["test"] = 1
	m.Graph.Inputs = append(m.Graph.Inputs, input("which", layout.Bool))
	m.Graph.Initializers = []model.Tensor{*fourOf(t, "four", 4)}
	s := open(t)
	engine := &mixer{}
	sess := sessionWith(t, s, m, engine)
	require.ElementsMatch(t, [][]string{{"a"}, {"b", "c"}}, engine.groups)
	x := held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2))
	for which, want := range map[bool][]int64{true: {9, 11, 10, 12}, false: {1, 2, 3, 4}} {
		out := run(t, sess, onnx.Values{"x": x, "which": held(t)(tensor.FromSlice(s, []bool{which}, []int64{}...))})
		require.Equal(t, want, valuesOf[int64](t, out, "y"))
	}
}
