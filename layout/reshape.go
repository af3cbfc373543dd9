package layout

// Reshape gives the elements, in row-major order of l, new extents over the
// same memory. The element counts must match (see InferReshape for -1 and 0).
// Where no strides can express the new shape, the error is ErrNeedsCopy.
//
// Axes can be split anywhere, and merged wherever walking one after the other
// is walking in one constant step:
//
//	[2,3,4]:{12,4,1}  to [6,4]   {4,1}    merged
//	[2,3,4]:{12,4,1}  to [2,12]  {12,1}   merged
//	[3,2,4]:{4,12,1}  to [6,4]   needs a copy: 0,12,4,16,... is no one step
func (l Layout) Reshape(shape ...int64) (Layout, error) {
	n, ok := product(shape)
	if !ok {
		return Layout{}, Errorf(ErrInvalid, "Reshape", "%v to %v: %s", l.Shape(), Shape(shape).Clone(), countRule(shape))
	}
	if have := l.count(); have != n {
		return Layout{}, Errorf(ErrInvalid, "Reshape", "%v to %v: %d elements do not fill %d", l.Shape(), Shape(shape).Clone(), have, n)
	}
	if n == 0 {
		return contiguous(shape, l.offset)
	}
	out := blank(len(shape), l.offset)
	newDims, newStrides := out.axes()
	copy(newDims, shape)

	from := l.Coalesce()
	dims, strides := from.axes()
	// Each coalesced axis must be filled exactly by a run of new axes, innermost
	// first: rest is what of it is not yet filled.
	i := len(newDims) - 1
	for a := len(dims) - 1; a >= 0; a-- {
		rest, step := dims[a], strides[a]
		for ; rest > 1; i-- {
			// i cannot run out: both products are the same.
			if d := newDims[i]; rest%d != 0 {
				return Layout{}, ErrNeedsCopy
			}
			newStrides[i] = step
			step *= newDims[i]
			rest /= newDims[i]
		}
	}
	return out, nil
}

// Flatten returns the layout as a matrix: axes before axis are the rows, the
// others the columns; axis lies in [-rank, rank], and both may be empty
// products, which are 1. ErrNeedsCopy as for Reshape.
func (l Layout) Flatten(axis int) (Layout, error) {
	rows, cols, err := FlattenShape("Flatten", l.Shape(), axis)
	if err != nil {
		return Layout{}, err
	}
	return l.Reshape(rows, cols)
}

// FlattenShape returns the extents that Flatten gives a shape.
func FlattenShape(op string, s Shape, axis int) (rows, cols int64, err error) {
	if axis < -len(s) || axis > len(s) {
		return 0, 0, Errorf(ErrInvalid, op, "axis %d is outside [%d,%d] of shape %v", axis, -len(s), len(s), s.Clone())
	}
	if axis < 0 {
		axis += len(s)
	}
	rows, ok := product(s[:axis])
	cols, ok2 := product(s[axis:])
	if !ok || !ok2 {
		return 0, 0, Errorf(ErrInvalid, op, "%v at axis %d: an extent overflows int64", s.Clone(), axis)
	}
	return rows, cols, nil
}
