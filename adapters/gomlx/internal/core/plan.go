package core

import (
	"maps"
	"slices"
)

// A plan alternates: layout operations on the device, then operations of the Go backend, as
// many as possible before the next layout operation, in one execution; and so on.
//
// Constants, broadcasts and iotas are made again in each execution of the Go backend that uses
// them, so that only their sources are transferred. A reshape follows its operand: on the Go
// backend it moves nothing, and as a view it moves nothing here. So do layout operations of a
// few bytes, where both share memory: another execution of the Go backend would cost more.
type planner struct {
	g        *Graph
	home     map[*output]bool // see madeInGo
	levels   map[*output]int  // see level
	turns    map[*Node]int    // of nodes of the Go backend, see turn
	tensors  map[*output]bool // wanted as tensors
	goNodes  map[*Node]bool   // needed by the Go backend, with the nodes that it makes itself
	exported map[*output]bool // results of the Go backend that are used outside the execution that makes them
}

func newPlanner(g *Graph) *planner {
	return &planner{g: g, home: map[*output]bool{}, levels: map[*output]int{}, turns: map[*Node]int{},
		tensors: map[*output]bool{}, goNodes: map[*Node]bool{}, exported: map[*output]bool{}}
}

// madeInGo reports whether the Go backend makes x itself where it uses it.
func (p *planner) madeInGo(x *output) bool {
	if is, ok := p.home[x]; ok {
		return is
	}
	is := false
	switch x.node.kind {
	case fallback, constant, spread:
		is = true
	case follows:
		is = p.madeInGo(x.node.in[0])
	case onDevice:
		is = x.of.bytes() < p.g.b.Few && p.allInGo(x.node.in)
	}
	p.home[x] = is
	return is
}

func (p *planner) allInGo(xs []*output) bool {
	return !slices.ContainsFunc(xs, func(x *output) bool { return !p.madeInGo(x) })
}

// level is the number of the turn whose layout operations can use x as a tensor.
func (p *planner) level(x *output) int {
	if level, ok := p.levels[x]; ok {
		return level
	}
	level := 0
	if x.node.kind == fallback {
		level = p.turn(x.node) + 1
	} else {
		for _, in := range x.node.in {
			level = max(level, p.level(in))
		}
	}
	p.levels[x] = level
	return level
}

// turn is the number of the turn in which the Go backend can run n.
func (p *planner) turn(n *Node) int {
	if turn, ok := p.turns[n]; ok {
		return turn
	}
	turn := 0
	for _, in := range n.in {
		if in != nil {
			turn = max(turn, p.reach(in))
		}
	}
	p.turns[n] = turn
	return turn
}

// reach is the number of the turn in which the Go backend can use x.
func (p *planner) reach(x *output) int {
	if x.node.kind == fallback || p.madeInGo(x) {
		return p.turn(x.node)
	}
	return p.level(x)
}

// wantTensor marks everything that is needed to have x as a tensor.
func (p *planner) wantTensor(x *output) {
	if p.tensors[x] {
		return
	}
	p.tensors[x] = true
	if x.node.kind == fallback {
		p.exported[x] = true
		p.wantNode(x.node)
		return
	}
	for _, in := range x.node.in {
		p.wantTensor(in)
	}
}

// wantNode marks that n runs on the Go backend, and everything that it needs.
func (p *planner) wantNode(n *Node) {
	if p.goNodes[n] {
		return
	}
	p.goNodes[n] = true
	for _, in := range n.in {
		switch {
		case in == nil:
		case p.madeInGo(in):
			p.wantNode(in.node)
		case in.node.kind != parameter:
			p.wantTensor(in)
		}
	}
}

// plan is a computation, ready to run. Arrays have numbers: slots.
type plan struct {
	slots     []slot
	steps     []step
	params    []int // slots
	outputs   []int
	constants []constantSlot
}

// constantSlot is an array that does not depend on parameters: it is made once.
type constantSlot struct {
	slot int
	node *Node
}

// slot describes the uses of an array.
type slot struct {
	to       Array
	inTensor bool // a step uses its tensor
	inGo     bool // the Go backend uses it
	output   bool
	fixed    bool // a parameter, or a constant
	last     int  // the step of its last use
}

// step is a layout operation, or an execution of the Go backend.
type step struct {
	node *Node // the layout operation
	exec Program
	ops  map[string]int64 // the operations of the execution, by name

	counters []counter // of them

	in   []int
	out  []int
	done []int // slots without further uses
}

// count notes an operation of an execution.
func (s *step) count(n *Node) {
	if n.kind != parameter && n.kind != constant {
		s.ops[n.op]++
	}
}

// byNumber sorts nodes in order of creation, in which operands come before results.
func byNumber(nodes []*Node) []*Node {
	slices.SortFunc(nodes, func(a, b *Node) int { return a.number - b.number })
	return nodes
}

// draft is an unfinished plan.
type draft struct {
	*planner
	plan *plan
	at   map[*output]int // slots
}

// slot returns the number of an array.
func (d *draft) slot(x *output) int {
	i, ok := d.at[x]
	if !ok {
		i = len(d.plan.slots)
		d.at[x] = i
		d.plan.slots = append(d.plan.slots, slot{to: x.of, fixed: x.node.kind == parameter, last: -1})
	}
	return i
}

func (d *draft) constant(x *output) constantSlot {
	i := d.slot(x)
	d.plan.slots[i].fixed = true
	return constantSlot{i, x.node}
}

// newPlan plans a computation whose results are returned, the shadow's values.
func newPlan(g *Graph, returned []*output, values []Value) (*plan, error) {
	d := &draft{newPlanner(g), &plan{}, map[*output]int{}}
	for _, x := range g.params {
		d.plan.params = append(d.plan.params, d.slot(x))
	}
	for _, x := range returned {
		if x.node.kind == fallback {
			d.exported[x] = true
			d.wantNode(x.node)
		} else {
			d.wantTensor(x)
		}
	}
	var err error
	if g.whole != "" || g.alone == "" && !d.pays() {
		err = d.planWhole(returned, values)
	} else {
		err = d.planTurns()
		for _, x := range returned {
			d.plan.outputs = append(d.plan.outputs, d.slot(x))
		}
	}
	if err != nil {
		return nil, err
	}
	for _, i := range d.plan.outputs {
		d.plan.slots[i].output = true
	}
	d.plan.finish()
	return d.plan, nil
}

// What layout operations of a computation gain and cost where both share memory, about, in
// picoseconds: the Go backend moves an element at a time.
const (
	gainPerByteOfView = 2_000      // transpositions, slices
	gainPerByteOfFill = 700        // joins, conversions
	costPerOperation  = 2_500_000  // a tensor over its memory, and a view or a copy
	costPerTurn       = 12_000_000 // another execution of the Go backend
)

// pays reports whether there are layout operations to run on the device, rather than all of the
// computation on the Go backend.
func (d *draft) pays() bool {
	if len(d.goNodes) == 0 {
		return true
	}
	gain, operations := int64(0), 0
	for x := range d.tensors {
		switch x.node.kind {
		case parameter, constant, fallback:
			continue
		case onDevice:
			perByte := int64(gainPerByteOfView)
			if x.node.fill != nil {
				perByte = gainPerByteOfFill
			}
			gain += perByte * x.of.bytes()
		case lone: // the Go backend has other results
			return true
		}
		operations++
	}
	if d.g.b.host == nil || d.g.b.Few == 0 {
		return operations > 0
	}
	turns := map[int]bool{}
	for n := range d.goNodes {
		if n.kind == fallback {
			turns[d.turn(n)] = true
		}
	}
	return gain > int64(costPerOperation*operations+costPerTurn*(len(turns)-1))
}

// planWhole plans one execution of the Go backend: the shadow's, if some values are not
// recorded. Each distinct result has its own slot.
func (d *draft) planWhole(returned []*output, values []Value) (err error) {
	e := &emitter{draft: d, to: d.g.shadow, step: &step{in: d.plan.params, ops: map[string]int64{}}}
	nodes := d.needed()
	if d.g.whole == "" {
		e = d.emitter(0, nodes)
		e.all = true
		for _, n := range nodes {
			if err := e.node(n); err != nil {
				return err
			}
		}
		values = slices.Clone(values)
		for i, x := range returned {
			if values[i], err = e.value(x); err != nil {
				return err
			}
		}
	} else {
		for _, n := range nodes {
			e.step.count(n)
		}
	}
	seen := map[Value]int{}
	var results []Value
	for i, v := range values {
		at, again := seen[v]
		if !again {
			at = d.slot(&output{node: &Node{op: "Identity"}, of: returned[i].of})
			seen[v] = at
			results, e.step.out = append(results, v), append(e.step.out, at)
		}
		d.plan.outputs = append(d.plan.outputs, at)
	}
	e.step.exec, err = e.to.Compile(results)
	d.plan.steps = []step{*e.step}
	return err
}

// needed returns the nodes of the computation, except parameters.
func (d *draft) needed() (nodes []*Node) {
	all := maps.Clone(d.goNodes)
	for x := range d.tensors {
		all[x.node] = true
	}
	for n := range all {
		if n.kind != parameter {
			nodes = append(nodes, n)
		}
	}
	return byNumber(nodes)
}

// planTurns plans the turns. The Go backend's executions are built from the last one on, so
// that the required outputs of earlier ones are known.
func (d *draft) planTurns() error {
	last := 0
	layouts := map[int][]*Node{}
	groups := map[int][]*Node{}
	for x := range d.tensors {
		switch x.node.kind {
		case parameter, fallback:
		default:
			if len(x.node.in) == 0 {
				d.plan.constants = append(d.plan.constants, d.constant(x))
				continue
			}
			level := d.level(x)
			last = max(last, level)
			layouts[level] = append(layouts[level], x.node)
		}
	}
	for n := range d.goNodes {
		if n.kind != fallback {
			continue
		}
		turn := d.turn(n)
		last = max(last, turn)
		groups[turn] = append(groups[turn], n)
	}
	executions := make([]*step, last+1)
	for turn := last; turn >= 0; turn-- {
		if nodes := byNumber(groups[turn]); len(nodes) > 0 {
			s, err := d.group(turn, nodes)
			if err != nil {
				return err
			}
			executions[turn] = s
		}
	}
	for turn, s := range executions {
		for _, n := range byNumber(layouts[turn]) {
			l := step{node: n, out: []int{d.slot(n.out[0])}}
			for _, x := range n.in {
				l.in = append(l.in, d.slot(x))
			}
			d.plan.steps = append(d.plan.steps, l)
		}
		if s != nil {
			d.plan.steps = append(d.plan.steps, *s)
		}
	}
	return nil
}

// group builds an execution of the Go backend.
func (d *draft) group(turn int, nodes []*Node) (*step, error) {
	e := d.emitter(turn, nodes)
	for _, n := range nodes {
		if err := e.node(n); err != nil {
			return nil, err
		}
	}
	var results []Value
	for _, n := range nodes {
		for _, x := range n.out {
			if d.exported[x] && e.values[x] != nil {
				results = append(results, e.values[x])
				e.step.out = append(e.step.out, d.slot(x))
			}
		}
	}
	var err error
	e.step.exec, err = e.to.Compile(results)
	return e.step, err
}

// smallArrays is the mean number of bytes of a computation's arrays below which the Go backend
// runs one operation after another: a goroutine for each would cost more than it saves. The work
// of a convolution does not follow from the sizes of its arrays.
const smallArrays = 16 << 10

// emitter returns an emitter of nodes.
func (d *draft) emitter(turn int, nodes []*Node) *emitter {
	bytes, arrays, heavy := int64(0), int64(0), false
	for _, n := range nodes {
		heavy = heavy || n.op == "ConvGeneral"
		for _, x := range n.out {
			bytes += x.of.bytes()
			arrays++
		}
	}
	return &emitter{draft: d, turn: turn, to: d.g.b.Builder(d.g.name, !heavy && bytes < smallArrays*arrays),
		values: map[*output]Value{}, step: &step{ops: map[string]int64{}}}
}

// emitter builds nodes again, in a separate function of the Go backend.
type emitter struct {
	*draft
	turn   int
	all    bool // the Go backend makes everything but parameters
	to     Computation
	values map[*output]Value
	step   *step
}

func (e *emitter) node(n *Node) error {
	if e.values[n.out[0]] != nil {
		return nil
	}
	in := make([]Value, len(n.in))
	for i, x := range n.in {
		if x == nil {
			continue
		}
		var err error
		if in[i], err = e.value(x); err != nil {
			return err
		}
	}
	e.step.count(n)
	values, err := n.build(e.to, in)
	if err != nil {
		return err
	}
	for i, x := range n.out {
		e.values[x] = values[i]
	}
	return nil
}

// value returns an operand: made here, or transferred as a parameter.
func (e *emitter) value(x *output) (Value, error) {
	if v := e.values[x]; v != nil {
		return v, nil
	}
	if e.all && x.node.kind != parameter || x.node.kind == fallback && e.turns[x.node] == e.turn || x.node.kind != fallback && e.madeInGo(x) {
		err := e.node(x.node)
		return e.values[x], err
	}
	if x.node.kind == fallback {
		e.exported[x] = true
	}
	v, err := e.to.Parameter("", x.of)
	e.values[x] = v
	e.step.in = append(e.step.in, e.slot(x))
	return v, err
}

// finish records the uses of arrays, and their last ones.
func (p *plan) finish() {
	for i, s := range p.steps {
		for _, in := range s.in {
			p.slots[in].last = i
			if s.node != nil {
				p.slots[in].inTensor = true
			} else {
				p.slots[in].inGo = true
			}
		}
		for _, out := range s.out {
			p.slots[out].last = max(p.slots[out].last, i)
		}
	}
	for i, s := range p.slots {
		if !s.output && s.last >= 0 {
			p.steps[s.last].done = append(p.steps[s.last].done, i)
		}
	}
}

// count returns the numbers of layout operations, and of executions of the Go backend.
func (p *plan) count() (layouts, runs int) {
	for _, s := range p.steps {
		if s.node != nil {
			layouts++
		} else {
			runs++
		}
	}
	return layouts, runs
}

// transfers returns the number of bytes moved between the Go backend and a device with its own
// memory.
func (p *plan) transfers() (toHost, toDevice int64) {
	inGo := map[int]bool{} // made by the Go backend
	for _, s := range p.steps {
		if s.node != nil {
			continue
		}
		for _, slot := range s.in {
			if x := p.slots[slot]; !inGo[slot] {
				toHost += x.to.bytes()
			}
		}
		for _, slot := range s.out {
			inGo[slot] = true
			if x := p.slots[slot]; x.inTensor {
				toDevice += x.to.bytes()
			}
		}
	}
	return toHost, toDevice
}
