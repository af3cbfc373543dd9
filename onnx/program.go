package onnx

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// program is a compiled graph, which sessions on several streams share.
type program struct {
	stream    *tensor.Stream // that constants are loaded on
	inputs    []port
	outputs   []port
	steps     []step
	constants []held       // until a session has them
	folded    []NodeReport // Constant nodes
	slots     int
	ends      []int // of each slot: the last step that uses it; -1: none
	runs      sync.Pool
	bodies    []*program     // of nodes' graphs
	closers   []func() error // of engines' operators
	engine    bool           // it has some
	sessions  atomic.Int64   // that share it
}

// port is an input or output of the graph.
type port struct {
	name     string
	slot     int
	host     int // the slot of an input whose default is on the host too; else -1
	typ      model.Type
	optional bool // an input with a default
	made     bool // an output that a node makes; else it is an input or constant
}

// step is a node that runs.
type step struct {
	d      *definition
	kernel kernel
	in     []int  // slots; -1: left out
	out    []int  // slots; -1: not wanted
	free   []int  // slots that nobody uses after this step
	last   []bool // of each input: its slot is free after this step
	given  []int  // slots of the graph's inputs that nobody uses after this step
	host   bool   // it makes what it makes of no operand on the host
	// mayDefer: the output's only user can write it straight into its own.
	mayDefer bool

	index    int
	name     string
	outputs  []string
	captured []string // by bodies: the last inputs
	group    []int    // the nodes that it runs, if they are an engine's group
	trouble  error    // why it is opaque, though its operator is known
}

// held is a value that the session keeps for all runs.
type held struct {
	slot  int
	value *tensor.Tensor
}

// findEnds notes the last step that uses each slot. Of what nodes make it is where the run
// releases it.
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
		given[p.inputs[i].slot] = p.inputs[i].host < 0 // else another slot has it, too
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

// dropUnused releases constants that only other constants were made of.
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

// all yields the program and those of nodes' graphs.
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

// foreign reports whether an engine runs any of it.
func (p *program) foreign() bool {
	for each := range p.all {
		if each.engine {
			return true
		}
	}
	return false
}

// join adds a session, unless the last one is closed.
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

// close releases constants that no session has, and closes the engines' operators.
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
