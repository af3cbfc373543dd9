package layout

import "math"

// ConcatShape returns the extents of tensors that are joined along an axis in [0, rank):
// the other extents must be the same. op names the operation in errors.
func ConcatShape(op string, axis int, shapes ...Shape) (Shape, error) {
	like := shapes[0]
	out := like.Clone()
	for i, s := range shapes[1:] {
		if len(s) != len(like) {
			return nil, Errorf(ErrInvalid, op, "input %d has shape %v and input 0 %v: they must have as many axes", i+1, s.Clone(), like.Clone())
		}
		for k := range s {
			if k != axis && s[k] != like[k] {
				return nil, Errorf(ErrInvalid, op, "input %d has shape %v and input 0 %v: they may differ along axis %d only", i+1, s.Clone(), like.Clone(), axis)
			}
		}
		if out[axis] > math.MaxInt64-s[axis] {
			return nil, Errorf(ErrInvalid, op, "the extents along axis %d add up to more than 64 bits hold", axis)
		}
		out[axis] += s[axis]
	}
	return out, nil
}

// CheckSplit checks sizes that an axis is cut into: they must add up to its extent.
// op names the operation in errors.
func CheckSplit(op string, axis int, extent int64, sizes []int64) error {
	rest := extent
	for i, n := range sizes {
		if n < 0 {
			return Errorf(ErrInvalid, op, "split %v: size %d is negative", Shape(sizes).Clone(), i)
		}
		if n > rest {
			return Errorf(ErrInvalid, op, "split %v adds up to more than extent %d of axis %d", Shape(sizes).Clone(), extent, axis)
		}
		rest -= n
	}
	if rest > 0 {
		return Errorf(ErrInvalid, op, "split %v adds up to %d; axis %d has extent %d", Shape(sizes).Clone(), extent-rest, axis, extent)
	}
	return nil
}
