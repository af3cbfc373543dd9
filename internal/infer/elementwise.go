package infer

import (
	"github.com/restride/restride/layout"
)

// unary: the output is like input 0.
func unary(n *Node) { n.like(0, 0, n.elem(0)) }

// identity: of any kind of value.
func identity(n *Node) {
	if len(n.out) > 0 {
		n.out[0] = n.in(0)
	}
}

// always returns the rule of an operator whose output has the shape of input 0 and one type.
func always(elem layout.DType) rule {
	return func(n *Node) { n.like(0, 0, elem) }
}

// dropout also makes a mask.
func dropout(n *Node) {
	unary(n)
	mask := layout.Bool
	if n.Opset < 10 {
		mask = n.elem(0)
	}
	n.like(1, 0, mask)
}

// spreadOf sets output 0 to the broadcast shape of inputs.
func (n *Node) spreadOf(elem layout.DType, inputs ...int) {
	var shapes [][]extent
	for _, i := range inputs {
		s, ok := n.shape(i)
		if !ok {
			n.setElem(0, elem)
			return
		}
		shapes = append(shapes, s)
	}
	n.set(0, elem, broadcast(shapes...)...)
}

// all returns the indices of all inputs.
func (n *Node) all() []int {
	list := make([]int, len(n.Inputs))
	for i := range list {
		list[i] = i
	}
	return list
}

// oldBroadcast reports whether a node uses the attributes of opsets before 7: input 1 is
// spread to the shape of input 0.
func (n *Node) oldBroadcast() bool { return n.Domain == "" && n.Opset < 7 && len(n.Inputs) == 2 }

// broadcasting: elements of all inputs, spread.
func broadcasting(n *Node) {
	if n.oldBroadcast() {
		unary(n)
		return
	}
	n.spreadOf(n.elem(0), n.all()...)
}

// comparing is broadcasting with a Bool output.
func comparing(n *Node) {
	if n.oldBroadcast() {
		n.like(0, 0, layout.Bool)
		return
	}
	n.spreadOf(layout.Bool, n.all()...)
}

func where(n *Node) { n.spreadOf(n.elem(1), 0, 1, 2) }

// castTo: the type is an attribute.
func castTo(n *Node) { n.like(0, 0, n.dtype("to", layout.Invalid)) }

func castLike(n *Node) { n.like(0, 0, n.elem(1)) }

// dtype returns an attribute with the number of an element type.
func (n *Node) dtype(name string, otherwise layout.DType) layout.DType {
	v := n.int(name, 0)
	if v == 0 {
		return otherwise
	}
	if v < 0 || v > 255 || !layout.DType(v).Valid() {
		n.fail()
	}
	return layout.DType(v)
}

// random makes numbers in a shape that is an attribute, or input 0's.
func random(n *Node) {
	if len(n.Inputs) > 0 {
		n.like(0, 0, n.dtype("dtype", n.elem(0)))
		return
	}
	shape, ok := n.list("shape")
	if elem := n.dtype("dtype", layout.Float32); ok {
		n.set(0, elem, nums(shape)...)
	} else {
		n.setElem(0, elem)
	}
}

// multinomial: input 0 has a row of probabilities per batch.
func multinomial(n *Node) {
	elem := n.dtype("dtype", layout.Int32)
	if x, ok := n.ofRank(0, 2); ok {
		n.set(0, elem, x[0], num(n.int("sample_size", 1)))
	} else {
		n.setElem(0, elem)
	}
}

func nums(list []int64) []extent {
	out := make([]extent, len(list))
	for i, v := range list {
		out[i] = num(v)
	}
	return out
}

// unknowns returns n unknown extents.
func unknowns(n int) []extent { return make([]extent, n) }
