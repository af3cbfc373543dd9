package onnx

import (
	"fmt"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// compiler turns a graph into the steps of a program.
type compiler struct {
	p     *program
	model *model.Model
	graph *model.Graph
	// explains: the session is not meant to run. Nodes that cannot run are opaque, and only
	// constants that the host reads are loaded.
	explains bool
	// probes: only the places of values are wanted, not a program.
	probes   bool
	provider Provider              // nil: none
	declared map[string]model.Type // types of the graph's values, for a provider
	types    map[string]model.Type // the inferred ones too, if the provider claims nodes
	depth    int                   // nesting depth of the graph
	path     string                // of the graph, if it is in a node
	shared   *shared
	// hosted are inputs that are on the host in each call of a graph in a node, and wanted
	// its outputs that are read there.
	hosted, wanted map[string]bool
	// around reports whether an input is born on the host around the graph; see bornOnHost.
	around  func(name string) bool
	taken   map[string]bool  // see allNames
	held    map[string]any   // see constants
	lacking []string         // operators missing in nested graphs, one entry per node
	nodes   []*unit          // in execution order
	maker   map[string]*unit // the node that makes each value
	uses    map[string][]use
	slots   map[string]int
	large   map[string]bool // constants of more elements than the host computes with
	few     map[string]bool // constants of at most fewHanded elements
	// hostSlots are the slots of the host's copies of constants that are also on the
	// device.
	hostSlots map[string]int
}

// shared is what the compilers of a model's graphs have in common.
type shared struct {
	functions map[callee]*model.Function
	inlined   int // number of nodes of functions
	probed    map[probed]*findings
}

// unit is a node before it becomes a step.
type unit struct {
	node     *model.Node
	index    int          // in the file's list of nodes
	path     string       // of a function's node: the node that calls it
	model    *model.Model // with the opsets that apply to the node
	depth    int          // of calls of functions
	in       []string
	outs     []string // "": not wanted
	d        *definition
	kernel   kernel        // or, if it has no inputs:
	constant *model.Tensor // its output
	single   uint          // inputs: see markSingles
	handed   uint          // inputs: constants that graphs of the node have copies of
	host     bool          // its output is wanted on the host, or is made there anyway
	missing  string        // its operator's name, if nothing here runs it
	trouble  error         // why it is opaque, though its operator is known
	captured []string      // by its bodies: they are its last inputs
	engine   *foreign      // runs the node
	control  *control      // runs graphs of the node
	claimed  string        // why the engine runs it, though the session could; "": it does not
	refusal  error         // why the engine does not run it with the session's nodes that it claimed
	group    []int         // nodes of the file that it replaces, if the engine runs them whole
	claims   []Kept        // the nodes of its group that the session could run

	next int  // while sorting: the next input to visit
	done bool // already sorted
}

// use is one input of a unit; a nil unit stands for the graph's output.
type use struct {
	unit   *unit
	input  int
	onHost bool // an output that is read on the host
}

func invalidGraph(format string, args ...any) error {
	return layout.Errorf(device.ErrInvalid, "graph", format, args...)
}

func (u *unit) String() string {
	return joined(u.path, nodeLabel(u.index, u.node.OpType, u.node.Name))
}

// joined joins two parts of the path of a node.
func joined(path, rest string) string {
	if path == "" || rest == "" {
		return path + rest
	}
	return path + " > " + rest
}

// nodeLabel names a node in errors as the file does.
func nodeLabel(index int, op, name string) string {
	if name != "" {
		return fmt.Sprintf("node %d (%s %s)", index, quote.Plain(op), quote.Name(name))
	}
	return fmt.Sprintf("node %d (%s)", index, quote.Plain(op))
}

// compile compiles a model into a program.
func (c *compiler) compile(p *program, m *model.Model) error {
	if m == nil || m.Graph == nil {
		return invalidGraph("the model has none")
	}
	if err := budget.TakeFor(budget.Process(), p, "the session", sizeOfSession(m.Graph)); err != nil {
		return err
	}
	c.p, c.model, c.graph = p, m, m.Graph
	c.maker, c.uses = map[string]*unit{}, map[string][]use{}
	c.slots, c.hostSlots = map[string]int{}, map[string]int{}
	c.large, c.few = map[string]bool{}, map[string]bool{}
	if c.shared == nil {
		c.shared = &shared{functions: functionsOf(m), probed: map[probed]*findings{}}
	}
	c.declareTypes()
	steps := []func() error{c.resolve, c.nameValues, c.link, c.sort, c.place}
	if !c.probes {
		steps = append(steps, c.assign, c.placeConstants, c.emit)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// sizeOfSession estimates the bytes of host memory that a session of a graph needs, during
// and after compilation, without its constants.
func sizeOfSession(g *model.Graph) int64 {
	const node, name = 1536, 192
	names := len(g.Inputs) + len(g.Outputs) + len(g.Initializers) + len(g.SparseInitializers)
	for i := range g.Nodes {
		names += len(g.Nodes[i].Inputs) + len(g.Nodes[i].Outputs)
	}
	return int64(len(g.Nodes))*node + int64(names)*name
}

// resolve finds each node's operator and reads its attributes.
func (c *compiler) resolve() error {
	for i := range c.graph.Nodes {
		if err := c.resolveNode(&unit{node: &c.graph.Nodes[i], index: i, model: c.model}); err != nil {
			return err
		}
	}
	return nil
}

// resolveNode resolves a node of the graph or of a function.
func (c *compiler) resolveNode(u *unit) error {
	n := u.node
	u.in = trimAbsent(n.Inputs)
	f := c.shared.functions[calleeOf(n.Domain, n.OpType, n.Overload)]
	err := error(nil)
	switch {
	case f != nil && u.model != newest:
		if err = c.called(u, f); err == nil && u.engine == nil {
			return nil
		}
	case n.Domain != "" || operators[n.OpType] == nil:
		u.missing = operatorName(n)
		err = c.unknown(u)
	default:
		if err = c.known(u); err != nil && c.explains {
			u.trouble, err = err, c.opaque(u)
		}
	}
	if err != nil {
		return fmt.Errorf("%v: %w", u, err)
	}
	c.nodes = append(c.nodes, u)
	return nil
}

// operatorName returns the name of a node's operator with its domain.
func operatorName(n *model.Node) string {
	if n.Domain != "" {
		return n.Domain + "." + n.OpType
	}
	return n.OpType
}

// called resolves a node that calls a function of the model: an engine runs it or, otherwise,
// the function's nodes take its place.
func (c *compiler) called(u *unit, f *model.Function) error {
	if err := c.opaque(u); err != nil {
		return err
	}
	if err := c.offer(u); err != nil || u.engine != nil {
		return err
	}
	return c.inline(u, f)
}

// unknown finds what runs a node whose operator is not known here: an engine or, if the
// operator runs graphs, the session.
func (c *compiler) unknown(u *unit) error {
	if err := c.opaque(u); err != nil {
		return err
	}
	if err := c.offer(u); err != nil || u.engine != nil {
		return err
	}
	prepare := controls[u.missing]
	if prepare == nil {
		return nil
	}
	u.missing = ""
	err := prepare(u)
	if err != nil && c.explains {
		u.trouble, u.control, err = err, nil, nil
	}
	return err
}

// known finds the operator of a node that is an ONNX operator known here.
func (c *compiler) known(u *unit) error {
	v, ok := u.model.Opsets[""]
	if !ok {
		return invalidGraph("the model imports no opset of ONNX's own operators")
	}
	d, err := lookup(u.node.OpType, Opset(v))
	if err != nil {
		return err
	}
	if u.d = d; d.constant != nil {
		u.constant, err = d.constant(d, u.node.Attrs)
	} else {
		u.kernel, err = d.compile(u.node.Attrs)
	}
	return err
}

// opaque turns a node into one about which only its inputs and outputs are known.
func (c *compiler) opaque(u *unit) (err error) {
	name := operatorName(u.node)
	if v, ok := u.model.Opsets[calleeOf(u.node.Domain, "", "").domain]; ok {
		name = fmt.Sprintf("%s-%d", name, v)
	}
	u.d = &definition{op: u.node.OpType, name: name, inputs: arity{0, many}, outputs: arity{0, many}, opaque: true}
	u.constant = nil
	if u.captured, err = capturedBy(u.node); len(u.captured) == 0 || err != nil {
		return err
	}
	read := map[string]bool{}
	for _, b := range bodiesOf(u.node) {
		recordReads(b.graph, Opset(u.model.Opsets[""]), read)
	}
	for i, name := range u.captured {
		if read[name] {
			u.single |= 1 << (len(u.in) + i)
		}
	}
	u.in = append(slices.Clone(u.in), u.captured...)
	return nil
}

// checkMissing refuses a graph whose operators nothing here runs.
func (c *compiler) checkMissing() error {
	missing := c.lacking
	for _, u := range c.nodes {
		if u.d.arithmetic && !u.host {
			u.missing = u.node.OpType + " (on the host only: of shapes)"
			if err := c.opaque(u); err != nil {
				return err
			}
		}
		if u.missing != "" {
			missing = append(missing, u.missing)
		}
	}
	if missing == nil || c.explains {
		return nil
	}
	return missingOf(missing)
}

// nameValues gives each value of the graph a slot.
func (c *compiler) nameValues() error {
	name := func(name, what string, of ...any) error {
		if name == "" {
			return invalidGraph(what+" has no name", of...)
		}
		if _, taken := c.slots[name]; taken {
			return invalidGraph("two values are named %s; the second is "+what, append([]any{quote.Name(name)}, of...)...)
		}
		c.slots[name] = len(c.slots)
		return nil
	}
	unfilled := map[string]*model.Type{} // inputs that no initializer has given a default yet
	for i := range c.graph.Inputs {
		in := &c.graph.Inputs[i]
		if err := name(in.Name, "an input"); err != nil {
			return err
		}
		unfilled[in.Name] = &in.Type
	}
	initializer := func(what, of string, t layout.DType, dims layout.Shape) error {
		declared, ok := unfilled[of]
		if !ok {
			return name(of, what)
		}
		delete(unfilled, of)
		if !isOf(declared, model.TensorType, t) || !fits(declared, dims) {
			return invalidGraph("the default of input %s is %v%v; the graph declares %v", quote.Name(of), t, dims, declared)
		}
		return nil
	}
	for i := range c.graph.Initializers {
		t := &c.graph.Initializers[i]
		if err := initializer("an initializer", t.Name, t.Type, t.Dims); err != nil {
			return err
		}
	}
	for i := range c.graph.SparseInitializers {
		s := &c.graph.SparseInitializers[i]
		if err := initializer("a sparse initializer", s.Values.Name, s.Values.Type, s.Dims); err != nil {
			return err
		}
	}
	fixes := c.fixesDefaults()
	for _, in := range c.graph.Inputs {
		optional := unfilled[in.Name] == nil
		c.p.inputs = append(c.p.inputs, port{name: in.Name, slot: c.slots[in.Name], host: -1, typ: in.Type, optional: optional, fixed: optional && fixes})
	}
	for _, u := range c.nodes {
		u.outs = u.node.Outputs
		if u.d.outputs.max == 1 {
			u.outs = trimAbsent(u.outs)
		}
		if n := len(u.outs); n < u.d.outputs.min || n > u.d.outputs.max {
			return invalidGraph("%v has %d outputs; %s makes %v", u, n, u.d.name, u.d.outputs)
		}
		for i, out := range u.outs {
			what := "the output of %v"
			if len(u.outs) > 1 {
				if out == "" {
					continue
				}
				what = fmt.Sprintf("output %d of %%v", i)
			}
			if err := name(out, what, u); err != nil {
				return err
			}
			c.maker[out] = u
		}
	}
	return nil
}

// trimAbsent removes the empty names at the end of a list: omitted optional inputs or
// outputs.
func trimAbsent(names []string) []string {
	for len(names) > 0 && names[len(names)-1] == "" {
		names = names[:len(names)-1]
	}
	return names
}

// link records the uses of each value.
func (c *compiler) link() error {
	for _, u := range c.nodes {
		if n := len(u.in); n < u.d.inputs.min || n > u.d.inputs.max {
			return invalidGraph("%v has %d inputs; %s takes %v", u, n, u.d.name, u.d.inputs)
		}
		for i, name := range u.in {
			if name == "" && i >= u.d.needs(len(u.in)) {
				continue
			}
			if name == "" {
				return invalidGraph("%v leaves out input %d, which %s must have", u, i, u.d.name)
			}
			if _, known := c.slots[name]; !known {
				return invalidGraph("%v: nothing makes its input %s", u, quote.Name(name))
			}
			c.uses[name] = append(c.uses[name], use{unit: u, input: i})
		}
	}
	seen := map[string]bool{}
	for _, out := range c.graph.Outputs {
		if _, known := c.slots[out.Name]; !known {
			return invalidGraph("nothing makes its output %s", quote.Name(out.Name))
		}
		if seen[out.Name] {
			return invalidGraph("output %s is listed twice", quote.Name(out.Name))
		}
		seen[out.Name] = true
		c.uses[out.Name] = append(c.uses[out.Name], use{onHost: c.wanted[out.Name]})
	}
	return nil
}

// sort orders the nodes so that each follows the nodes that make its inputs, and otherwise
// keeps the file's order.
func (c *compiler) sort() error {
	sorted := make([]*unit, 0, len(c.nodes))
	var path []*unit // each node but the first makes an input of its predecessor
	for _, u := range c.nodes {
		for path = append(path, u); len(path) > 0; {
			u := path[len(path)-1]
			if u.next == len(u.in) {
				if !u.done {
					u.done = true
					sorted = append(sorted, u)
				}
				path = path[:len(path)-1]
				continue
			}
			maker := c.maker[u.in[u.next]]
			u.next++
			switch {
			case maker == nil || maker.done:
			case maker.next > 0: // already on the path
				return invalidGraph("%v waits for its own output: there is a cycle", maker)
			default:
				path = append(path, maker)
			}
		}
	}
	c.nodes = sorted
	return nil
}

// emit writes the program's steps, with slots instead of names, and records the last use of
// each value.
func (c *compiler) emit() error {
	p := c.p
	p.slots = len(c.slots) + len(c.hostSlots)
	made := make([]bool, p.slots) // by a node: owned by the run
	for _, u := range c.nodes {
		st := step{d: u.d, kernel: u.kernel, captured: u.captured, group: u.group, keeps: u.claims, refusal: u.refusal, trouble: u.trouble, name: u.node.Name, index: u.index, path: u.path, graph: c.path, unit: c.explained(u), outputs: u.outs, host: u.host, mayDefer: c.defers(u)}
		for _, name := range u.outs {
			slot := -1
			if name != "" {
				slot = c.slots[name]
				made[slot] = true
			}
			st.out = append(st.out, slot)
		}
		for i, name := range u.in {
			slot := -1
			if name != "" {
				slot = c.slots[name]
				if h, ok := c.hostSlots[name]; ok && (use{unit: u, input: i}).side() == onHost {
					slot = h
				}
			}
			st.in = append(st.in, slot)
		}
		if u.control != nil && !c.explains {
			u.control.forget()
		}
		p.steps = append(p.steps, st)
	}
	if err := c.fold(); err != nil {
		return err
	}
	for _, k := range p.constants {
		made[k.slot] = false
	}
	for _, out := range c.graph.Outputs {
		slot := c.slots[out.Name]
		if h, ok := c.hostSlots[out.Name]; ok && c.wanted[out.Name] {
			slot = h
		}
		p.outputs = append(p.outputs, port{name: out.Name, slot: slot, typ: out.Type, made: made[slot]})
	}
	p.findEnds(made)
	return p.dropUnused()
}

// explained returns the node for an explanation. Sessions do not keep the model.
func (c *compiler) explained(u *unit) *unit {
	if c.explains {
		return u
	}
	return nil
}

// defers reports whether a node's output can stay unmade: its only user assembles its own
// output and can write this output's parts there.
func (c *compiler) defers(u *unit) bool {
	if len(u.outs) != 1 || len(c.uses[u.outs[0]]) != 1 {
		return false
	}
	user := c.uses[u.outs[0]][0].unit
	return user != nil && user.d.assembles
}
