package layout

// Reshape gives the elements, in row-major order of l, new extents over the same memory. The
// element counts must match (see InferReshape for -1 and 0). If no strides can express the new
// shape, the error is ErrNeedsCopy.
//
// Axes can be split anywhere, and merged if the merged axis has one constant step:
//
//	[2,3,4]:{12,4,1}  to [6,4]   {4,1}    merged
//	[2,3,4]:{12,4,1}  to [2,12]  {12,1}   merged
//	[3,2,4]:{4,12,1}  to [6,4]   needs a copy: 0,12,4,16,... has no constant step
func (l Layout) Reshape(shape ...int64) (out Layout, err error) {
	err = out.reshape(&l, shape)
	return out, err
}

func (l *Layout) reshape(from *Layout, shape []int64) error {
	n, ok := product(shape)
	if !ok {
		return l.fail("Reshape", "%v to %v: %s", from.Shape(), Shape(shape).Clone(), countRule(shape))
	}
	have, dense := from.density()
	if have != n {
		return l.fail("Reshape", "%v to %v: %d elements do not fill %d", from.Shape(), Shape(shape).Clone(), have, n)
	}
	return l.refit(from, shape, n, dense)
}

// refit is reshape to a shape that is known to have the same n elements.
func (l *Layout) refit(from *Layout, shape []int64, n int64, dense bool) error {
	out := l.reset(len(shape), from.offset)
	if dense { // most tensors: no walk over runs
		rowMajor(out, shape, n)
		return nil
	}
	for i, d := range shape {
		out[i].dim = d
	}
	// Each run of old axes must be filled exactly by a run of new axes, innermost
	// first. Both have the same product, so j cannot run out.
	axes := from.axes()
	for i, j := len(axes)-1, len(out)-1; i >= 0; {
		var a axis
		a, i = run(axes, i)
		filled := int64(1)
		for ; filled < a.dim; j-- {
			out[j].stride = a.stride * filled
			filled *= out[j].dim
		}
		if filled > a.dim {
			*l = Layout{}
			return ErrNeedsCopy
		}
	}
	return nil
}

// Flatten returns the layout as a matrix: the axes before axis are the rows, the others the
// columns. axis is in [-rank, rank]; without axes, rows or columns are 1. Errors include
// ErrNeedsCopy, as for Reshape.
func (l Layout) Flatten(axis int) (out Layout, err error) {
	err = out.flatten(&l, axis)
	return out, err
}

func (l *Layout) flatten(from *Layout, axis int) error {
	var few [inline]int64
	rows, cols, err := FlattenShape("Flatten", from.AppendDims(few[:0]), axis)
	if err != nil {
		return err
	}
	n, dense := from.density()
	return l.refit(from, []int64{rows, cols}, n, dense)
}

// FlattenShape returns the extents of Flatten's result.
func FlattenShape(op string, s Shape, axis int) (rows, cols int64, err error) {
	if axis < -len(s) || axis > len(s) {
		return 0, 0, Errorf(ErrInvalid, op, "axis %d is outside [%d,%d] of shape %v", axis, -len(s), len(s), s.Clone())
	}
	if axis < 0 {
		axis += len(s)
	}
	head, tail := s[:axis], s[axis:]
	rows, ok := product(head)
	if !ok {
		return 0, 0, Errorf(ErrInvalid, op, "%v before axis %d: %s", s.Clone(), axis, countRule(head))
	}
	cols, ok = product(tail)
	if !ok {
		return 0, 0, Errorf(ErrInvalid, op, "%v from axis %d: %s", s.Clone(), axis, countRule(tail))
	}
	return rows, cols, nil
}
