package core

import (
	"reflect"

	"github.com/pkg/errors"
)

// Graph records a computation, and builds it with the Go backend at the same time, as its
// shadow, which checks all operations and knows their shapes. Values are the shadow's, so that
// a program may also pass them to operations that are not recorded: a computation that uses
// results of those runs on the Go backend as a whole.
type Graph struct {
	b        *Backend
	name     string
	shadow   Computation
	nodes    int
	known    map[Value]*output
	params   []*output
	names    []string
	whole    string // why the shadow must run everything: an operation, or a dynamic shape
	alone    string // an operation that the shadow cannot run
	returned []Value
	done     bool // Return was called
	compiled bool
}

// NewGraph records a computation whose shadow is given.
func NewGraph(b *Backend, name string, shadow Computation) *Graph {
	return &Graph{b: b, name: name, shadow: shadow, known: map[Value]*output{}}
}

// Parameter adds a parameter.
func (g *Graph) Parameter(name string, of Array) (Value, error) {
	if of.DType == 0 {
		return nil, g.b.lacks("parameter %q of shape %s, whose type Restride lacks", name, of.Shape)
	}
	v, err := g.Record1(&Node{kind: parameter, op: "Parameter"}, func(to Computation, _ []Value) ([]Value, error) {
		v, err := to.Parameter(name, of)
		return []Value{v}, err
	})
	if err != nil {
		return nil, err
	}
	g.params, g.names = append(g.params, g.known[v]), append(g.names, name)
	return v, nil
}

// Constant adds a constant. build makes it from flat, which is a copy.
func (g *Graph) Constant(flat any, of Array, build func(g Computation, flat any) (Value, error)) (Value, error) {
	if err := g.b.checkFlat(flat, of); err != nil {
		return nil, errors.WithMessage(err, "Constant")
	}
	own := makeFlat(of) // the caller may change flat afterwards
	copy(bytesOf(own), bytesOf(flat))
	return g.Record1(&Node{kind: constant, op: "Constant", flat: own}, func(c Computation, _ []Value) ([]Value, error) {
		v, err := build(c, own)
		return []Value{v}, err
	})
}

// open refuses operations after Return.
func (g *Graph) open(op string) error {
	if g.compiled {
		return errors.Errorf("restride: %s: %q was compiled before", op, g.name)
	}
	if g.done {
		return errors.Errorf("restride: %s: function %q has returned", op, g.name)
	}
	return nil
}

// operands returns what is recorded of values; known is false if some are results of operations
// that are not recorded.
func (g *Graph) operands(op string, in []Value) (xs []*output, known bool, err error) {
	xs, known = make([]*output, len(in)), true
	for i, v := range in {
		if v == nil {
			continue
		}
		if xs[i] = g.lookup(v); xs[i] != nil {
			continue
		}
		known = false
		xs[i] = &output{node: &Node{op: "not recorded"}}
		if xs[i].of, err = g.describe(v); err != nil {
			return nil, false, errors.WithMessagef(err, "restride: %s: operand %d, %T, is a value of another computation", op, i, v)
		}
	}
	return xs, known, nil
}

// lookup returns what is recorded of a value, or nil.
func (g *Graph) lookup(v Value) *output {
	if !reflect.TypeOf(v).Comparable() {
		return nil
	}
	return g.known[v]
}

// describe is the shadow's Describe, which may panic.
func (g *Graph) describe(v Value) (of Array, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.Errorf("%v", r)
		}
	}()
	return g.shadow.Describe(v)
}

// Describe describes an operand.
func (g *Graph) Describe(v Value) (Array, error) {
	xs, _, err := g.operands("Shape", []Value{v})
	if err == nil && xs[0] == nil {
		err = errors.New("restride: the value is nil")
	}
	if err != nil {
		return Array{}, err
	}
	return xs[0].of, nil
}

// Record adds a node to the graph, and to the shadow, which may already know one of its
// results: then that is the result.
func (g *Graph) Record(n *Node, build Build, in ...Value) (out []Value, err error) {
	if err := g.open(n.op); err != nil {
		return nil, err
	}
	xs, known, err := g.operands(n.op, in)
	if err != nil {
		return nil, err
	}
	n.in, n.number, n.build = xs, g.nodes, build
	defer func() { // the Go backend's shapes panic
		if r := recover(); r != nil {
			out, err = nil, errors.Errorf("restride: %s: %v", n, r)
		}
	}()
	if n.kind == lone && n.infer != nil {
		err = g.b.NotImplemented()
	} else {
		out, err = build(g.shadow, in)
	}
	if err != nil && n.infer != nil && errors.Is(err, g.b.NotImplemented()) {
		out, err = g.stand(n)
	}
	if err != nil {
		return nil, errors.WithMessagef(err, "restride: %s", n)
	}
	g.nodes++
	if !known {
		g.whole = n.op + " of a result that is not recorded"
	}
	for _, v := range out {
		of, err := g.shadow.Describe(v)
		if err != nil {
			return nil, err
		}
		if of.Open() {
			g.whole = "a dynamic shape"
		}
		x := g.known[v]
		if x == nil {
			x = &output{node: n, of: of}
			g.known[v] = x
		}
		n.out = append(n.out, x)
	}
	return out, nil
}

// Record1 is Record of a node with one result, which is nil after an error.
func (g *Graph) Record1(n *Node, build Build, in ...Value) (Value, error) {
	out, err := g.Record(n, build, in...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// stand makes a parameter of the shadow that stands for the result of an operation that the Go
// backend lacks.
func (g *Graph) stand(n *Node) ([]Value, error) {
	of := make([]Array, len(n.in))
	for i, x := range n.in {
		if x == nil {
			return nil, errors.Errorf("operand %d is nil", i)
		}
		of[i] = x.of
	}
	to, err := n.infer(of)
	if err != nil {
		return nil, err
	}
	n.kind = lone
	v, err := g.shadow.Parameter(n.op, g.b.Array(to.DType, to.Dims))
	if err == nil {
		g.alone = n.op
	}
	return []Value{v}, err
}

// Return sets the results.
func (g *Graph) Return(results []Value) error {
	if g.done {
		return errors.Errorf("restride: Return was called before, of function %q", g.name)
	}
	if len(results) == 0 {
		return errors.Errorf("restride: %q without outputs", g.name)
	}
	for i, v := range results {
		if v == nil {
			return errors.Errorf("restride: output %d of %q is nil", i, g.name)
		}
		if _, err := g.Describe(v); err != nil {
			return err
		}
	}
	g.returned, g.done = results, true
	return nil
}

// Compile plans the computation, after Return.
func (g *Graph) Compile() (*Executable, error) {
	if err := g.b.Check(0); err != nil {
		return nil, err
	}
	switch {
	case g.compiled:
		return nil, errors.Errorf("restride: %q was compiled before", g.name)
	case !g.done:
		return nil, errors.Errorf("restride: the main function of %q has not returned", g.name)
	}
	xs, known, err := g.operands("Return", g.returned)
	if err != nil {
		return nil, err
	}
	if !known {
		g.whole = "a result that is not recorded"
	}
	if g.whole != "" && g.alone != "" {
		return nil, g.b.lacks("%q has %s, and %s beside it", g.name, g.alone, g.whole)
	}
	g.compiled = true
	return newExecutable(g, xs, g.returned)
}

// One records a node of one result.
func One[G any](g *Graph, n *Node, do func(to G, in []Value) (any, error), in ...Value) (Value, error) {
	return g.Record1(n, func(to Computation, in []Value) ([]Value, error) {
		v, err := do(to.(G), in)
		return []Value{v}, err
	}, in...)
}

// Cast asserts that values are of GoMLX's type V.
func Cast[V any](in []Value) []V {
	out := make([]V, len(in))
	for i, v := range in {
		if v != nil {
			out[i] = v.(V)
		}
	}
	return out
}

// Values converts values of GoMLX's type, after others.
func Values[V any](in []V, first ...Value) []Value {
	for _, v := range in {
		first = append(first, v)
	}
	return first
}
