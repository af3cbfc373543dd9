package onnx

import "github.com/restride/restride/layout"

// room is the number of bytes that may still be made from constants, once, for all runs. It
// depends on types alone, so that Explain, which does not know all elements, decides alike.
type room int64

// smallFolds is the number of bytes that may always be folded, without any constants.
const smallFolds room = 1 << 20

// grow adds the size of a constant.
func (r *room) grow(constant Value) { *r += room(max(bytesOf(typeOf(constant)), 0)) }

// has reports whether an operator's outputs for these inputs certainly fit, and how many
// bytes they may need.
func (r room) has(d *definition, in []Value) (need room, ok bool) {
	if d.opaque || len(in) == 0 || !folds[d.op] && !d.arithmetic {
		return 0, false
	}
	bytes := d.atMost(in)
	return room(bytes), bytes != Unknown && room(bytes) <= r
}

// atMost returns the maximum number of bytes that a folded operator makes, or Unknown.
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
// if that fails, the result has the first operand's shape. Reductions can make elements
// from axes of extent 0.
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
	factors := layout.Shape{each, max(results-1, 1)} // one result for each two operands
	for _, n := range dims {
		factors = append(factors, max(n, 1))
	}
	bytes, err := factors.Count()
	if err != nil {
		return Unknown
	}
	return bytes
}
