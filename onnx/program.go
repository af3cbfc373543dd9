package onnx

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// program is a compiled graph, shared by sessions on several streams.
type program struct {
	stream    *tensor.Stream // for loading constants
	inputs    []port
	outputs   []port
	steps     []step
	constants []held       // until sessions own them
	folded    []NodeReport // Constant nodes
	slots     int
	ends      []int // per slot: the last step that uses it, or -1
	runs      sync.Pool
	bodies    []*program     // graphs in nodes
	closers   []func() error // of the engines' operators
	engine    bool           // some nodes are an engine's
	sessions  atomic.Int64   // number of sessions that share it
}

// port is an input or output of the graph.
type port struct {
	name     string
	slot     int
	host     int // slot of an input whose default is also on the host; otherwise -1
	typ      model.Type
	optional bool // an input with a default
	fixed    bool // the engine has the default as a constant
	made     bool // an output of a node, not an input or constant
}

// step is an executable node.
type step struct {
	d      *definition
	kernel kernel
	in     []int  // slots; -1: omitted
	out    []int  // slots; -1: not wanted
	free   []int  // slots not used after this step
	last   []bool // per input: its slot is not used after this step
	given  []int  // slots of graph inputs not used after this step
	host   bool   // outputs that depend on no operand are made on the host
	// mayDefer: the output's only user can write it directly into its own output.
	mayDefer bool

	index    int
	path     string // of a function's node: the node that calls it
	graph    string // path of the graph in a node that it belongs to
	name     string
	outputs  []string
	captured []string // by bodies: the last inputs
	group    []int    // its nodes, if it is an engine's group
	keeps    []Kept   // the nodes of its group that the session could run
	refusal  error    // why the engine does not run it with the session's nodes that it claimed
	trouble  error    // why it is opaque, though its operator is known
	unit     *unit    // in an explanation: the node
}

// held is a value that the session keeps for all runs.
type held struct {
	slot  int
	value *tensor.Tensor
	from  *model.Tensor // in an explanation: its elements
}

// findEnds records the last step that uses each slot. For outputs of nodes, the run
// releases them there.
func (p *program) findEnds(made []bool) {
	p.ends = make([]int, p.slots)
	for slot := range p.ends {
		p.ends[slot] = -1
	}
	for i := range p.outputs {
		p.ends[p.outputs[i].slot] = graphsOutput
	}
	given := make([]bool, p.slots)
	for i := range p.inputs {
		given[p.inputs[i].slot] = p.inputs[i].host < 0 // otherwise another slot has it too
	}
	for i := range slices.Backward(p.steps) {
		st := &p.steps[i]
		for _, slot := range slices.Concat(st.in, st.out) {
			if slot < 0 || p.ends[slot] >= 0 {
				continue
			}
			switch p.ends[slot] = i; {
			case made[slot]:
				st.free = append(st.free, slot)
			case given[slot]:
				st.given = append(st.given, slot)
			}
		}
		st.last = make([]bool, len(st.in))
		for k, slot := range st.in {
			st.last[k] = slot >= 0 && made[slot] && p.ends[slot] == i
		}
	}
}

// dropUnused releases constants used only to make other constants.
func (p *program) dropUnused() error {
	used := make([]bool, p.slots)
	for i := range p.inputs {
		used[p.inputs[i].slot] = true
		if h := p.inputs[i].host; h >= 0 {
			used[h] = true
		}
	}
	var errs []error
	kept := p.constants[:0]
	for _, c := range p.constants {
		if used[c.slot] || p.ends[c.slot] >= 0 {
			kept = append(kept, c)
		} else {
			errs = release(errs, c.value)
		}
	}
	p.constants = kept
	return errors.Join(errs...)
}

// all yields the program and the programs of graphs in nodes.
func (p *program) all(yield func(*program) bool) { p.each(yield) }

func (p *program) each(yield func(*program) bool) bool {
	if !yield(p) {
		return false
	}
	for _, b := range p.bodies {
		if !b.each(yield) {
			return false
		}
	}
	return true
}

// foreign reports whether an engine runs any of its nodes.
func (p *program) foreign() bool {
	for each := range p.all {
		if each.engine {
			return true
		}
	}
	return false
}

// join adds a session, unless the last one has been closed.
func (p *program) join() bool {
	for {
		n := p.sessions.Load()
		if n == 0 {
			return false
		}
		if p.sessions.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// close releases constants that no session owns, and closes the engines' operators.
func (p *program) close() error {
	var errs []error
	for each := range p.all {
		for _, c := range each.constants {
			errs = release(errs, c.value)
		}
		for _, closer := range each.closers {
			errs = append(errs, closer())
		}
	}
	return errors.Join(errs...)
}

// checkInput refuses a name that is not an input.
func (p *program) checkInput(op, name string) error {
	for _, in := range p.inputs {
		if in.name == name {
			return nil
		}
	}
	return layout.Errorf(device.ErrInvalid, op, "the graph has no input %s; it has %s", quote.Name(name), listedPorts(p.inputs))
}

// listedPorts lists the names of inputs or outputs for an error.
func listedPorts(ports []port) string {
	names := make([]string, len(ports))
	for i := range ports {
		names[i] = ports[i].name
	}
	return listed(names)
}

// accepts reports whether a value matches the declared type, as far as that goes, and the
// declared extents if extents is set.
func (p *port) accepts(v Value, extents bool) bool {
	switch v := v.(type) {
	case *tensor.Tensor:
		if !isOf(&p.typ, model.TensorType, v.DType()) {
			return false
		}
		var few [8]int64
		return !extents || fits(&p.typ, v.AppendDims(few[:0]))
	case *Sequence:
		return isOf(&p.typ, model.SequenceType, v.Elem)
	case *Optional:
		return isOf(&p.typ, model.OptionalType, v.Elem)
	}
	return false
}

// wrapped returns a value as an optional if the input is declared as one, for loops that
// carry one on as its content. The content remains the caller's.
func (p *port) wrapped(v Value) Value {
	if _, ok := v.(*Optional); ok || p.typ.Kind != model.OptionalType {
		return v
	}
	return &Optional{Elem: elemOfValue(v), Value: v}
}

// isOf reports whether a declared type allows values of a kind and element
// type.
func isOf(t *model.Type, kind model.TypeKind, elem layout.DType) bool {
	want := elemOf(t)
	return t.Kind == model.UnknownType || t.Kind == kind && (want == layout.Invalid || want == elem)
}

// fits reports whether a tensor's declared type allows these extents.
func fits(t *model.Type, dims []int64) bool {
	if !t.HasShape {
		return true
	}
	if len(dims) != len(t.Dims) {
		return false
	}
	for i := range dims {
		if want := t.Dims[i].Value; want >= 0 && want != dims[i] {
			return false
		}
	}
	return true
}

// fail adds the node's name to an error.
func (st *step) fail(err error) error {
	return fmt.Errorf("%s: %w", st.label(), err)
}

// String names the node and its operator, for late errors.
func (st *step) String() string { return joined(st.graph, st.label()) + ": " + st.d.name }

func (st *step) label() string { return joined(st.path, nodeLabel(st.index, st.d.op, st.name)) }
