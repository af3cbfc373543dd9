package adversary

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/graphs"
	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func init() {
	register(Generator{
		Name:  "graphs",
		About: "valid models of all operators, types and opsets, against numpy's rules index by index; and their plans",
		Try:   tryGraph,
	})
}

// tryGraph writes a random model, reads it, plans it, and runs it twice.
func tryGraph(t *Trial) error {
	g := graphs.Random(t.Rand, graphs.Limits{Nodes: 1 + t.Rand.IntN(20), Ranks: t.Rand.IntN(9), Resident: t.Rand.IntN(3) == 0})
	outlined := t.Rand.IntN(3) == 0
	if outlined {
		graphs.Outline(t.Rand, g, 1+t.Rand.IntN(5))
	}
	return within(g, func() error {
		sess, err := load(t, g)
		var missing *onnx.MissingError
		if outlined && errors.As(err, &missing) {
			// A session does not see through all graphs in graphs that a value is for a shape.
			return nil
		}
		if err != nil {
			return err
		}
		return errors.Join(runTwice(t, g, sess), sess.Close())
	})
}

// within adds the model to an error.
func within(g *graphs.Graph, f func() error) error {
	err := f()
	if err != nil {
		err = fmt.Errorf("%w\nmodel of opset %d:\n%s", err, g.Model.Opsets[""], listing(g))
	}
	return err
}

// listing writes a graph: its inputs, and a line for each node.
func listing(g *graphs.Graph) string {
	var s string
	for _, name := range slices.Sorted(maps.Keys(g.Inputs)) {
		v := g.Inputs[name]
		s += fmt.Sprintf("  input %s: %v%v %.200q\n", name, v.Type, v.Dims, v.Elems)
	}
	for _, c := range g.Model.Graph.Initializers {
		s += fmt.Sprintf("  constant %s: %v%v %.200x %.200q\n", c.Name, c.Type, c.Dims, c.Data, c.Strings)
	}
	s += nodesListed("  ", g.Model.Graph.Nodes)
	for i := range g.Model.Functions {
		f := &g.Model.Functions[i]
		s += fmt.Sprintf("  function %s(%q) makes %q:\n%s", f.Name, f.Inputs, f.Outputs, nodesListed("    ", f.Nodes))
	}
	return s
}

// nodesListed writes nodes and, below each, the nodes of its graphs.
func nodesListed(indent string, nodes []model.Node) string {
	var s string
	for _, n := range nodes {
		s += fmt.Sprintf("%s%q = %s(%q)", indent, n.Outputs, n.OpType, n.Inputs)
		var graphs string
		for _, a := range n.Attrs {
			switch v := a.Value.(type) {
			case *model.Tensor:
				s += fmt.Sprintf(" %s=%v%v %.200x %.200q", a.Name, v.Type, v.Dims, v.Data, v.Strings)
			case *model.Graph:
				graphs += fmt.Sprintf("%s  %s:\n%s", indent, a.Name, nodesListed(indent+"    ", v.Nodes))
			case nil:
				s += fmt.Sprintf(" %s=the call's %s", a.Name, a.Ref)
			default:
				s += fmt.Sprintf(" %s=%v", a.Name, v)
			}
		}
		s += "\n" + graphs
	}
	return s
}

// load is a session of the model, through a file.
func load(t *Trial, g *graphs.Graph) (*onnx.Session, error) {
	raw, err := g.Model.Marshal()
	if err != nil {
		return nil, fmt.Errorf("model.Model.Marshal: %w", err)
	}
	m, err := model.Parse(raw, "")
	if err != nil {
		return nil, fmt.Errorf("model.Parse: %w", err)
	}
	again, err := m.Marshal()
	if err != nil || string(again) != string(raw) {
		return nil, fmt.Errorf("the model is another after Parse and Marshal (%w)", err)
	}
	return onnx.NewSession(t.Stream, m)
}

func runTwice(t *Trial, g *graphs.Graph, sess *onnx.Session) error {
	asPlanned := t.Rand.IntN(2) == 0
	in, err := feed(t, g, asPlanned)
	defer in.Release()
	if err != nil {
		return err
	}
	plan, err := planOf(g, sess)
	if err != nil {
		return fmt.Errorf("Plan: %w", err)
	}
	for range 2 {
		var nodes []onnx.NodeReport
		sess.OnNode(func(n onnx.NodeReport) { nodes = append(nodes, n) })
		out, err := sess.Run(context.Background(), in)
		if err != nil {
			return fmt.Errorf("Run: %w", err)
		}
		err = compareAll(g, out)
		if err = errors.Join(err, out.Release()); err != nil {
			return err
		}
		if asPlanned && plan != nil {
			if err := compareNodes(plan.Nodes, nodes); err != nil {
				return err
			}
		}
	}
	return replay(g, sess, in)
}

// replay captures a run, if possible, and repeats it.
func replay(g *graphs.Graph, sess *onnx.Session, in onnx.Values) error {
	c, err := sess.Capture(context.Background(), in)
	switch {
	case errors.Is(err, device.ErrUnsupported), errors.Is(err, device.ErrInvalid) && strings.Contains(err.Error(), "the queue is capturing"):
		return nil // the device does not replay, or a node moves elements to or from the host
	case err != nil:
		return err
	}
	err = errors.Join(c.Run(), c.Run())
	if err == nil {
		err = compareAll(g, c.Outputs())
	}
	if err = errors.Join(err, c.Close()); err != nil {
		return fmt.Errorf("replayed: %w", err)
	}
	return nil
}

// feed puts the inputs where runs accept them. As planned: lists are on the host, and
// everything else on the session's stream, in order.
func feed(t *Trial, g *graphs.Graph, asPlanned bool) (onnx.Values, error) {
	in := onnx.Values{}
	for _, name := range slices.Sorted(maps.Keys(g.Inputs)) {
		on, view := t.Stream, ndarray.Views[0]
		if slices.Contains(g.Lists, name) {
			on = tensor.Host()
		}
		if !asPlanned {
			on, view = []*tensor.Stream{t.Stream, t.Stream, tensor.Host()}[t.Rand.IntN(3)], ndarray.Views[t.Rand.IntN(len(ndarray.Views))]
		}
		v, err := put(on, g.Inputs[name], view)
		if err != nil {
			return in, fmt.Errorf("input %s: %w", name, err)
		}
		in[name] = v
	}
	return in, nil
}

// put makes a value on a stream, with the given memory layout.
func put(on *tensor.Stream, v graphs.Value, view string) (onnx.Value, error) {
	switch v.Kind {
	case model.SequenceType, model.OptionalType:
		var items []onnx.Value
		for _, item := range v.Items {
			x, err := put(on, item, view)
			if err != nil {
				return nil, errors.Join(err, (&onnx.Sequence{Items: items}).Release())
			}
			items = append(items, x)
		}
		if v.Kind == model.SequenceType {
			return &onnx.Sequence{Elem: v.Type, Items: items}, nil
		}
		o := &onnx.Optional{Elem: v.Type}
		if len(items) > 0 {
			o.Value = items[0]
		}
		return o, nil
	}
	x, err := v.UploadAs(on, v.Type, view)
	if err != nil {
		return nil, err // not a nil *tensor.Tensor
	}
	return x, nil
}

// planOf is the plan of a run, or nil if it depends on elements that are not available.
func planOf(g *graphs.Graph, sess *onnx.Session) (*onnx.Plan, error) {
	shapes, known := map[string]layout.Shape{}, onnx.Values{}
	defer known.Release()
	for name, v := range g.Inputs {
		switch {
		case v.Kind != model.TensorType:
			return nil, nil
		case slices.Contains(g.Lists, name):
			x, err := v.Upload(tensor.Host(), v.Type)
			if err != nil {
				return nil, err
			}
			known[name] = x
		default:
			shapes[name] = v.Dims
		}
	}
	p, err := sess.Plan(shapes, known)
	if errors.Is(err, device.ErrUnsupported) {
		return nil, nil
	}
	return p, err
}

// compareNodes compares a plan's nodes with a run's.
func compareNodes(planned, run []onnx.NodeReport) error {
	for i := range max(len(planned), len(run)) {
		if i >= len(planned) || i >= len(run) {
			return fmt.Errorf("%d nodes are planned, and %d run", len(planned), len(run))
		}
		if !reflect.DeepEqual(planned[i], run[i]) {
			return fmt.Errorf("node %d is planned as\n%#v\nand run as\n%#v", i, planned[i], run[i])
		}
	}
	return nil
}

// compareAll compares outputs with the expected ones.
func compareAll(g *graphs.Graph, out onnx.Values) error {
	if len(out) != len(g.Outputs) {
		return fmt.Errorf("%d outputs, want %d", len(out), len(g.Outputs))
	}
	for _, name := range slices.Sorted(maps.Keys(g.Outputs)) {
		if err := compare(g.Outputs[name], out[name]); err != nil {
			return fmt.Errorf("output %s: %w", name, err)
		}
	}
	return nil
}

func compare(want graphs.Value, got onnx.Value) error {
	var items []onnx.Value
	var elem layout.DType
	kind := model.UnknownType
	switch x := got.(type) {
	case *tensor.Tensor:
		if want.Kind == model.TensorType {
			return want.Compare(want.Type, x)
		}
	case *onnx.Sequence:
		kind, elem, items = model.SequenceType, x.Elem, x.Items
	case *onnx.Optional:
		kind, elem = model.OptionalType, x.Elem
		if x.Value != nil {
			items = []onnx.Value{x.Value}
		}
	}
	if kind != want.Kind || elem != want.Type || len(items) != len(want.Items) {
		return fmt.Errorf("%T of %d %v, want %v of %d %v", got, len(items), elem, want.Kind, len(want.Items), want.Type)
	}
	for i, item := range items {
		if err := compare(want.Items[i], item); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
}
