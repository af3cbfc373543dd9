package onnx

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// compiler turns a graph into the steps of a Session.
type compiler struct {
	s      *Session
	graph  *model.Graph
	nodes  []*unit          // in the order in which they run
	maker  map[string]*unit // of each value that a node makes
	uses   map[string][]use
	slots  map[string]int
	loaded map[string]*model.Tensor // constants: initializers and Constant nodes
	// hostSlots are the slots of the host's copies of constants that the device
	// has too.
	hostSlots map[string]int
}

// unit is a node on its way to being a step.
type unit struct {
	node    *model.Node
	index   int // in the file
	d       *definition
	kernel  kernel
	waiting int  // inputs that are not made yet, while sorting
	host    bool // all that it makes is wanted on the host only
}

// use is one input of a unit; a nil unit is the graph's output.
type use struct {
	unit  *unit
	input int
}

func invalidGraph(format string, args ...any) error {
	return layout.Errorf(device.ErrInvalid, "graph", format, args...)
}

func (u *unit) String() string {
	if u.node.Name != "" {
		return fmt.Sprintf("node %d (%s %q)", u.index, u.node.OpType, u.node.Name)
	}
	return fmt.Sprintf("node %d (%s)", u.index, u.node.OpType)
}

func compile(s *Session, m *model.Model) error {
	c := &compiler{
		s: s, graph: m.Graph, maker: map[string]*unit{}, uses: map[string][]use{}, slots: map[string]int{},
		loaded: map[string]*model.Tensor{}, hostSlots: map[string]int{},
	}
	if m.Graph == nil {
		return invalidGraph("the model has none")
	}
	if len(m.Graph.SparseInitializers) > 0 {
		return layout.Errorf(device.ErrUnsupported, "graph", "sparse initializers")
	}
	for _, step := range []func() error{func() error { return c.resolve(m) }, c.nameValues, c.link, c.sort, c.place, c.emit} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// resolve finds each node's operator and reads its attributes.
func (c *compiler) resolve(m *model.Model) error {
	if missing := missingOps(m); missing != nil {
		return &MissingError{Ops: missing}
	}
	v, ok := m.Opsets[""]
	if !ok && len(c.graph.Nodes) > 0 {
		return invalidGraph("the model imports no opset of ONNX's own operators")
	}
	for i := range c.graph.Nodes {
		u := &unit{node: &c.graph.Nodes[i], index: i}
		var err error
		if u.d, err = lookup(u.node.OpType, Opset(v)); err == nil {
			u.kernel, err = u.d.compile(u.node.Attrs)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", u, err)
		}
		c.nodes = append(c.nodes, u)
	}
	return nil
}

// missingOps returns the names of the operators that there are no kernels for.
func missingOps(m *model.Model) []string {
	var missing []string
	for _, n := range m.Graph.Nodes {
		name := n.OpType
		if n.Domain != "" {
			name = n.Domain + "." + n.OpType
		}
		if _, ok := m.Function(n.Domain, n.OpType, n.Overload); ok {
			missing = append(missing, name+" (a function of the model)")
		} else if n.Domain != "" || operators[n.OpType] == nil {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// nameValues gives each value of the graph a slot.
func (c *compiler) nameValues() error {
	name := func(name, what string) error {
		if name == "" {
			return invalidGraph("%s has no name", what)
		}
		if _, taken := c.slots[name]; taken {
			return invalidGraph("two values are named %q; the second is %s", name, what)
		}
		c.slots[name] = len(c.slots)
		return nil
	}
	for _, in := range c.graph.Inputs {
		if err := name(in.Name, "an input"); err != nil {
			return err
		}
	}
	for i := range c.graph.Initializers {
		t := &c.graph.Initializers[i]
		if c.loaded[t.Name] != nil {
			return invalidGraph("two initializers are named %q", t.Name)
		}
		c.loaded[t.Name] = t
		if _, isInput := c.slots[t.Name]; isInput {
			continue // the input's default
		}
		if err := name(t.Name, "an initializer"); err != nil {
			return err
		}
	}
	for _, u := range c.nodes {
		outs := trimAbsent(u.node.Outputs)
		if len(outs) != 1 {
			return invalidGraph("%v has %d outputs; %s has 1", u, len(outs), u.d.name)
		}
		if err := name(outs[0], "an output of "+u.String()); err != nil {
			return err
		}
		c.maker[outs[0]] = u
	}
	return nil
}

// trimAbsent drops the empty names at the end of a list: optional inputs or
// outputs left out.
func trimAbsent(names []string) []string {
	for len(names) > 0 && names[len(names)-1] == "" {
		names = names[:len(names)-1]
	}
	return names
}

// link notes who uses each value.
func (c *compiler) link() error {
	for _, u := range c.nodes {
		names := trimAbsent(u.node.Inputs)
		if n := len(names); n < u.d.inputs.min || n > u.d.inputs.max {
			return invalidGraph("%v has %d inputs; %s has %d to %d", u, n, u.d.name, u.d.inputs.min, u.d.inputs.max)
		}
		for i, name := range names {
			if name == "" {
				continue
			}
			if _, known := c.slots[name]; !known {
				return invalidGraph("%v: nothing makes its input %q", u, name)
			}
			c.uses[name] = append(c.uses[name], use{u, i})
			if c.maker[name] != nil {
				u.waiting++
			}
		}
	}
	seen := map[string]bool{}
	for _, out := range c.graph.Outputs {
		if _, known := c.slots[out.Name]; !known {
			return invalidGraph("nothing makes its output %q", out.Name)
		}
		if seen[out.Name] {
			return invalidGraph("output %q is listed twice", out.Name)
		}
		seen[out.Name] = true
		c.uses[out.Name] = append(c.uses[out.Name], use{})
	}
	return nil
}

// sort orders the nodes so that each comes after those that make its inputs,
// and otherwise as in the file.
func (c *compiler) sort() error {
	var ready, sorted []*unit
	for _, u := range c.nodes {
		if u.waiting == 0 {
			ready = append(ready, u)
		}
	}
	for len(ready) > 0 {
		u := ready[0]
		ready = ready[1:]
		sorted = append(sorted, u)
		for _, use := range c.uses[trimAbsent(u.node.Outputs)[0]] {
			if use.unit == nil {
				continue
			}
			if use.unit.waiting--; use.unit.waiting == 0 {
				at, _ := slices.BinarySearchFunc(ready, use.unit, func(a, b *unit) int { return cmp.Compare(a.index, b.index) })
				ready = slices.Insert(ready, at, use.unit)
			}
		}
	}
	if len(sorted) < len(c.nodes) {
		for _, u := range c.nodes {
			if u.waiting > 0 {
				return invalidGraph("%v waits for its own output: there is a cycle", u)
			}
		}
	}
	c.nodes = sorted
	return nil
}

// place decides which constants the host needs, and loads all of them. What
// only ever tells a shape or an axis belongs on the host: on the device, each
// run would read it back.
func (c *compiler) place() error {
	for _, u := range slices.Backward(c.nodes) {
		out := trimAbsent(u.node.Outputs)[0]
		u.host = len(c.uses[out]) > 0
		for _, use := range c.uses[out] {
			u.host = u.host && use.onHost()
		}
	}
	c.nodes = slices.DeleteFunc(c.nodes, func(u *unit) bool {
		if u.d.op != "Constant" {
			return false
		}
		t, err := u.d.constant(u.node.Attrs)
		if err != nil {
			return false // compiled before: cannot be
		}
		out := trimAbsent(u.node.Outputs)[0]
		c.loaded[out] = t
		delete(c.maker, out)
		c.s.folded = append(c.s.folded, NodeReport{
			Index: u.index, Name: u.node.Name, Op: u.d.name, Output: out, Type: t.Type, Shape: t.Dims,
			Verdict: tensor.Verdict{Kind: tensor.Transfer, Bytes: c.fileBytes(t)}, Host: u.host, Why: "a constant: loaded once, with the session",
		})
		return true
	})
	for name, t := range c.loaded {
		var host, dev bool
		for _, use := range c.uses[name] {
			if use.onHost() {
				host = true
			} else {
				dev = true
			}
		}
		slot := c.slots[name]
		if dev || !host {
			if err := c.load(c.s.stream, t, slot); err != nil {
				return err
			}
		}
		if host && (!dev || !c.s.stream.IsHost()) {
			if dev {
				slot = len(c.slots) + len(c.hostSlots)
				c.hostSlots[name] = slot
			}
			on := c.s.stream
			if !on.IsHost() {
				on = tensor.Host()
			}
			if err := c.load(on, t, slot); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *compiler) fileBytes(t *model.Tensor) int64 {
	if t.Type == layout.String {
		return 16 * int64(len(t.Strings))
	}
	n, _ := t.Dims.Bytes(t.Type) // checked when the model was read
	return n
}

// onHost reports whether a use reads the value on the host.
func (u use) onHost() bool {
	return u.unit != nil && (u.unit.d.host>>u.input&1 == 1 || u.unit.host)
}

func (c *compiler) load(on *tensor.Stream, t *model.Tensor, slot int) error {
	x, err := Load(on, t)
	if err != nil {
		return fmt.Errorf("constant %q: %w", t.Name, err)
	}
	c.s.constants = append(c.s.constants, held{slot, x})
	return nil
}

// emit writes the session's steps: slots in place of names, and what each step
// is the last to use.
func (c *compiler) emit() error {
	s := c.s
	s.slots = len(c.slots) + len(c.hostSlots)
	for _, in := range c.graph.Inputs {
		_, optional := c.loaded[in.Name]
		s.inputs = append(s.inputs, port{name: in.Name, slot: c.slots[in.Name], typ: in.Type, optional: optional})
	}
	made := make([]bool, s.slots) // by a node: the run owns it
	for _, u := range c.nodes {
		st := step{d: u.d, kernel: u.kernel, name: u.node.Name, label: u.String(), index: u.index, output: trimAbsent(u.node.Outputs)[0]}
		for i, name := range trimAbsent(u.node.Inputs) {
			slot := -1
			if name != "" {
				slot = c.slots[name]
				if h, ok := c.hostSlots[name]; ok && (use{u, i}).onHost() {
					slot = h
				}
			}
			st.in = append(st.in, slot)
			s.widest = max(s.widest, len(st.in))
		}
		st.out = c.slots[st.output]
		made[st.out] = true
		s.steps = append(s.steps, st)
	}
	keep := make([]bool, s.slots)
	for _, out := range c.graph.Outputs {
		slot := c.slots[out.Name]
		keep[slot] = made[slot]
		s.outputs = append(s.outputs, port{name: out.Name, slot: slot, typ: out.Type, made: made[slot]})
	}
	seen := make([]bool, s.slots)
	for i := range slices.Backward(s.steps) {
		st := &s.steps[i]
		for _, slot := range append(slices.Clone(st.in), st.out) {
			if slot >= 0 && made[slot] && !keep[slot] && !seen[slot] {
				seen[slot] = true
				st.free = append(st.free, slot)
			}
		}
	}
	return nil
}

// errors of a run name the node, in the words of the file.
func (st *step) fail(err error) error { return fmt.Errorf("%s: %w", st.label, err) }
