package layout

import (
	"fmt"
	"math/bits"
	"slices"
)

// inline is the highest rank whose layouts allocate nothing.
const inline = 8

// Layout maps a tensor's index to an element's position in memory:
//
//	position = offset + index[0]*stride[0] + ... + index[r-1]*stride[r-1]
//
// Positions, offset and strides count elements, not bytes, so that a 4-bit
// tensor may start at any nibble. Strides may be zero (broadcast) or negative
// (reversed). A Layout is an immutable value; the zero Layout is a scalar at
// position 0.
//
// Every Layout keeps two promises, checked where it is made: its element count
// fits an int64, and no position is negative or overflows. An empty layout has
// strides 0.
type Layout struct {
	offset        int64
	rank          int
	dims, strides [inline]int64
	wide          *wide // dims and strides when rank > inline
}

type wide struct{ dims, strides []int64 }

// blank returns a layout of the given rank with everything zero, to be filled
// through axes.
func blank(rank int, offset int64) Layout {
	l := Layout{offset: offset, rank: rank}
	if rank > inline {
		l.wide = &wide{make([]int64, rank), make([]int64, rank)}
	}
	return l
}

// axes gives access to dims and strides, wherever they are.
func (l *Layout) axes() (dims, strides []int64) {
	if l.wide != nil {
		return l.wide.dims, l.wide.strides
	}
	return l.dims[:l.rank], l.strides[:l.rank]
}

// Contiguous returns the row-major layout of a shape, without gaps, from
// position 0.
func Contiguous(dims ...int64) (Layout, error) { return contiguous(dims, 0) }

func contiguous(shape []int64, offset int64) (Layout, error) {
	n, ok := product(shape)
	if !ok {
		return Layout{}, Errorf(ErrInvalid, "Contiguous", "%v: %s", Shape(shape).Clone(), countRule(shape))
	}
	l := blank(len(shape), offset)
	dims, strides := l.axes()
	copy(dims, shape)
	if n == 0 {
		return l, nil
	}
	step := int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		strides[i] = step
		step *= dims[i]
	}
	return l, nil
}

// Strided returns a layout with the given strides and offset, in elements. No
// position may be negative or overflow an int64.
func Strided(dims Shape, strides []int64, offset int64) (Layout, error) {
	refuse := func(rule string) (Layout, error) {
		return Layout{}, Errorf(ErrInvalid, "Strided", "dims %v, strides %v, offset %d: %s",
			dims.Clone(), Shape(strides).Clone(), offset, rule)
	}
	if len(dims) != len(strides) {
		return refuse("there must be as many strides as dims")
	}
	n, ok := product(dims)
	if !ok {
		return refuse(countRule(dims))
	}
	if offset < 0 {
		return refuse("the offset is negative")
	}
	l := blank(len(dims), offset)
	d, s := l.axes()
	copy(d, dims)
	if n == 0 {
		return l, nil
	}
	lo, hi := offset, offset
	for i, stride := range strides {
		// The far end of axis i, from the near one.
		over, span := bits.Mul64(uint64(dims[i]-1), magnitude(stride))
		if over != 0 || span > 1<<63-1 {
			return refuse("a position overflows int64")
		}
		if stride < 0 {
			if lo -= int64(span); lo < 0 {
				return refuse("a position is negative")
			}
		} else if hi += int64(span); hi < 0 {
			return refuse("a position overflows int64")
		}
	}
	copy(s, strides)
	return l, nil
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// Rank returns the number of axes.
func (l Layout) Rank() int { return l.rank }

// Dim returns the extent of an axis in [0, Rank).
func (l Layout) Dim(axis int) int64 {
	if l.wide != nil {
		return l.wide.dims[axis]
	}
	return l.dims[:l.rank][axis]
}

// Stride returns the distance, in elements, between neighbours along an axis
// in [0, Rank).
func (l Layout) Stride(axis int) int64 {
	if l.wide != nil {
		return l.wide.strides[axis]
	}
	return l.strides[:l.rank][axis]
}

// Offset returns the position, in elements, of the first element.
func (l Layout) Offset() int64 { return l.offset }

// Shape returns a copy of the extents.
func (l Layout) Shape() Shape { return l.AppendDims(make(Shape, 0, l.rank)) }

// Strides returns a copy of the strides.
func (l Layout) Strides() []int64 {
	_, s := l.axes()
	return append(make([]int64, 0, len(s)), s...)
}

// AppendDims appends the extents to dst: Shape without the allocation.
func (l Layout) AppendDims(dst []int64) []int64 {
	d, _ := l.axes()
	return append(dst, d...)
}

// Count returns the number of elements.
func (l *Layout) count() int64 {
	n := int64(1)
	d, _ := l.axes()
	for _, d := range d {
		n *= d
	}
	return n
}

// Count returns the number of elements.
func (l Layout) Count() int64 { return l.count() }

// HasShape reports whether the layout has exactly these extents.
func (l Layout) HasShape(dims ...int64) bool {
	d, _ := l.axes()
	return slices.Equal(d, dims)
}

// SameShape reports whether two layouts have the same extents.
func (l Layout) SameShape(m Layout) bool {
	a, _ := l.axes()
	b, _ := m.axes()
	return slices.Equal(a, b)
}

// Equal reports whether two layouts have the same extents, strides and offset.
func (l Layout) Equal(m Layout) bool {
	_, a := l.axes()
	_, b := m.axes()
	return l.offset == m.offset && l.SameShape(m) && slices.Equal(a, b)
}

// At returns the position of the element with the given index. It panics, as a
// Go slice does, if the index has the wrong length or is out of range.
func (l Layout) At(index ...int64) int64 {
	dims, strides := l.axes()
	if len(index) != len(dims) {
		panic(fmt.Sprintf("layout: index of length %d into rank %d", len(index), len(dims)))
	}
	p := l.offset
	for i, x := range index {
		if x < 0 || x >= dims[i] {
			panic(fmt.Sprintf("layout: index %d out of range on axis %d of extent %d", x, i, dims[i]))
		}
		p += x * strides[i]
	}
	return p
}

// String writes the layout as [2,3]:{3,1}+5: extents, strides, offset.
func (l Layout) String() string {
	s := []byte(Shape(l.Strides()).String())
	s[0], s[len(s)-1] = '{', '}'
	return fmt.Sprintf("%v:%s+%d", l.Shape(), s, l.offset)
}
