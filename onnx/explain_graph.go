package onnx

import (
	"errors"
	"fmt"
	"slices"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/dry"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// explained is the state of one graph during the walk.
type explained struct {
	path     string
	depth    int
	model    *model.Model // with the graph
	own      int          // number of its inputs, without the values that it captures
	declared map[string]model.Type
	program  *program
	values   []Value
	fixed    []bool // slots of constants, and of values made from these alone
	room     room   // for more folded constants
}

// graph explains a graph and returns its outputs. inputs are values for its first inputs,
// and around holds the values that it captures.
func (e *explainer) graph(x *explained, c *compiler, inputs []Value, around map[string]Value) ([]Value, error) {
	if x.depth > maxNested {
		return nil, errTooDeep()
	}
	s := &program{stream: e.on}
	e.opened = append(e.opened, s)
	if err := c.compile(s, x.model); err != nil {
		if x.path != "" {
			err = fmt.Errorf("%s: %w", x.path, err)
		}
		return nil, err
	}
	x.declared, x.program, x.room = declaredIn(x.model.Graph), s, smallFolds
	x.values, x.fixed = make([]Value, s.slots), make([]bool, s.slots)
	for _, c := range s.constants {
		x.values[c.slot], x.fixed[c.slot], e.elements[c.value] = c.value, true, c.from
		x.room.grow(c.value)
	}
	e.bind(x, inputs, around)
	for _, n := range s.folded {
		if err := e.note(x.report(n, nil)); err != nil {
			return nil, err
		}
	}
	for i := range s.steps {
		if err := e.step(x, &s.steps[i]); err != nil {
			return nil, err
		}
	}
	outs := make([]Value, len(s.outputs))
	for i, p := range s.outputs {
		outs[i] = x.values[p.slot]
	}
	return outs, nil
}

// bind gives the inputs their values.
func (e *explainer) bind(x *explained, inputs []Value, around map[string]Value) {
	for i := range x.program.inputs {
		p := &x.program.inputs[i]
		x.fixed[p.slot] = false
		if p.host >= 0 {
			x.fixed[p.host] = false
		}
		v, ok := around[p.name]
		own := i < x.own
		switch {
		case own && i < len(inputs) && inputs[i] != nil:
			v = inputs[i]
		case own && p.optional && e.shapes[p.name] == nil:
			continue // uses its default
		case own || !ok:
			v = e.value(p.name, p.typ, true)
		}
		x.values[p.slot] = v
		if p.host >= 0 {
			x.values[p.host] = v
		}
	}
}

// step explains a node.
func (e *explainer) step(x *explained, st *step) error {
	ins := make([]Value, len(st.in))
	var blind *unknown
	for i, slot := range st.in {
		if slot < 0 {
			continue
		}
		ins[i] = x.values[slot]
		if u, ok := ins[i].(*unknown); ok && blind == nil {
			blind = u
		}
	}
	var n Explained
	var outs []Value
	switch {
	case st.d.opaque:
		return e.foreign(x, st, ins)
	case blind != nil:
		n, outs = e.guess(x, st, ins, "")
	default:
		var err error
		if n, outs, err = e.try(x, st, ins); err != nil {
			return err
		}
		if n.Outcome != IsWrong && x.folds(st, ins) {
			n.Outcome, n.Why, n.Bytes, n.Runtime = IsConstant, whyFolded, 0, 0
		}
	}
	if claimed := st.unit.claimed; claimed != "" && n.Outcome != IsWrong {
		n.Outcome, n.Why, n.Bytes, n.Runtime = IsForeign, "an engine's: "+claimed, 0, 0
		for i, v := range outs {
			if !absent(v) && !isOnHost(v) {
				outs[i] = e.value(st.outputs[i], typeOf(v), true)
			}
		}
	}
	if n.Outcome == IsCopy && st.d.overwrites && slices.Contains(st.given, st.in[0]) {
		n.Why += "; only the updates are written, in place, if input " + quote.Name(x.inputOf(st.in[0])) + " is given away (Donate)"
	}
	x.put(st, outs)
	return e.note(n)
}

// inputOf returns the name of the input in a slot.
func (x *explained) inputOf(slot int) string {
	for i := range x.program.inputs {
		if x.program.inputs[i].slot == slot {
			return x.program.inputs[i].name
		}
	}
	return ""
}

// folds reports whether a session would compute a node at load time, and reserves room for
// the result.
func (x *explained) folds(st *step, ins []Value) bool {
	for _, slot := range st.in {
		if slot >= 0 && !x.fixed[slot] {
			return false
		}
	}
	need, ok := x.room.has(st.d, ins)
	if !ok {
		return false
	}
	x.room -= need
	for _, slot := range st.out {
		if slot >= 0 {
			x.fixed[slot] = true
		}
	}
	return true
}

// put stores the outputs of a node in their slots.
func (x *explained) put(st *step, outs []Value) {
	for i, slot := range st.out {
		if slot >= 0 && i < len(outs) {
			x.values[slot] = outs[i]
		}
	}
}

// home returns the stream of outputs that depend on no operand.
func (e *explainer) home(st *step) *tensor.Stream {
	if st.host {
		return tensor.Host()
	}
	return e.on
}

// try runs a node on the dry device. If the node needs unknown elements, its outcome is
// guessed; out of memory is the only error.
func (e *explainer) try(x *explained, st *step, ins []Value) (Explained, []Value, error) {
	c := &e.call
	*c = call{d: st.d, in: ins, out: make([]Value, len(st.out)), home: e.home(st), last: st.last, mayDefer: st.mayDefer, noText: true}
	err := c.run(st.kernel)
	switch {
	case errors.Is(err, budget.ErrOutOfMemory):
		return Explained{}, nil, st.fail(err)
	case errors.Is(err, dry.ErrRead):
		n, outs := e.guess(x, st, ins, "the elements of an input are not known")
		return n, outs, nil
	case err != nil:
		n, outs := e.guess(x, st, ins, "")
		n.Outcome, n.Why, n.Bytes, n.Runtime = IsWrong, err.Error(), 0, 0
		return n, outs, nil
	}
	n := x.report(st.report(c), st)
	for _, v := range c.out {
		e.hold(v)
	}
	return n, c.out, nil
}

// report converts a node's report.
func (x *explained) report(r NodeReport, st *step) Explained {
	n := Explained{Graph: joined(x.path, r.Graph), Index: r.Index, Name: r.Name, Op: r.Op, Why: r.Why, Outcome: r.Outcome()}
	if st != nil {
		n.Inputs = st.unit.node.Inputs
		if st.host && n.Outcome == IsElided {
			n.Outcome = IsHost
		}
	}
	for _, m := range append([]OutputInfo{r.OutputInfo}, r.More...) {
		n.Outputs = append(n.Outputs, Typed{m.Output, m.TypeString()})
	}
	if n.Outcome == IsCopy {
		n.Bytes = r.Bytes
	}
	if n.Outcome != IsHost { // a node elided there has outcome host here
		n.Runtime = r.RuntimeBytes()
	}
	return n
}

// Outcome returns the node's verdict as an Outcome.
func (n NodeReport) Outcome() Outcome {
	switch {
	case n.Foreign:
		return IsForeign
	case n.Kind == tensor.Transfer:
		return IsConstant
	case n.Sent+n.Read > 0:
		return IsTransfer
	case n.Elided:
		return IsElided
	case n.Host:
		return IsHost
	case n.Kind == tensor.Copy:
		return IsCopy
	}
	return IsView
}

// guess explains a node some of whose inputs are unknown.
func (e *explainer) guess(x *explained, st *step, ins []Value, because string) (Explained, []Value) {
	n := x.opening(st)
	var dense bool
	n.Outcome, n.Why, dense = ruleOf(st, ins)
	if n.Outcome == IsCopy && sends(st, ins) {
		n.Outcome, n.Why = IsTransfer, n.Why+"; operands are sent to the device"
	}
	if because != "" {
		n.Why += "; " + because
	}
	outs := e.outputs(x, st, ins, dense)
	types := make([]model.Type, len(outs))
	for i, v := range outs {
		types[i] = typeOf(v)
		n.Outputs = append(n.Outputs, Typed{st.outputs[i], types[i].String()})
		if b := bytesOf(types[i]); n.Outcome == IsCopy && n.Bytes != Unknown {
			if n.Bytes += b; b == Unknown {
				n.Bytes = Unknown
			}
		}
	}
	if n.Outcome == ViewUnless {
		n.Bytes = Unknown
	}
	if n.Outcome != IsHost {
		n.Runtime = runtimeBytes(st.d.name, types)
	}
	return n, outs
}

func (x *explained) opening(st *step) Explained {
	return Explained{Graph: joined(x.path, st.path), Index: st.index, Name: st.name, Op: st.d.name, Inputs: st.unit.node.Inputs}
}

// outputs makes placeholder outputs of a node from declared types and its inputs. Values
// computed on the host have unknown elements and are never on the
// device, whatever their declared type.
func (e *explainer) outputs(x *explained, st *step, ins []Value, dense bool) []Value {
	outs := make([]Value, len(st.outputs))
	types := e.typesBy(st, ins)
	if types == nil {
		types = e.inferred(x, st, ins)
	}
	value := e.value
	if st.host {
		value = func(name string, t model.Type, dense bool) Value { return &unknown{e.completed(name, t), dense, true} }
	}
	for i, name := range st.outputs {
		outs[i] = value(name, types[i], dense)
	}
	return outs
}

// typesBy returns the types of a node's outputs by its operator's own rule, if the types of
// all inputs are known; inputs with unknown strides are treated as contiguous. Otherwise it
// returns nil.
func (e *explainer) typesBy(st *step, ins []Value) []model.Type {
	if st.d.opaque {
		return nil
	}
	known := make([]Value, len(ins))
	for i, v := range ins {
		if u, ok := v.(*unknown); ok {
			if v = e.value("", u.typ, true); isUnknown(v) {
				return nil
			}
		}
		known[i] = v
	}
	c := &e.call
	*c = call{d: st.d, in: known, out: make([]Value, len(st.out)), home: e.home(st), noText: true}
	if c.run(st.kernel) != nil {
		return nil
	}
	types := make([]model.Type, len(c.out))
	for i, v := range c.out {
		types[i] = typeOf(e.hold(v))
	}
	return types
}

func isUnknown(v Value) bool {
	_, ok := v.(*unknown)
	return ok
}
