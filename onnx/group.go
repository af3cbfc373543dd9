package onnx

import (
	"fmt"
	"slices"

	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// A Grouper is a Provider that runs connected nodes whole.
type Grouper interface {
	Provider
	// Group returns how the engine runs a group, or nil: then its nodes run one by one, by
	// the Operators that Operator returned. A session asks for each group once, when it
	// is known what runs on the host: inputs that a group wants there are brought there.
	Group(g Group) (*Operator, error)
}

// Group is nodes for which the engine has operators: as many as values join and as can
// run at once, with nothing between them that is not in the group. A group of whose values
// nobody uses any is not asked for, and does not run.
type Group struct {
	// Model has the nodes, in an order in which they can run, with their constants and the
	// opsets and functions of the model. Its inputs and outputs are those of a Call, of the
	// types that the model declares. What others than the group use is an output.
	Model  *model.Model
	Stream *tensor.Stream // the session's
}

// group replaces the engine's nodes by groups of them, as far as it runs those.
func (c *compiler) group() error {
	engine, ok := c.provider.(Grouper)
	if !ok {
		return nil
	}
	by := make(map[*unit]*unit, len(c.nodes)) // what is in the place of each; nil: nothing
	constants := c.constants()
	for _, members := range c.groups() {
		m := c.modelOf(members, constants)
		whole, err := c.whole(engine, members, m)
		if err != nil {
			return err
		}
		if whole == nil && len(m.Graph.Outputs) > 0 {
			for _, u := range members {
				u.d.host |= uint(u.engine.Host)
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

// groups returns the groups of the engine's nodes, each in order.
func (c *compiler) groups() [][]*unit {
	index := make(map[*unit]int, len(c.nodes))
	after, taken := make([][]int, len(c.nodes)), make([]bool, len(c.nodes))
	for i, u := range c.nodes { // which are sorted
		index[u], taken[i] = i, u.engine != nil
		for _, name := range u.in {
			if maker := c.maker[name]; maker != nil {
				at := index[maker]
				after[at] = append(after[at], i)
			}
		}
	}
	var groups [][]*unit
	at := map[int]int{} // in groups
	for i, first := range partition(after, taken) {
		if first == i {
			at[i] = len(groups)
			groups = append(groups, nil)
		}
		if first >= 0 {
			groups[at[first]] = append(groups[at[first]], c.nodes[i])
		}
	}
	return groups
}

// whole returns a unit that runs a group; nil: the engine does not, or nobody uses what it
// makes.
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
	is, err := engine.Group(Group{Model: m, Stream: c.p.stream})
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
	}
	slices.Sort(u.group)
	return u, nil
}

func namesOf(values []model.ValueInfo) []string {
	names := make([]string, len(values))
	for i := range values {
		names[i] = values[i].Name
	}
	return names
}

// modelOf returns a model of a group.
func (c *compiler) modelOf(members []*unit, constants map[string]any) *model.Model {
	m := *c.model
	m.Graph = &model.Graph{Name: "group"}
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
					m.Graph.Inputs = append(m.Graph.Inputs, model.ValueInfo{Name: name, Type: c.declared[name]})
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

// relink puts groups in the place of their nodes.
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
