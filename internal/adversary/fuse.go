package adversary

import (
	"fmt"
	"math/rand/v2"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
)

// A fuse is the start of a bomb: a chain of nodes that make x larger.
type fuse struct {
	rng  *rand.Rand
	m    *model.Model
	x    string // the end of the chain
	elem layout.DType
	said []string // the nodes, with their lists
}

func newFuse(rng *rand.Rand) *fuse {
	f := &fuse{rng: rng, m: model.New("bomb", 25), x: "x", elem: layout.Float32}
	some := []layout.DType{layout.Float32, layout.Uint8, layout.Complex128, layout.Float16, layout.Int64}
	f.elem = some[rng.IntN(len(some))]
	return f
}

// model ends the chain. Sometimes more than its end is an output.
func (f *fuse) model() *model.Model {
	all := f.rng.IntN(2)
	for _, n := range f.m.Graph.Nodes {
		if name := n.Outputs[0]; name == f.x || f.rng.IntN(8) < all {
			f.m.Graph.Outputs = append(f.m.Graph.Outputs, model.ValueInfo{Name: name})
		}
	}
	return f.m
}

// name returns a new name of a value.
func (f *fuse) name() string {
	return fmt.Sprint("v", len(f.m.Graph.Nodes)+len(f.m.Graph.Initializers))
}

// input declares the start of the chain.
func (f *fuse) input(dims ...int64) {
	t := model.Type{Kind: model.TensorType, Elem: f.elem, HasShape: true}
	for _, d := range dims {
		t.Dims = append(t.Dims, model.Known(d))
	}
	f.m.Graph.Inputs = append(f.m.Graph.Inputs, model.ValueInfo{Name: f.x, Type: t})
	f.said = append(f.said, fmt.Sprint(f.elem, dims))
}

// list is a constant of the file.
func (f *fuse) list(values ...int64) string { return constant(f, values, int64(len(values))) }

func constant[T layout.Element](f *fuse, values []T, dims ...int64) string {
	name := f.name()
	t, err := model.NewTensor(name, values, dims...)
	if err != nil {
		panic(err) // the caller's error
	}
	f.m.Graph.Initializers = append(f.m.Graph.Initializers, t)
	if text := fmt.Sprint(values); len(text) < 100 {
		f.said = append(f.said, fmt.Sprint(name, "=", text))
	}
	return name
}

// same is a list of n equal numbers, which needs a few bytes in the file.
func (f *fuse) same(n, value int64) string {
	one, err := model.NewTensor("", []int64{value}, 1)
	if err != nil {
		panic(err)
	}
	return f.node("ConstantOfShape", []string{f.list(n)}, onnx.Attr{Name: "value", Value: &one})
}

// node adds a node and returns the name of its output.
func (f *fuse) node(op string, inputs []string, attrs ...onnx.Attr) string {
	name := f.name()
	n := model.NewNode(op, inputs, []string{name}, attrs...)
	f.m.Graph.Nodes = append(f.m.Graph.Nodes, n)
	f.said = append(f.said, fmt.Sprint(name, "=", op, inputs))
	return name
}

// then adds a node at the end of the chain.
func (f *fuse) then(op string, more []string, attrs ...onnx.Attr) {
	f.x = f.node(op, append([]string{f.x}, more...), attrs...)
}

// times repeats add.
func (f *fuse) times(most int, add func()) {
	for range 1 + f.rng.IntN(most) {
		add()
	}
}
