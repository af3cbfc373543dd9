package infer

import "github.com/restride/restride/layout"

// elemOf returns a function for the element type of an input.
func elemOf(i int) func(*Node) layout.DType { return func(n *Node) layout.DType { return n.elem(i) } }

// is returns a function for one element type.
func is(t layout.DType) func(*Node) layout.DType { return func(*Node) layout.DType { return t } }

// multiplied returns the rule of the matrix product of inputs a and b.
func multiplied(a, b int, elem func(*Node) layout.DType) rule {
	return func(n *Node) {
		n.setElem(0, elem(n))
		x, known := n.shape(a)
		y, also := n.shape(b)
		if !known || !also {
			return
		}
		if out, ok := n.matrices(x, y); ok {
			n.set(0, elem(n), out...)
		}
	}
}

// matrices returns the extents of a matrix product. A vector on the left is a row, one on the
// right a column.
func (n *Node) matrices(x, y []extent) ([]extent, bool) {
	if len(x) == 0 || len(y) == 0 {
		n.fail()
		return nil, false
	}
	row, column := len(x) == 1, len(y) == 1
	if row {
		x = []extent{num(1), x[0]}
	}
	if column {
		y = []extent{y[0], num(1)}
	}
	p, q := len(x)-2, len(y)-2
	if x[p+1].differs(y[q]) {
		n.fail()
		return nil, false
	}
	out := broadcast(x[:p], y[:q])
	if !row {
		out = append(out, x[p])
	}
	if !column {
		out = append(out, y[q+1])
	}
	return out, true
}

// fusedMatMul has attributes for transposed operands.
func fusedMatMul(n *Node) {
	n.setElem(0, n.elem(0))
	x, known := n.shape(0)
	y, also := n.shape(1)
	if !known || !also {
		return
	}
	x = turned(x, n.flag("transBatchA"), n.flag("transA"))
	y = turned(y, n.flag("transBatchB"), n.flag("transB"))
	if out, ok := n.matrices(x, y); ok {
		n.set(0, n.elem(0), out...)
	}
}

// turned returns the extents of matrices as FusedMatMul reads them: with the batch's axes
// [1:rank-1] moved to the front, and with rows and columns exchanged.
func turned(s []extent, batch, matrix bool) []extent {
	if len(s) < 2 {
		return s
	}
	out := append([]extent(nil), s...)
	last := len(s) - 1
	if batch {
		copy(out, s[1:last])
		out[last-1] = s[0]
	}
	if matrix {
		out[last-1], out[last] = out[last], out[last-1]
	}
	return out
}

// gemm returns the rule of a product of two matrices with attributes transA and transB.
func gemm(a, b int, elem func(*Node) layout.DType) rule {
	return func(n *Node) {
		n.setElem(0, elem(n))
		x, known := n.ofRank(a, 2)
		y, also := n.ofRank(b, 2)
		if n.bad {
			return
		}
		rows, columns := extent{}, extent{}
		if known {
			rows = side(x, n.flag("transA"))
		}
		if also {
			columns = side(y, !n.flag("transB"))
		}
		n.set(0, elem(n), rows, columns)
	}
}

// side returns the extent of a matrix's columns, or of its rows.
func side(matrix []extent, columns bool) extent {
	if columns {
		return matrix[1]
	}
	return matrix[0]
}

// quantisedGemm is of the type of its output's zero point, or of floats without one.
func quantisedGemm(n *Node) {
	elem := layout.Float32
	if n.given(8) {
		elem = n.elem(8)
	}
	gemm(0, 3, is(elem))(n)
}

// blockwise (MatMulNBits): the weights are packed, so N is an attribute.
func blockwise(n *Node) {
	n.setElem(0, n.elem(0))
	x, ok := n.shape(0)
	columns := n.int("N", -1)
	if !ok || columns < 0 {
		return
	}
	if len(x) == 0 {
		n.fail()
		return
	}
	n.set(0, n.elem(0), append(x[:len(x)-1:len(x)-1], num(columns))...)
}
