package onnx_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/graphs"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// other runs nodes of the domain "other" as ONNX's own, in groups, by sessions.
type other struct {
	host uint64
	most int // nodes in a group
}

func (*other) Operator(n onnx.Node) (*onnx.Operator, error) {
	if n.Domain != "other" {
		return nil, nil
	}
	return &onnx.Operator{Run: func(*onnx.Call) error { return errors.New("it is in no group") }}, nil
}

func (o *other) Group(g onnx.Group) (*onnx.Operator, error) {
	m := *g.Model
	graph := *m.Graph
	m.Graph = &graph
	graph.Nodes = slices.Clone(graph.Nodes)
	o.most = max(o.most, len(graph.Nodes))
	for i := range graph.Nodes {
		graph.Nodes[i].Domain = ""
	}
	sess, err := onnx.NewSession(g.Stream, &m)
	if err != nil {
		return nil, err
	}
	return &onnx.Operator{Strided: onnx.All, Host: o.host, Close: sess.Close, Run: func(c *onnx.Call) error {
		in := onnx.Values{}
		for i, name := range valueNames(graph.Inputs) {
			in[name] = c.Inputs[i]
		}
		out, err := sess.Run(c.Context, in)
		for i, name := range valueNames(graph.Outputs) {
			c.Outputs[i] = out[name]
		}
		return err
	}}, nil
}

// TestRandomGraphsInGroups: what comes of random graphs is the same if an engine has some
// of the nodes, whether it takes tensors on the device or on the host.
func TestRandomGraphsInGroups(t *testing.T) {
	most := 0
	for seed := range uint64(120) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 41))
			limits := randomLimits(5 + rng.IntN(25))
			limits.Given = true
			g := graphs.Random(rng, limits)
			g.Model.Opsets["other"] = 1
			for i := range g.Model.Graph.Nodes {
				if n := &g.Model.Graph.Nodes[i]; rng.IntN(2) == 0 && !isConstant(n) {
					n.Domain = "other"
				}
			}
			onFake, _ := openFake(t)
			for _, s := range []*tensor.Stream{open(t), onFake} {
				for _, host := range []uint64{0, onnx.All} {
					tensor.CheckLeaks(t, tensor.Host())
					engine := &other{host: host}
					sess := sessionWith(t, s, g.Model, engine)
					hasOutputs(t, g, run(t, sess, feed(t, s, g, rng, views)))
					most = max(most, engine.most)
				}
			}
		})
	}
	require.Greater(t, most, 5)
}

func isConstant(n *model.Node) bool { return n.OpType == "Constant" }
