package onnx

import "github.com/restride/restride/layout"

// room is how many bytes may still be made of constants, once, for all runs. Types alone
// decide what has room, so that Explain, which does not know all elements, decides the same.
type room int64

// smallFolds is how many bytes are folded whatever constants there are.
const smallFolds room = 1 << 20

// grow adds a constant's bytes.
func (r *room) grow(constant Value) { *r += room(max(bytesOf(typeOf(constant)), 0)) }

// has reports whether an operator's outputs are sure to have room, of these inputs, and how
// much they may need.
func (r room) has(d *definition, in []Value) (need room, ok bool) {
	if d.opaque || len(in) == 0 || !folds[d.op] && !d.arithmetic {
		return 0, false
	}
	bytes := d.atMost(in)
	return room(bytes), bytes != Unknown && room(bytes) <= r
}

// atMost returns how many bytes an operator that is folded makes at most, or Unknown.
func (d *definition) atMost(in []Value) int64 {
	switch {
	case d.shapeOnly:
		shape, _ := typeOf(in[0]).Shape()
		return 8 * int64(max(len(shape), 1))
	case d.arithmetic:
		return d.calculated(in)
	}
	all := int64(0)
	for _, v := range in {
		if absent(v) {
			continue
		}
		bytes := bytesOf(typeOf(v))
		if all += bytes; bytes == Unknown || all < 0 {
			return Unknown
		}
	}
	return all
}

// calculated is atMost for arithmetic. Operands are broadcast together; before opset 7, or
// where that fails, the first has the shape. Reductions make elements of axes that have none.
func (d *definition) calculated(in []Value) int64 {
	x := typeOf(in[0])
	dims, ok := x.Shape()
	results := int64(0)
	for i, v := range in {
		if absent(v) || d.host>>i&1 == 1 {
			continue
		}
		shape, known := typeOf(v).Shape()
		if wider, err := layout.Broadcast(dims, shape); err == nil {
			dims = wider
		}
		ok = ok && known
		results++
	}
	each := bytesOf(typeOfShape(x.Elem, nil))
	if !ok || each == Unknown {
		return Unknown
	}
	switch d.op {
	case "NonZero":
		each = 8 * int64(len(dims))
	case "TopK":
		each += 8
	}
	factors := layout.Shape{each, max(results-1, 1)} // one of each two operands
	for _, n := range dims {
		factors = append(factors, max(n, 1))
	}
	bytes, err := factors.Count()
	if err != nil {
		return Unknown
	}
	return bytes
}
