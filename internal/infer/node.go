// Package infer infers the types of the outputs of ONNX's operators, and of the usual ones of
// com.microsoft, from the types of their inputs. It never guesses: what the inputs,
// attributes and elements leave open is unknown, and so is what they contradict.
package infer

import (
	"math"
	"slices"

	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// A Node is what is known about a node.
type Node struct {
	Domain  string // "" is ONNX's own
	Op      string
	Opset   int64 // of the domain
	Attrs   model.Attrs
	Inputs  []*model.Type // nil: omitted
	Outputs int
	// Elements returns the elements of an input in ONNX's packed form, and whether they are
	// known. It is called only for inputs of at most maxElements elements.
	Elements func(input int) ([]byte, bool)

	out []model.Type
	bad bool // an attribute is of another kind, or the inputs contradict each other
}

// maxElements limits the elements that decide a shape: axes, sizes, scales.
const maxElements = 64

// A rule sets the types of a node's outputs.
type rule func(n *Node)

// Types returns the types of a node's outputs, as far as they are known: zero Types for an
// operator without a rule.
func Types(n Node) []model.Type {
	n.out = make([]model.Type, n.Outputs)
	r := domains[n.Domain][n.Op]
	if r == nil {
		return n.out
	}
	if r(&n); n.bad {
		return make([]model.Type, n.Outputs)
	}
	return n.out
}

// fail makes all outputs unknown.
func (n *Node) fail() { n.bad = true }

// in returns the type of an input.
func (n *Node) in(i int) model.Type {
	if !n.given(i) {
		return model.Type{}
	}
	return *n.Inputs[i]
}

// given reports whether there is an input i.
func (n *Node) given(i int) bool { return i >= 0 && i < len(n.Inputs) && n.Inputs[i] != nil }

// elem returns the element type of an input.
func (n *Node) elem(i int) layout.DType { return n.in(i).Elem }

// shape returns the extents of an input, and whether its rank is known.
func (n *Node) shape(i int) ([]extent, bool) {
	t := n.in(i)
	if t.Kind != model.TensorType || !t.HasShape {
		return nil, false
	}
	out := make([]extent, len(t.Dims))
	for k, d := range t.Dims {
		out[k] = extentOf(d)
	}
	return out, true
}

// ofRank returns the extents of an input of a rank. Another rank is a contradiction.
func (n *Node) ofRank(i, rank int) ([]extent, bool) {
	s, ok := n.shape(i)
	if ok && len(s) != rank {
		n.fail()
		return nil, false
	}
	return s, ok
}

// set sets the type of an output.
func (n *Node) set(i int, elem layout.DType, dims ...extent) {
	if i >= len(n.out) {
		return
	}
	t := model.Type{Kind: model.TensorType, Elem: elem, HasShape: true}
	for _, d := range dims {
		t.Dims = append(t.Dims, d.dim())
	}
	n.out[i] = t
}

// setElem sets the type of an output of unknown shape.
func (n *Node) setElem(i int, elem layout.DType) {
	if i < len(n.out) {
		n.out[i] = model.Type{Kind: model.TensorType, Elem: elem}
	}
}

// like gives an output the shape of an input.
func (n *Node) like(out, in int, elem layout.DType) {
	if s, ok := n.shape(in); ok {
		n.set(out, elem, s...)
	} else {
		n.setElem(out, elem)
	}
}

// int returns an attribute, or otherwise if it is absent.
func (n *Node) int(name string, otherwise int64) int64 {
	v, err := n.Attrs.IntOr(name, otherwise)
	if err != nil {
		n.fail()
	}
	return v
}

// flag reports whether an attribute is there and not 0.
func (n *Node) flag(name string) bool { return n.int(name, 0) != 0 }

// str returns an attribute, or "".
func (n *Node) str(name string) string {
	v, err := n.Attrs.StrOr(name, "")
	if err != nil {
		n.fail()
	}
	return v
}

// list returns an attribute, and whether it is present.
func (n *Node) list(name string) ([]int64, bool) {
	v, ok, err := n.Attrs.Ints(name)
	if err != nil {
		n.fail()
	}
	return v, ok && err == nil
}

// axis returns an axis, counted from 0, of a tensor with rank axes.
func (n *Node) axis(a int64, rank int) (int, bool) {
	if a < 0 {
		a += int64(rank)
	}
	if a < 0 || a >= int64(rank) {
		n.fail()
		return 0, false
	}
	return int(a), true
}

// axes returns different axes, counted from 0.
func (n *Node) axes(list []int64, rank int) ([]int, bool) {
	out := make([]int, 0, len(list))
	for _, a := range list {
		k, ok := n.axis(a, rank)
		if !ok || slices.Contains(out, k) {
			n.fail()
			return nil, false
		}
		out = append(out, k)
	}
	return out, true
}

// count returns the number of elements of an input, if it is known.
func (n *Node) count(i int) (int64, bool) {
	s, ok := n.shape(i)
	if !ok {
		return 0, false
	}
	c := product(s)
	return c.n, c.known
}

// numbers decodes the elements of an input, if they are known.
func numbers[T any](n *Node, i int, of func(t layout.DType, packed []byte, i int64) T, kinds ...numeric.Kind) ([]T, bool) {
	t := n.in(i)
	count, ok := n.count(i)
	if !ok || count > maxElements || n.Elements == nil || !slices.Contains(kinds, numeric.KindOf(t.Elem)) {
		return nil, false
	}
	packed, ok := n.Elements(i)
	if size := (count*int64(t.Elem.Bits()) + 7) / 8; !ok || int64(len(packed)) < size {
		return nil, false
	}
	out := make([]T, count)
	for k := range out {
		out[k] = of(t.Elem, packed, int64(k))
	}
	return out, true
}

// ints returns the elements of an input of integers, if they are known.
func (n *Node) ints(i int) ([]int64, bool) { return numbers(n, i, numeric.Int, numeric.IntKind) }

// floats returns the elements of an input of floating-point numbers, if they are known.
func (n *Node) floats(i int) ([]float64, bool) {
	return numbers(n, i, numeric.Float, numeric.FloatKind)
}

// scalar returns the only element of an input, if it is known and a whole number.
func (n *Node) scalar(i int) (int64, bool) {
	if list, ok := n.ints(i); ok && len(list) == 1 {
		return list[0], true
	}
	const most = 1 << 53
	if list, ok := n.floats(i); ok && len(list) == 1 && list[0] == math.Trunc(list[0]) && math.Abs(list[0]) < most {
		return int64(list[0]), true
	}
	return 0, false
}
