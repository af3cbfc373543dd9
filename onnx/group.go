package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// A Grouper is a Provider that runs connected nodes as one unit.
type Grouper interface {
	Provider
	// Group returns how the engine runs a group. If it returns nil, the nodes run one at a
	// time with the Operators that Operator returned. A session asks once for each group,
	// after it has decided what runs on the host: inputs that a group wants there are
	// copied there.
	Group(g Group) (*Operator, error)
}

// Group is a set of nodes for which the engine has operators. It is a maximal connected set
// that can run as one unit, with no other node in between. Groups whose outputs nobody uses
// are not offered and do not run.
type Group struct {
	// Model has the nodes in an executable order, with their constants and the opsets and
	// functions of the model. Its inputs and outputs match the Call's and have the types
	// that the model declares, but inputs that nodes make have no extents: real models declare
	// wrong ones. A group with claimed nodes has the types of all inputs, which the session
	// infers where none is declared. Its outputs are the values used outside the group.
	Model  *model.Model
	Stream *tensor.Stream // the session's
	// Checked: all inputs are inputs of the session, which checks their types.
	Checked bool
}

// group replaces the engine's nodes with groups of them, where the engine runs the group.
func (c *compiler) group() error {
	engine, ok := c.provider.(Grouper)
	if !ok {
		return nil
	}
	for _, u := range c.nodes {
		if u.engine != nil && !c.sameOpsets(u) {
			u.d.host |= uint(u.engine.Host)
		}
	}
	c.claims()
	if c.explains {
		c.groupsOf(c.nodes) // some nodes may be kept in none
		return nil
	}
	by := make(map[*unit]*unit, len(c.nodes)) // replacement of each unit; nil: removed
	constants := c.constants()
	for groups := c.groupsOf(c.nodes); len(groups) > 0; {
		members := groups[0]
		groups = groups[1:]
		m, closers := c.modelOf(members, constants), len(c.p.closers)
		whole, err := c.whole(engine, members, m)
		if err != nil && anyClaimed(members) && !errors.Is(err, device.ErrOutOfMemory) {
			// The engine may lack a type of an operator that it claims.
			if e := c.closeFrom(closers); e != nil {
				return errors.Join(err, e)
			}
			for _, u := range members {
				u.claimed, u.refusal = "", err
			}
			groups = append(groups, c.groupsOf(members)...)
			continue
		}
		if err != nil {
			return err
		}
		if whole == nil && len(m.Graph.Outputs) > 0 {
			for _, u := range members {
				if u.claimed = ""; u.engine != nil {
					u.d.host |= uint(u.engine.Host)
				}
			}
			continue
		}
		for _, u := range members {
			by[u] = nil
		}
		by[members[0]] = whole
	}
	return c.relink(by)
}

// closeFrom closes the operators that the engine returned from the n-th on.
func (c *compiler) closeFrom(n int) error {
	var errs []error
	for _, closer := range c.p.closers[n:] {
		errs = append(errs, closer())
	}
	c.p.closers = c.p.closers[:n]
	return errors.Join(errs...)
}

// fixesDefaults reports whether defaults of inputs are constants, for an engine that prepares
// these. In file formats before 4 all constants, weights too, are defaults of inputs.
func (c *compiler) fixesDefaults() bool {
	const optional = 4 // the first format with constants that are not
	_, groups := c.provider.(Grouper)
	return groups && c.model.IRVersion < optional
}

// errFixed refuses an input whose default is a constant.
func errFixed(op, name string) error {
	return layout.Errorf(device.ErrUnsupported, op, "input %s cannot be given: in file formats before 4 an engine that runs groups has its default as a constant", quote.Name(name))
}

// groups reports whether a node can be in a group.
func (c *compiler) groups(u *unit) bool {
	return u.claimed != "" || u.engine != nil && c.sameOpsets(u)
}

// sameOpsets reports whether the model's opsets apply to a node, as to all nodes of a group.
func (c *compiler) sameOpsets(u *unit) bool { return maps.Equal(u.model.Opsets, c.model.Opsets) }

// groupsOf returns the groups of the engine's nodes, each in order, with what it keeps. nodes are
// sorted: all, or those of a group.
func (c *compiler) groupsOf(nodes []*unit) [][]*unit {
	index := make(map[*unit]int, len(nodes))
	after, taken := make([][]int, len(nodes)), make([]bool, len(nodes))
	for i, u := range nodes {
		index[u], taken[i] = i, c.groups(u)
		for _, name := range u.in {
			if at, within := index[c.maker[name]]; within {
				after[at] = append(after[at], i)
			}
		}
	}
	var groups [][]*unit
	at := map[int]int{} // index into groups
	for i, first := range partition(after, taken) {
		if first == i {
			at[i] = len(groups)
			groups = append(groups, nil)
		}
		if first >= 0 {
			groups[at[first]] = append(groups[at[first]], nodes[i])
		}
	}
	return slices.DeleteFunc(groups, func(members []*unit) bool {
		if slices.ContainsFunc(members, func(u *unit) bool { return u.engine != nil }) {
			return false
		}
		for _, u := range members { // nothing here is the engine's own
			u.claimed = ""
		}
		return true
	})
}

// whole returns a unit that runs a group, or nil if the engine does not run it or nobody
// uses its outputs.
func (c *compiler) whole(engine Grouper, members []*unit, m *model.Model) (*unit, error) {
	if len(m.Graph.Outputs) == 0 {
		return nil, nil
	}
	first := members[0]
	op, name := first.node.OpType, first.d.name
	if len(members) > 1 {
		op = fmt.Sprintf("group of %d", len(members))
		name = op
	}
	u := &unit{
		node:  &model.Node{OpType: op, Name: first.node.Name},
		index: first.index,
		in:    namesOf(m.Graph.Inputs),
		outs:  namesOf(m.Graph.Outputs),
	}
	is, err := engine.Group(Group{Model: m, Stream: c.p.stream, Checked: !slices.ContainsFunc(u.in, func(name string) bool { return c.maker[name] != nil }) && c.depth == 0})
	if is == nil && err == nil {
		return nil, nil
	}
	f, err := c.adopt(is, err, op, u.outs)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", u, err)
	}
	u.kernel = f.run
	u.d = &definition{op: op, name: name, inputs: arity{0, many}, outputs: arity{0, many}, opaque: true, host: uint(f.Host)}
	for _, m := range members {
		u.group = append(u.group, m.index)
		u.refusal = cmp.Or(u.refusal, m.refusal)
		if m.claimed != "" {
			u.claims = append(u.claims, Kept{Index: m.index, Name: m.node.Name, Op: m.d.name, Why: m.claimed})
		}
	}
	slices.Sort(u.group)
	slices.SortFunc(u.claims, func(a, b Kept) int { return cmp.Compare(a.Index, b.Index) })
	return u, nil
}

func namesOf(values []model.ValueInfo) []string {
	names := make([]string, len(values))
	for i := range values {
		names[i] = values[i].Name
	}
	return names
}

// modelOf returns a model that contains the group.
func (c *compiler) modelOf(members []*unit, constants map[string]any) *model.Model {
	m := *c.model
	m.Graph = &model.Graph{Name: "group"}
	types := c.declared
	if anyClaimed(members) {
		types = c.types
	}
	within := make(map[*unit]bool, len(members))
	for _, u := range members {
		within[u] = true
	}
	known := map[string]bool{"": true}
	for _, u := range members {
		m.Graph.Nodes = append(m.Graph.Nodes, *u.node)
		for _, name := range u.in {
			if known[name] {
				continue
			}
			known[name] = true
			maker := c.maker[name]
			switch t := constants[name].(type) {
			case *model.Tensor:
				held := *t
				held.Name = name
				m.Graph.Initializers = append(m.Graph.Initializers, held)
			case *model.SparseTensor:
				m.Graph.SparseInitializers = append(m.Graph.SparseInitializers, *t)
			default:
				if !within[maker] {
					t := types[name]
					if maker != nil {
						t = withoutExtents(t)
					}
					m.Graph.Inputs = append(m.Graph.Inputs, model.ValueInfo{Name: name, Type: t})
				}
			}
		}
		for _, name := range u.outs {
			outside := func(use use) bool { return !within[use.unit] }
			info := model.ValueInfo{Name: name, Type: c.declared[name]}
			switch {
			case name == "":
			case slices.ContainsFunc(c.uses[name], outside):
				m.Graph.Outputs = append(m.Graph.Outputs, info)
			case info.Type.Kind != model.UnknownType:
				m.Graph.ValueInfo = append(m.Graph.ValueInfo, info)
			}
		}
	}
	return &m
}

// withoutExtents returns a type with unknown extents.
func withoutExtents(t model.Type) model.Type {
	t.Dims = make([]model.Dim, len(t.Dims))
	for i := range t.Dims {
		t.Dims[i] = model.Symbolic("")
	}
	return t
}

// relink puts the groups in place of their nodes.
func (c *compiler) relink(by map[*unit]*unit) error {
	var nodes []*unit
	for _, u := range c.nodes {
		whole, grouped := by[u]
		if !grouped {
			nodes = append(nodes, u)
			continue
		}
		for _, name := range u.outs {
			delete(c.maker, name)
		}
		if whole != nil {
			nodes = append(nodes, whole)
		}
	}
	c.nodes, c.uses = nodes, map[string][]use{}
	for _, u := range nodes {
		u.next, u.done = 0, false
		for _, name := range u.outs {
			if name != "" {
				c.maker[name] = u
			}
		}
	}
	if err := c.link(); err != nil {
		return err
	}
	return c.sort()
}
