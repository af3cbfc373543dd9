package onnx

import (
	"maps"
	"slices"

	"github.com/restride/restride/internal/infer"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// checkClaims gives up claims of nodes with values that cannot pass the edge of their group, and all
// claims in groups with inputs of unknown types: the engine could refuse these in a run, when
// the session can no longer run the nodes itself.
func (c *compiler) checkClaims() {
	if !anyClaimed(c.nodes) {
		return
	}
	c.types = c.inferTypes()
	constants := c.constants()
	for again := true; again; {
		again = false
		for _, members := range c.groupsOf(c.nodes) {
			if !anyClaimed(members) {
				continue
			}
			g := c.modelOf(members, constants).Graph
			known := !slices.ContainsFunc(g.Inputs, func(in model.ValueInfo) bool { return !isKnown(c.types[in.Name]) })
			stuck := map[string]bool{}
			for _, name := range slices.Concat(namesOf(g.Inputs), namesOf(g.Outputs)) {
				stuck[name] = !passes(c.types[name])
			}
			for _, u := range members {
				if u.claimed != "" && (!known || slices.ContainsFunc(slices.Concat(u.in, u.outs), func(name string) bool { return stuck[name] })) {
					u.claimed, again = "", true
				}
			}
		}
	}
}

// anyClaimed reports whether the engine claims any of these nodes.
func anyClaimed(nodes []*unit) bool {
	return slices.ContainsFunc(nodes, func(u *unit) bool { return u.claimed != "" })
}

// isKnown reports whether an engine can prepare a group for an input of a type.
func isKnown(t model.Type) bool {
	return t.Kind != model.UnknownType && (t.Kind != model.TensorType || t.Elem.Valid() && t.HasShape)
}

// passes reports whether the session can exchange values of a type with an engine: not text,
// nor sequences.
func passes(t model.Type) bool {
	return t.Kind == model.UnknownType || t.Kind == model.TensorType && t.Elem != layout.String
}

// inferTypes returns the types of the graph's values: those that the graph declares, completed
// by those that follow from constants and inputs.
func (c *compiler) inferTypes() map[string]model.Type {
	types := maps.Clone(c.declared)
	constants := c.constants()
	for name, v := range constants {
		switch t := v.(type) {
		case *model.Tensor:
			types[name] = typeOfConstant(t.Type, t.Dims)
		case *model.SparseTensor:
			types[name] = typeOfConstant(t.Values.Type, t.Dims)
		}
	}
	for _, u := range c.nodes {
		if u.constant != nil {
			continue
		}
		ins, domain := trimAbsent(u.node.Inputs), calleeOf(u.node.Domain, "", "").domain
		n := infer.Node{
			Domain: domain, Op: u.node.OpType, Opset: u.model.Opsets[domain], Attrs: u.node.Attrs, Outputs: len(u.outs),
			Inputs: make([]*model.Type, len(ins)), Elements: func(i int) ([]byte, bool) { return elementsIn(constants[ins[i]]) },
		}
		for i, name := range ins {
			if name != "" {
				t := types[name]
				n.Inputs[i] = &t
			}
		}
		for i, t := range infer.Types(n) {
			types[u.outs[i]] = merged(c.declared[u.outs[i]], t)
		}
	}
	return types
}

func typeOfConstant(elem layout.DType, dims layout.Shape) model.Type {
	t := model.TensorOf(elem)
	for _, n := range dims {
		t.Dims = append(t.Dims, model.Known(n))
	}
	return t
}

// elementsIn returns the elements of a dense constant in ONNX's packed form.
func elementsIn(constant any) ([]byte, bool) {
	t, ok := constant.(*model.Tensor)
	if !ok || t.Type == layout.String {
		return nil, false
	}
	b, err := t.Bytes()
	return b, err == nil
}
