package infer

import (
	"slices"

	"github.com/restride/restride/layout"
)

// reduced: axes are an attribute or input 1.
func reduced(n *Node) {
	elem := n.elem(0)
	n.setElem(0, elem)
	x, ok := n.shape(0)
	if !ok {
		return
	}
	keep := n.int("keepdims", 1) != 0
	list, _ := n.list("axes")
	if n.given(1) {
		var known bool
		if list, known = n.ints(1); !known {
			n.reducedSomewhere(x, keep)
			return
		}
	}
	if len(list) == 0 {
		if n.flag("noop_with_empty_axes") {
			n.set(0, elem, x...)
			return
		}
		for k := range x {
			list = append(list, int64(k))
		}
	}
	axes, ok := n.axes(list, len(x))
	if !ok {
		return
	}
	n.set(0, elem, without(x, keep, axes...)...)
}

// reducedSomewhere is the case of unknown axes.
func (n *Node) reducedSomewhere(x []extent, keep bool) {
	rank := len(x)
	if !keep {
		count, ok := n.count(1)
		if !ok || count < 1 || count > int64(rank) {
			return
		}
		rank -= int(count)
	}
	n.set(0, n.elem(0), unknowns(rank)...)
}

// without returns extents without some axes, or with 1 in their place.
func without(x []extent, keep bool, axes ...int) []extent {
	out := make([]extent, 0, len(x))
	for k, e := range x {
		switch {
		case !slices.Contains(axes, k):
			out = append(out, e)
		case keep:
			out = append(out, num(1))
		}
	}
	return out
}

// argument: the index of an extreme element along an axis.
func argument(n *Node) {
	n.setElem(0, layout.Int64)
	x, ok := n.shape(0)
	if !ok {
		return
	}
	if axis, ok := n.axis(n.int("axis", 0), len(x)); ok {
		n.set(0, layout.Int64, without(x, n.int("keepdims", 1) != 0, axis)...)
	}
}

// topK: k is input 1 or, in opset 1, an attribute.
func topK(n *Node) {
	for i, elem := range []layout.DType{n.elem(0), layout.Int64} {
		n.setElem(i, elem)
	}
	x, ok := n.shape(0)
	if !ok {
		return
	}
	axis, ok := n.axis(n.int("axis", -1), len(x))
	if !ok {
		return
	}
	x[axis] = extent{}
	if k, ok := n.scalar(1); ok {
		x[axis] = num(k)
	} else if k := n.int("k", -1); k >= 0 && !n.given(1) {
		x[axis] = num(k)
	}
	n.set(0, n.elem(0), x...)
	n.set(1, layout.Int64, x...)
}

// batchNorm also makes statistics of each channel, when it trains.
func batchNorm(n *Node) {
	unary(n)
	for i := 1; i < n.Outputs; i++ {
		from := 3
		if n.Opset >= 14 {
			from = 2 + i
		}
		n.like(i, from, n.elem(from))
	}
}

// layerNorm also makes the mean and the inverse deviation along its axes.
func layerNorm(n *Node) {
	unary(n)
	elem := n.dtype("stash_type", layout.Float32)
	x, ok := n.shape(0)
	for i := 1; i < n.Outputs; i++ {
		n.setElem(i, elem)
	}
	if !ok {
		return
	}
	first, ok := n.axis(n.int("axis", -1), len(x))
	if !ok {
		return
	}
	for k := first; k < len(x); k++ {
		x[k] = num(1)
	}
	for i := 1; i < n.Outputs; i++ {
		n.set(i, elem, x...)
	}
}

// skipLayerNorm also makes the sum of its inputs, as output 3.
func skipLayerNorm(n *Node) {
	unary(n)
	n.setElem(1, layout.Float32)
	n.setElem(2, layout.Float32)
	n.like(3, 0, n.elem(0))
}

// loss: one number per element of the labels, or one in all; output 1 has the probabilities.
func loss(n *Node) {
	switch n.str("reduction") {
	case "none":
		n.like(0, 1, n.elem(0))
	case "", "mean", "sum":
		n.set(0, n.elem(0))
	default:
		n.fail()
	}
	n.like(1, 0, n.elem(0))
}

// determinant: of the last two axes.
func determinant(n *Node) {
	n.setElem(0, n.elem(0))
	if x, ok := n.shape(0); ok && len(x) >= 2 {
		n.set(0, n.elem(0), x[:len(x)-2]...)
	} else if ok {
		n.fail()
	}
}
