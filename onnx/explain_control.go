package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// foreign explains a node of an unknown operator, and its graphs.
func (e *explainer) foreign(x *explained, st *step, ins []Value) error {
	n := x.opening(st)
	n.Outcome, n.Why = IsForeign, "an engine's: its outputs are contiguous"
	if st.trouble != nil {
		n.Outcome, n.Why = IsWrong, st.trouble.Error()
	}
	outs := e.outputs(x, st, ins, true)
	at := len(e.out.Nodes)
	if err := e.note(n); err != nil {
		return err
	}
	around := map[string]Value{}
	for i, name := range st.captured {
		around[name] = ins[len(ins)-len(st.captured)+i]
	}
	bodies := bodiesOf(st.unit.node)
	if len(bodies) > 0 && st.trouble == nil {
		e.out.Nodes[at].Why = "runs the graphs below"
	}
	if control := st.unit.control; control != nil {
		made, err := e.controlled(x, st, ins, around)
		if err != nil {
			return err
		}
		e.outcome(&e.out.Nodes[at], st, ins, outs, made)
	} else {
		for _, b := range bodies {
			captured, err := free(b.graph, x.depth+1)
			if err != nil {
				return err
			}
			inner := &explained{path: x.pathOf(st, b.attr), depth: x.depth + 1, model: within(st.unit.model, b.graph, captured), own: len(b.graph.Inputs)}
			if _, err := e.graph(inner, &compiler{explains: true, depth: inner.depth}, nil, around); err != nil {
				return err
			}
		}
	}
	for i, v := range outs {
		e.out.Nodes[at].Outputs = append(e.out.Nodes[at].Outputs, Typed{st.outputs[i], typeOf(v).String()})
	}
	x.put(st, outs)
	return nil
}

// pathOf returns the path of a graph in an attribute of a node.
func (x *explained) pathOf(st *step, attr string) string {
	return joined(x.path, st.label()) + "." + attr
}

// controlled explains the graphs of a node that the session runs, and returns their outputs.
func (e *explainer) controlled(x *explained, st *step, ins []Value, around map[string]Value) ([][]Value, error) {
	var made [][]Value
	for _, b := range st.unit.control.graphs {
		inner := &explained{path: x.pathOf(st, b.attr), depth: x.depth + 1, model: b.model, own: len(b.graph.Inputs)}
		outs, err := e.graph(inner, b.inner, e.ownInputs(st, b, ins), around)
		if err != nil {
			return nil, err
		}
		made = append(made, outs)
	}
	return made, nil
}

// ownInputs returns what is known about a graph's own inputs in every run of it.
func (e *explainer) ownInputs(st *step, b *subgraph, ins []Value) []Value {
	own := make([]Value, len(b.from))
	for i, k := range b.from {
		in := &b.graph.Inputs[i]
		switch {
		case k < 0 && i == 0:
			own[i] = &unknown{model.TensorOf(layout.Int64), true, true}
		case k < 0:
			own[i] = &unknown{model.TensorOf(layout.Bool), true, true}
		case b.inner.hosted[in.Name]:
			own[i] = &unknown{in.Type, true, true}
		case st.d.op == "SequenceMap":
			if v := ins[k]; !absent(v) && typeOf(v).Kind == model.TensorType {
				own[i] = v
			}
		}
	}
	return own
}

// branch returns the index of the graph that an If runs, if its condition is known.
func (e *explainer) branch(condition Value) (index int, known bool) {
	if x, ok := condition.(*tensor.Tensor); !ok || x.DType() != layout.Bool || x.Count() != 1 {
		return 0, false
	}
	b, ok := e.elementsOf(condition)
	if !ok {
		return 0, false
	}
	if b[0] == 0 {
		return 1, true
	}
	return 0, true
}

// outcome completes the explanation of a node that the session runs, with the outputs of its
// graphs.
func (e *explainer) outcome(n *Explained, st *step, ins, outs []Value, made [][]Value) {
	n.Outcome = IsView
	graphs := st.unit.control.graphs
	if st.d.op == "If" {
		taken, known := e.branch(ins[0])
		for i := range outs {
			if known {
				outs[i] = made[taken][i]
			} else {
				outs[i] = e.common(made[0][i], made[1][i])
			}
		}
		return
	}
	for j, k := range graphs[0].to {
		if k < 0 || k >= len(outs) || st.d.op == "SequenceMap" || graphs[0].back[j] >= 0 {
			continue
		}
		n.Outcome, n.Why = IsCopy, "runs the graph below; the slices of outputs are put together"
		if b := bytesOf(typeOf(outs[k])); b == Unknown || n.Bytes == Unknown {
			n.Bytes = Unknown
		} else {
			n.Bytes += b
		}
		n.Runtime = n.Bytes
	}
}
