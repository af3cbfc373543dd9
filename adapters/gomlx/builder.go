package gomlx

import (
	"reflect"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/notimplemented"
	"github.com/gomlx/compute/shapes"
	"github.com/pkg/errors"
)

// builder records a computation, and builds it with the Go backend at the same time, as its
// shadow, which checks all operations and knows their shapes.
type builder struct {
	notimplemented.Builder
	b        *Backend
	name     string
	shadow   compute.Builder
	main     *function
	nodes    int
	known    map[compute.Value]*output // by the shadow's value
	whole    string                    // why the shadow must run everything: an operation, or a dynamic shape
	alone    string                    // an operation that the shadow cannot run
	compiled bool
}

func newBuilder(b *Backend, name string) *builder {
	bu := &builder{b: b, name: name, shadow: b.inner.Builder(name), known: map[compute.Value]*output{}}
	bu.main = bu.function(bu.shadow.Main(), nil)
	return bu
}

func (bu *builder) function(shadow compute.Function, parent *function) *function {
	f := &function{bu: bu, shadow: shadow, parent: parent}
	f.ErrFn = func(op compute.OpType) error {
		return errors.Wrapf(compute.ErrNotImplemented, "restride: %s", op)
	}
	return f
}

func (bu *builder) Name() string           { return bu.name }
func (bu *builder) Main() compute.Function { return bu.main }

func (bu *builder) NewFunction(name string) (compute.Function, error) {
	shadow, err := bu.shadow.NewFunction(name)
	if err != nil {
		return nil, err
	}
	return bu.function(shadow, nil), nil
}

func (bu *builder) OpShape(v compute.Value) (shapes.Shape, error) { return bu.main.Shape(v) }

func (bu *builder) DeviceAssignment(devices ...compute.DeviceNum) error {
	if len(devices) != 1 {
		return errors.Errorf("restride: an assignment to %d devices; a backend has one", len(devices))
	}
	return bu.b.check(devices[0])
}

func (bu *builder) Compile() (compute.Executable, error) {
	switch {
	case bu.compiled:
		return nil, errors.Errorf("restride: %q was compiled before", bu.name)
	case !bu.main.done:
		return nil, errors.Errorf("restride: the main function of %q has not returned", bu.name)
	case bu.whole != "" && bu.alone != "":
		return nil, errors.Wrapf(compute.ErrNotImplemented, "restride: %q has %s, and %s beside it", bu.name, bu.alone, bu.whole)
	}
	if err := bu.b.check(0); err != nil {
		return nil, err
	}
	bu.compiled = true
	return newExecutable(bu)
}

// output is a compute.Value: one of a node's results.
type output struct {
	node   *node
	f      *function
	shape  shapes.Shape
	shadow compute.Value
}

// kind says where a node can run.
type kind uint8

const (
	fallback  kind = iota // on the Go backend
	parameter             // nowhere
	constant              // anywhere
	follows               // where its operand is
	spread                // anywhere, preferably where it is used: the operand is smaller, or absent
	onDevice              // on the device
	lone                  // the same, never on the Go backend: it lacks the operation, or has other results
)

// node is an operation.
type node struct {
	kind   kind
	number int // in order of creation
	op     string
	in     []*output // nil: an omitted optional operand
	out    []*output

	build buildFunc // the operation, on the Go backend
	view  viewFunc
	fill  fillFunc
	flat  any // of a constant
}

// String names the operation and the shapes of its operands.
func (n *node) String() string {
	if len(n.in) == 0 {
		return n.op
	}
	operands := make([]string, len(n.in))
	for i, x := range n.in {
		if operands[i] = "nil"; x != nil {
			operands[i] = x.shape.String()
		}
	}
	return n.op + " of " + strings.Join(operands, ", ")
}

// function is a compute.Function.
type function struct {
	notimplemented.Function
	bu       *builder
	shadow   compute.Function
	parent   *function
	params   []*output
	names    []string
	returned []*output
	done     bool
}

func (f *function) Name() string             { return f.shadow.Name() }
func (f *function) Builder() compute.Builder { return f.bu }

func (f *function) Parent() compute.Function {
	if f.parent == nil {
		return nil
	}
	return f.parent
}

func (f *function) Closure() (compute.Function, error) {
	shadow, err := f.shadow.Closure()
	if err != nil {
		return nil, err
	}
	return f.bu.function(shadow, f), nil
}

func (f *function) Shape(v compute.Value) (shapes.Shape, error) {
	x, ok := v.(*output)
	if !ok || x == nil {
		return shapes.Invalid(), errors.Errorf("restride: a value of another backend: %T", v)
	}
	return x.shape, nil
}

func (f *function) Parameter(name string, shape shapes.Shape, sharding *compute.ShardingSpec) (compute.Value, error) {
	shape = shape.Clone()
	if _, ok := types[shape.DType]; !ok {
		return nil, errors.Wrapf(compute.ErrNotImplemented, "restride: parameter %q of type %s", name, shape.DType)
	}
	n := &node{kind: parameter, op: "Parameter", build: func(g compute.Function, _ []compute.Value) ([]compute.Value, error) {
		v, err := g.Parameter(name, shape, sharding)
		return []compute.Value{v}, err
	}}
	x, err := f.record1(n)
	if err != nil {
		return nil, err
	}
	f.params, f.names = append(f.params, x), append(f.names, name)
	return x, nil
}

func (f *function) Constant(flat any, dims ...int) (compute.Value, error) {
	keep(&dims)
	shape, err := constantShape(flat, dims)
	if err == nil {
		err = checkFlat(flat, shape)
	}
	if err != nil {
		return nil, errors.WithMessage(err, "Constant")
	}
	own := dtypes.MakeAnySlice(shape.DType, shape.Size()) // the caller may change flat afterwards
	copy(bytesOf(own), bytesOf(flat))
	n := &node{kind: constant, op: "Constant", flat: own, build: func(g compute.Function, _ []compute.Value) ([]compute.Value, error) {
		v, err := g.Constant(own, dims...)
		return []compute.Value{v}, err
	}}
	x, err := f.record1(n)
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (f *function) Return(outputs []compute.Value, shardings []*compute.ShardingSpec) error {
	if f.done {
		return errors.Errorf("restride: Return was called before, of function %q", f.Name())
	}
	shadows, xs, err := f.operands("Return", outputs)
	if err != nil {
		return err
	}
	for i, x := range xs {
		if x == nil {
			return errors.Errorf("restride: Return: output %d is nil", i)
		}
	}
	if err := f.shadow.Return(shadows, shardings); err != nil {
		return err
	}
	f.returned, f.done = xs, true
	return nil
}

// buildFunc builds an operation in a function of the Go backend.
type buildFunc func(g compute.Function, in []compute.Value) ([]compute.Value, error)

// operands returns the recorded values, and the shadow's.
func (f *function) operands(op string, in []compute.Value) (shadows []compute.Value, xs []*output, err error) {
	if f.bu.compiled {
		return nil, nil, errors.Errorf("restride: %s: %q was compiled before", op, f.bu.name)
	}
	shadows, xs = make([]compute.Value, len(in)), make([]*output, len(in))
	for i, v := range in {
		if v == nil {
			continue
		}
		x, ok := v.(*output)
		if !ok || x == nil {
			return nil, nil, errors.Errorf("restride: %s: operand %d is a value of another backend: %T", op, i, v)
		}
		if x.f.bu != f.bu {
			return nil, nil, errors.Errorf("restride: %s: operand %d is a value of another builder, %q", op, i, x.f.bu.name)
		}
		shadows[i], xs[i] = x.shadow, x
	}
	return shadows, xs, nil
}

// record adds a node to the function, and to the shadow, which may already know one of its
// results: then it returns that.
func (f *function) record(n *node, in ...compute.Value) (err error) {
	if f.done {
		return errors.Errorf("restride: %s: function %q has returned", n.op, f.Name())
	}
	shadows, xs, err := f.operands(n.op, in)
	if err != nil {
		return err
	}
	n.in, n.number = xs, f.bu.nodes
	f.bu.nodes++
	defer func() { // the Go backend's shapes panic
		if r := recover(); r != nil {
			err = errors.Errorf("restride: %s: %v", n, r)
		}
	}()
	values, err := n.build(f.shadow, shadows)
	if err != nil {
		return errors.WithMessagef(err, "restride: %s", n)
	}
	for _, v := range values {
		shape, err := f.shadow.Shape(v)
		if err != nil {
			return err
		}
		x := &output{node: n, f: f, shape: shape, shadow: v}
		if shape.IsDynamic() {
			f.bu.whole = "a dynamic shape"
		}
		if old := f.bu.known[v]; old != nil && old.f == f {
			x = old
		}
		f.bu.known[v] = x
		n.out = append(n.out, x)
	}
	return nil
}

// record1 is record of a node with one result.
func (f *function) record1(n *node, in ...compute.Value) (*output, error) {
	if err := f.record(n, in...); err != nil {
		return nil, err
	}
	return n.out[0], nil
}

// keep replaces slices by copies: the caller may change them, and operations are built again at
// the end.
func keep(all ...*[]int) {
	for _, s := range all {
		*s = slices.Clone(*s)
	}
}

// constantShape is the shape of a slice of a type that GoMLX knows.
func constantShape(flat any, dims []int) (shapes.Shape, error) {
	t := reflect.TypeOf(flat)
	if t == nil || t.Kind() != reflect.Slice {
		return shapes.Invalid(), errors.Errorf("restride: a %T; a slice is wanted", flat)
	}
	if slices.ContainsFunc(dims, func(n int) bool { return n < 0 }) {
		return shapes.Invalid(), errors.Errorf("restride: dimensions %v; none may be negative", dims)
	}
	return shapes.Make(dtypes.FromGoType(t.Elem()), dims...), nil
}
