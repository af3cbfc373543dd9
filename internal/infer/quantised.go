package infer

import "github.com/restride/restride/layout"

// quantised (QuantizeLinear): the type is the zero point's, or an attribute.
func quantised(n *Node) {
	elem := n.dtype("output_dtype", layout.Uint8)
	if n.given(2) {
		elem = n.elem(2)
	}
	n.like(0, 0, elem)
}

// dequantised (DequantizeLinear): the type is an attribute or the scale's.
func dequantised(n *Node) { n.like(0, 0, n.dtype("output_dtype", n.elem(1))) }

// dynamicQuantised also makes the scale and the zero point.
func dynamicQuantised(n *Node) {
	n.like(0, 0, layout.Uint8)
	n.set(1, layout.Float32)
	n.set(2, layout.Uint8)
}

// quantisedBinary (QLinearAdd): operands are inputs 0 and 3, between scales and zero points.
func quantisedBinary(n *Node) { n.spreadOf(n.elem(0), 0, 3) }

// quantisedWhere: a condition, and operands as inputs 1 and 4.
func quantisedWhere(n *Node) { n.spreadOf(n.elem(1), 0, 1, 4) }

// quantisedConcat: scale and zero point of the output, then operands with theirs.
func quantisedConcat(n *Node) {
	n.setElem(0, n.elem(1))
	var list []int
	for i := 2; i < len(n.Inputs); i += 3 {
		list = append(list, i)
	}
	n.joined(n.elem(1), list)
}

// quantisedReduce (QLinearReduceMean): axes are an attribute.
func quantisedReduce(n *Node) {
	n.Inputs = n.Inputs[:min(len(n.Inputs), 1)]
	reduced(n)
}
