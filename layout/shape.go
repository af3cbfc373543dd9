package layout

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// MaxRank is the highest rank, the same as numpy's.
const MaxRank = 64

// Shape is the extent of a tensor along each axis, outermost first. The empty shape is a scalar,
// with one element. Any axis may have extent 0; the tensor then has no elements.
type Shape []int64

// Count returns the number of elements. It is an error if an extent is
// negative, the product does not fit in an int64, or the rank exceeds MaxRank.
func (s Shape) Count() (int64, error) {
	n, ok := product(s)
	if !ok {
		return 0, Errorf(ErrInvalid, "Shape", "%v: %s", s.Clone(), countRule(s))
	}
	return n, nil
}

// Bytes returns the size in bytes of the elements when packed without gaps: ceil(Count*bits/8).
// Strings have no such size: ErrUnsupported.
func (s Shape) Bytes(t DType) (int64, error) {
	n, err := s.Count()
	if err != nil {
		return 0, err
	}
	if !t.Storable() {
		return 0, Errorf(ErrInvalid, "Shape", "%v of %v, which is no element type", s.Clone(), t)
	}
	if t.Bits() == 0 {
		return 0, Errorf(ErrUnsupported, "Shape", "%v of %v, whose elements have no fixed width", s.Clone(), t)
	}
	b, ok := PackedBytes(n, t.Bits())
	if !ok {
		return 0, Errorf(ErrInvalid, "Shape", "%v of %v: the size in bytes overflows int64", s.Clone(), t)
	}
	return b, nil
}

// PackedBytes returns ceil(n*width/8), the size in bytes of n elements of width bits each; false
// if that overflows, n is negative, or width is not positive.
func PackedBytes(n int64, width int) (int64, bool) {
	if n < 0 || width <= 0 {
		return 0, false
	}
	hi, lo := bits.Mul64(uint64(n), uint64(width))
	lo, carry := bits.Add64(lo, 7, 0)
	hi += carry
	return int64(hi<<61 | lo>>3), hi < 1<<2
}

// Equal reports whether two shapes have the same extents.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// Clone returns a copy.
func (s Shape) Clone() Shape { return slices.Clone(s) }

// shownAxes is the most axes that String writes: an error message may hold a shape from a hostile
// file.
const shownAxes = 32

// String writes the shape as [2,3,4]; a scalar is []. For very many axes it writes the first few
// and the number of axes.
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		if i == shownAxes {
			fmt.Fprintf(&b, "... %d axes", len(s))
			break
		}
		b.WriteString(strconv.FormatInt(d, 10))
	}
	b.WriteByte(']')
	return b.String()
}

// product multiplies extents; false if there are more than MaxRank, one is negative, or the
// result does not fit. A zero extent makes the product zero, however large the others are.
func product(dims []int64) (int64, bool) {
	if len(dims) > MaxRank {
		return 0, false
	}
	n := uint64(1)
	for _, d := range dims {
		hi, lo := bits.Mul64(n, uint64(d))
		if d <= 0 || hi != 0 || lo > math.MaxInt64 {
			return 0, slices.Min(dims) == 0
		}
		n = lo
	}
	return int64(n), true
}

func countRule(dims []int64) string {
	if len(dims) > MaxRank {
		return rankRule(len(dims))
	}
	for i, d := range dims {
		if d < 0 {
			return "extent " + strconv.FormatInt(d, 10) + " of axis " + strconv.Itoa(i) + " is negative"
		}
	}
	return "the number of elements overflows int64"
}

func rankRule(rank int) string {
	return "rank " + strconv.Itoa(rank) + " exceeds the highest, " + strconv.Itoa(MaxRank)
}

// InferReshape resolves a requested shape against the shape in, by the rule that ONNX Reshape and
// oneDNN StaticReshape share, and appends it to out:
//
//   - at most one extent is -1: it is computed from the element count;
//   - 0 copies in's extent at the same position, which must exist, if zeroCopies is set (ONNX:
//     allowzero=0; oneDNN: special_zero=true); otherwise 0 is an empty axis, and cannot be
//     combined with a -1;
//   - the element counts must match.
//
// op names the operator in errors.
func InferReshape(out []int64, op string, in, want Shape, zeroCopies bool) (Shape, error) {
	refuse := func(format string, args ...any) (Shape, error) {
		args = append([]any{in.Clone(), want.Clone()}, args...)
		return nil, Errorf(ErrInvalid, op, "cannot reshape %v to %v: "+format, args...)
	}
	total, ok := product(in)
	if !ok {
		return refuse("input: %s", countRule(in))
	}
	if len(want) > MaxRank {
		return refuse("%s", rankRule(len(want)))
	}
	base := len(out)
	infer, zeros := -1, false
	for i, d := range want {
		switch {
		case d == -1 && infer >= 0:
			return refuse("extents %d and %d are both -1; at most one may be", infer, i)
		case d == -1:
			infer, d = i, 1
		case d < -1:
			return refuse("extent %d is %d; the least allowed is -1", i, d)
		case d == 0 && zeroCopies:
			if i >= len(in) {
				return refuse("extent %d is 0, which copies the input's extent there, but the input has rank %d", i, len(in))
			}
			d = in[i]
		case d == 0:
			zeros = true
		}
		out = append(out, d)
	}
	got := out[base:]
	known, ok := product(got)
	if !ok {
		return refuse("the number of elements overflows int64")
	}
	if infer >= 0 {
		switch {
		case zeros:
			return refuse("0 as an empty axis and -1 together leave the -1 undetermined")
		case known == 0:
			return refuse("-1 cannot be inferred: the other extents multiply to 0")
		case total%known != 0:
			return refuse("-1 cannot be inferred: %d elements are no multiple of %d", total, known)
		}
		got[infer] = total / known
	} else if known != total {
		return refuse("%d elements do not fill %d", total, known)
	}
	return out, nil
}

// Broadcast returns the common shape of a and b after broadcasting, by numpy's and ONNX's rule:
// aligned at the last axis, extents must be equal or 1.
func Broadcast(a, b Shape) (Shape, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := a.Clone()
	for i, d := range b {
		j := len(a) - len(b) + i
		switch {
		case out[j] == d || d == 1:
		case out[j] == 1:
			out[j] = d
		default:
			return nil, Errorf(ErrInvalid, "Broadcast", "%v and %v: extents %d and %d differ and neither is 1", a.Clone(), b.Clone(), out[j], d)
		}
	}
	if _, ok := product(out); !ok {
		return nil, Errorf(ErrInvalid, "Broadcast", "%v and %v: %s", a.Clone(), b.Clone(), countRule(out))
	}
	return out, nil
}

// Axis resolves an axis that may count from the end: it must be in [-rank, rank-1].
func Axis(op string, axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, Errorf(ErrInvalid, op, "axis %d is outside [%d,%d] of rank %d", axis, -rank, rank-1, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}
