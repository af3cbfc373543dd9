package onnx_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// claimer is a mixer that claims operators of the session.
type claimer struct {
	mixer
	claims map[string]onnx.Claim
}

func (c *claimer) Claim(n onnx.Node) onnx.Claim { return c.claims[n.Op] }

// claimed is a graph with layout operators before, between, beside and behind Mix.
func claimed() *model.Model {
	m := model.New("claimed", 21)
	m.Opsets["test"] = 1
	mix := func(out string, in ...string) model.Node {
		n := node("Mix", out, in)
		n.Domain = "test"
		return n
	}
	in := input("x", layout.Int64)
	in.Type = model.TensorOf(layout.Int64, model.Known(2), model.Known(2))
	m.Graph.Inputs = []model.ValueInfo{in}
	table, err := model.NewTensor("table", []int64{1, 2, 3, 4}, 2, 2)
	if err != nil {
		panic(err)
	}
	m.Graph.Initializers = []model.Tensor{table}
	m.Graph.Nodes = []model.Node{
		node("Transpose", "turned", []string{"x"}),
		node("Cast", "operand", []string{"turned"}, onnx.Int("to", int64(layout.Int64))),
		node("Transpose", "constant", []string{"table"}),
		node("Identity", "shared", []string{"x"}),
		mix("a", "operand", "constant"),
		node("Transpose", "between", []string{"a"}),
		node("Slice", "cut", []string{"a", "zero", "two"}),
		mix("b", "between", "shared"),
		mix("c", "cut"),
		node("Cast", "result", []string{"b"}, onnx.Int("to", int64(layout.Int32))),
		node("Transpose", "view", []string{"b"}),
	}
	for name, v := range map[string]int64{"zero": 0, "two": 2} {
		t, err := model.NewTensor(name, []int64{v}, 1)
		if err != nil {
			panic(err)
		}
		m.Graph.Initializers = append(m.Graph.Initializers, t)
	}
	for _, name := range []string{"shared", "c", "result", "view"} {
		m.Graph.Outputs = append(m.Graph.Outputs, model.ValueInfo{Name: name})
	}
	return m
}

// TestClaims: where an engine keeps nodes of the session's operators, and why.
func TestClaims(t *testing.T) {
	s := openOn(t, must(cpu.Open()))
	engine := &claimer{claims: map[string]onnx.Claim{
		"Transpose": onnx.ClaimBetween, "Cast": onnx.ClaimBeside, "Identity": onnx.ClaimOperand,
	}}
	e, err := onnx.Explain(s, claimed(), onnx.Assumptions{}, onnx.WithOperators(engine))
	require.NoError(t, err)
	why, outcome := map[string]string{}, map[string]onnx.Outcome{}
	for _, n := range e.Nodes {
		why[n.Outputs[0].Name], outcome[n.Outputs[0].Name] = n.Why, n.Outcome
	}
	for name, want := range map[string]string{
		"operand":  "an engine's: an operand of \"a\" alone, which the engine fuses it with, or copies it for",
		"constant": "an engine's: of constants alone, for \"a\": the engine computes it once",
		"between":  "an engine's: between \"a\" and \"b\": the session would run the engine twice",
		"result":   "an engine's: a result of \"b\", which the engine fuses it with, or copies it for",
	} {
		require.Equal(t, want, why[name], name)
		require.Equal(t, onnx.IsForeign, outcome[name], name)
	}
	for name, want := range map[string]onnx.Outcome{
		"turned": onnx.IsView, "shared": onnx.IsView, "cut": onnx.IsView, "view": onnx.IsView, "b": onnx.IsForeign,
	} {
		require.Equal(t, want, outcome[name], name)
	}
	require.Empty(t, engine.groups, "an explanation offers no groups")

	engine.claims["Cast"] = onnx.ClaimBehind
	m := claimed()
	m.Graph.Nodes = append(m.Graph.Nodes, node("Cast", "later", []string{"view"}, onnx.Int("to", int64(layout.Int32))))
	m.Graph.Outputs = append(m.Graph.Outputs, model.ValueInfo{Name: "later"})
	e, err = onnx.Explain(s, m, onnx.Assumptions{}, onnx.WithOperators(engine))
	require.NoError(t, err)
	for _, n := range e.Nodes {
		switch n.Outputs[0].Name {
		case "later":
			require.Equal(t, "an engine's: behind \"b\", which the engine fuses it with", n.Why)
		case "view":
			require.Equal(t, "an engine's: between \"b\" and \"later\": the session would run the engine twice", n.Why)
		}
	}

	engine.claims = nil
	e, err = onnx.Explain(s, claimed(), onnx.Assumptions{}, onnx.WithOperators(engine))
	require.NoError(t, err)
	require.Equal(t, 3, e.Totals.Foreign, "those of the engine's own operators")
}

// TestClaimsOfDeclinedGroups: the session runs what the engine would have kept.
func TestClaimsOfDeclinedGroups(t *testing.T) {
	s := openOn(t, must(cpu.Open()))
	engine := &claimer{mixer{declines: true}, map[string]onnx.Claim{"Transpose": onnx.ClaimOperand, "Cast": onnx.ClaimBeside}}
	sess := sessionWith(t, s, claimed(), engine)
	x := held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2))
	out := run(t, sess, onnx.Values{"x": x})
	require.Len(t, out, 4)
}

// TestClaimsInGroups: a session's report names what the engine keeps.
func TestClaimsInGroups(t *testing.T) {
	s := openOn(t, must(cpu.Open()))
	engine := &claimer{claims: map[string]onnx.Claim{"Transpose": onnx.ClaimBetween}}
	sessionWith(t, s, claimed(), engine)
	require.Len(t, engine.groups, 2, "Slice is the session's")
	require.Len(t, engine.groups[0], 4)
}

// TestClaimsOfOldFiles: in file formats before 4, an engine that runs groups has the defaults of
// inputs as constants, and no run replaces them.
func TestClaimsOfOldFiles(t *testing.T) {
	m := claimed()
	m.IRVersion = 3
	table := m.Graph.Initializers[0]
	m.Graph.Inputs = append(m.Graph.Inputs, model.ValueInfo{Name: "table", Type: model.TensorOf(layout.Int64, model.Known(2), model.Known(2))})
	s := openOn(t, must(cpu.Open()))
	require.Equal(t, "table", table.Name)
	sess := sessionWith(t, s, m, &claimer{mixer: mixer{declines: true}})
	x := held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2))
	run(t, sess, onnx.Values{"x": x})
	_, err := sess.Run(t.Context(), onnx.Values{"x": x, "table": x})
	require.ErrorContains(t, err, `input "table" cannot be given: in file formats before 4`)
}

// refuser claims operators that it then cannot run.
type refuser struct {
	claimer
	err            error
	opened, closed int
}

func (r *refuser) Group(g onnx.Group) (*onnx.Operator, error) {
	r.opened++
	op, err := r.mixer.Group(g)
	op.Close = func() error { r.closed++; return nil }
	for _, n := range g.Model.Graph.Nodes {
		if n.OpType != "Mix" {
			return op, r.err
		}
	}
	return op, err
}

// TestBugClaimsOfRefusedGroups: where the engine refuses a group, the session runs what it
// claimed in this group. The group is closed, and others are not loaded again.
func TestBugClaimsOfRefusedGroups(t *testing.T) {
	s := openOn(t, must(cpu.Open()))
	engine := &refuser{claimer: claimer{claims: map[string]onnx.Claim{"Transpose": onnx.ClaimBetween}}, err: errors.New("no kernel")}
	sess := sessionWith(t, s, claimed(), engine)
	require.Equal(t, []int{4, 1}, []int{engine.opened, engine.closed}, "one group of 4, then its 2 nodes, and the group of 1")
	x := held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4}, 2, 2))
	why := map[string]string{}
	sess.OnNode(func(n onnx.NodeReport) {
		require.Empty(t, n.Keeps)
		why[n.Output] = n.Why
	})
	run(t, sess, onnx.Values{"x": x})
	require.Contains(t, why["a"], "it refused them together with nodes that the session runs: ")
	require.Contains(t, why["a"], "no kernel")
	require.NotContains(t, why["c"], "refused")

	engine.err = device.ErrOutOfMemory
	_, err := onnx.NewSession(s, claimed(), onnx.WithOperators(engine))
	require.ErrorIs(t, err, device.ErrOutOfMemory)
}
