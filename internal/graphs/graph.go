// Package graphs makes random ONNX models, and computes their results by the rules of package
// ndarray: valid models, and ones that break one rule. They have every operator and element
// type, at every opset.
package graphs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// A Value is the expected value of an edge of a graph: a tensor, or a sequence or optional of
// tensors.
type Value struct {
	Kind model.TypeKind
	Type layout.DType
	ndarray.Array
	Items []Value
}

// A Graph is a model and its expected results.
type Graph struct {
	Model   *model.Model
	Inputs  map[string]Value
	Lists   []string // inputs whose elements are shapes, axes and the like
	Outputs map[string]Value
}

// Limits bound a random graph.
type Limits struct {
	Nodes       int
	First, Last onnx.Opset     // 0: any
	Types       []layout.DType // of inputs and constants; nil: all
	Ranks       int            // the highest rank
	Resident    bool           // nothing is read from a device: lists are not inputs, casts not of strings
	Given       bool           // arithmetic does not compute lists, which sessions do for their own nodes only
}

// builder grows a graph.
type builder struct {
	Graph
	sampler
	limits Limits
	opset  onnx.Opset
	values map[string]Value
	data   []string // names of values that nodes may use
	loose  bool     // the value being made need not be on the host, so that no arithmetic computes it there
}

// sampler draws parts that need no graph: extents, elements, axes and indices.
type sampler struct{ rng *rand.Rand }

// Random returns a valid graph.
func Random(rng *rand.Rand, limits Limits) *Graph {
	b := newBuilder(rng, limits)
	for len(b.Model.Graph.Nodes) < limits.Nodes {
		b.grow()
	}
	b.deliver()
	return &b.Graph
}

func newBuilder(rng *rand.Rand, limits Limits) *builder {
	if limits.First == 0 {
		limits.First, limits.Last = 1, onnx.MaxOpset
	}
	if limits.Types == nil {
		limits.Types = layout.DTypes()
	}
	b := &builder{sampler: sampler{rng}, limits: limits, values: map[string]Value{}}
	b.opset = limits.First + onnx.Opset(rng.Int64N(int64(limits.Last-limits.First+1)))
	// Identity supports every type of the opset.
	b.limits.Types = slices.DeleteFunc(slices.Clone(limits.Types), func(t layout.DType) bool { return !onnx.Allows("Identity", b.opset, t) })
	b.Model = model.New("random", int64(b.opset))
	b.Inputs, b.Outputs = map[string]Value{}, map[string]Value{}
	for range 1 + rng.IntN(3) {
		b.source()
	}
	return b
}

// source adds a tensor that no node computes.
func (b *builder) source() {
	v := b.tensor(b.limits.Types[b.rng.IntN(len(b.limits.Types))], b.dims(b.limits.Ranks)...)
	if b.rng.IntN(4) == 0 {
		b.data = append(b.data, b.initializer(v))
		return
	}
	b.data = append(b.data, b.input(v))
}

// dims draws extents of not too many elements, seldom zero.
func (s sampler) dims(ranks int) []int64 {
	for {
		dims := make([]int64, s.rng.IntN(ranks+1))
		for i := range dims {
			dims[i] = []int64{1, 1, 2, 2, 3, 3, 4, 5, 7, 0}[s.rng.IntN(9+s.rng.IntN(2))]
		}
		if ndarray.Count(dims) <= most {
			return dims
		}
	}
}

// most is the most elements of values, so that the oracle is fast enough.
const most = 400

// tensor returns random elements.
func (s sampler) tensor(t layout.DType, dims ...int64) Value {
	v := Value{Kind: model.TensorType, Type: t, Array: ndarray.Array{Dims: dims}}
	for range ndarray.Count(dims) {
		v.Elems = append(v.Elems, s.elem(t))
	}
	return v
}

// elem returns the bits of an element, or a string.
func (s sampler) elem(t layout.DType) string {
	switch {
	case t == layout.String && s.rng.IntN(2) == 0:
		return strconv.Itoa(s.rng.IntN(200) - 100)
	case t == layout.String:
		return []string{"", "a", "null \x00 byte", "größer", "1e5", "NaN", "a longer string, of more than sixteen bytes"}[s.rng.IntN(7)]
	case t == layout.Bool:
		return string([]byte{byte(s.rng.IntN(2))})
	case t.Bits() < 8:
		return string([]byte{byte(s.rng.IntN(1 << t.Bits()))})
	}
	e := make([]byte, t.Bits()/8)
	for i := range e {
		e[i] = byte(s.rng.Uint32())
	}
	return string(e)
}

// grow adds a node, or a few, by which one of the operators computes a value from another.
func (b *builder) grow() {
	if b.rng.IntN(12) == 0 {
		b.source()
	}
	for {
		from := b.data[b.rng.IntN(len(b.data))]
		op := operators[b.rng.IntN(len(operators))]
		if v := b.values[from]; v.Kind == model.TensorType && op.takes(b, v.Type) && op.grow(b, from, v) {
			return
		}
	}
}

// deliver chooses outputs, and shuffles the nodes, whose order in a file is free.
func (b *builder) deliver() {
	for i, name := range b.data {
		if _, input := b.Inputs[name]; !input && (i == len(b.data)-1 || b.rng.IntN(3) == 0) {
			b.output(name)
		}
	}
	if len(b.Outputs) == 0 { // only inputs and lists
		v := b.values[b.data[0]]
		b.output(b.node("Size", ints(int64(len(v.Elems))).reshaped(), b.data[:1]))
	}
	nodes := b.Model.Graph.Nodes
	b.rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
}

// output makes a value an output of the graph.
func (b *builder) output(name string) {
	if _, twice := b.Outputs[name]; twice {
		return
	}
	v := b.values[name]
	b.Outputs[name] = v
	b.Model.Graph.Outputs = append(b.Model.Graph.Outputs, model.ValueInfo{Name: name, Type: b.declared(v)})
}

// declared is the type of a value in a file: with all extents or fewer.
func (b *builder) declared(v Value) model.Type {
	switch v.Kind {
	case model.SequenceType, model.OptionalType:
		item := model.Type{Kind: model.TensorType, Elem: v.Type}
		if v.Kind == model.SequenceType {
			return model.SequenceOf(item)
		}
		return model.OptionalOf(item)
	case model.UnknownType:
		return model.Type{}
	}
	t := model.Type{Kind: model.TensorType, Elem: v.Type}
	how := b.rng.IntN(3)
	t.HasShape = how > 0
	for i, d := range v.Dims {
		switch {
		case how == 1:
			t.Dims = append(t.Dims, model.Known(d))
		case how == 2:
			t.Dims = append(t.Dims, model.Symbolic(fmt.Sprintf("n%d_%d", i, d)))
		}
	}
	return t
}

// name returns a new name of a value.
func (b *builder) name(v Value) string {
	name := fmt.Sprint("v", len(b.values))
	b.values[name] = v
	return name
}

func (b *builder) input(v Value) string {
	name := b.name(v)
	b.Inputs[name] = v
	b.Model.Graph.Inputs = append(b.Model.Graph.Inputs, model.ValueInfo{Name: name, Type: b.declared(v)})
	return name
}

func (b *builder) initializer(v Value) string {
	name := b.name(v)
	t := v.stored()
	t.Name = name
	b.Model.Graph.Initializers = append(b.Model.Graph.Initializers, *t)
	if b.Model.IRVersion < 4 { // required by that format
		b.Model.Graph.Inputs = append(b.Model.Graph.Inputs, model.ValueInfo{Name: name, Type: b.declared(v)})
	}
	return name
}

// stored is a tensor in a file's form.
func (v Value) stored() *model.Tensor {
	t := &model.Tensor{Type: v.Type, Dims: slices.Clone(v.Dims)}
	if v.Type == layout.String {
		t.Strings = slices.Clone(v.Elems)
	} else {
		t.Data = v.Bytes(v.Type)
	}
	return t
}

// node adds a node of one output, and returns its name.
func (b *builder) node(op string, out Value, in []string, attrs ...model.Attr) string {
	name := b.name(out)
	b.Model.Graph.Nodes = append(b.Model.Graph.Nodes, model.NewNode(op, in, []string{name}, attrs...))
	return name
}

// add is node for an output that others may use; it is what an operator's grow returns.
func (b *builder) add(op string, out Value, in []string, attrs ...model.Attr) bool {
	b.data = append(b.data, b.node(op, out, in, attrs...))
	return true
}
