// Package shapes has the rules of joining and splitting shapes that package tensor and the
// operators of package onnx share.
package shapes

import (
	"math"

	"github.com/restride/restride/layout"
)

// Concat returns the extents of tensors that are joined along an axis in [0, rank):
// the other extents must be the same. op names the operation in errors.
func Concat(op string, axis int, shapes ...layout.Shape) (layout.Shape, error) {
	like := shapes[0]
	out := like.Clone()
	for i, s := range shapes[1:] {
		if len(s) != len(like) {
			return nil, layout.Errorf(layout.ErrInvalid, op, "input %d has shape %v and input 0 %v: they must have as many axes", i+1, s.Clone(), like.Clone())
		}
		for k := range s {
			if k != axis && s[k] != like[k] {
				return nil, layout.Errorf(layout.ErrInvalid, op, "input %d has shape %v and input 0 %v: they may differ along axis %d only", i+1, s.Clone(), like.Clone(), axis)
			}
		}
		if out[axis] > math.MaxInt64-s[axis] {
			return nil, layout.Errorf(layout.ErrInvalid, op, "the extents along axis %d add up to more than 64 bits hold", axis)
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
			return layout.Errorf(layout.ErrInvalid, op, "split %v: size %d is negative", layout.Shape(sizes).Clone(), i)
		}
		if n > rest {
			return layout.Errorf(layout.ErrInvalid, op, "split %v adds up to more than extent %d of axis %d", layout.Shape(sizes).Clone(), extent, axis)
		}
		rest -= n
	}
	if rest > 0 {
		return layout.Errorf(layout.ErrInvalid, op, "split %v adds up to %d; axis %d has extent %d", layout.Shape(sizes).Clone(), extent-rest, axis, extent)
	}
	return nil
}
