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
// Positions, offset and strides count elements, not bytes, so that a 4-bit tensor may start at
// any nibble. Strides may be zero (broadcast) or negative (reversed). A Layout is an immutable
// value; the zero Layout is a scalar at position 0.
//
// Every Layout keeps these promises, which are checked when it is made: its rank is at most
// [MaxRank], its element count fits an int64, and no position is negative or overflows. An empty
// layout has strides 0.
type Layout struct {
	offset int64
	rank   int
	few    [inline]axis
	many   *[]axis // the axes when rank > inline
}

// axis is one axis of a layout: its extent and stride.
type axis struct{ dim, stride int64 }

// Methods that read a layout have a pointer receiver, for a copy of 152 bytes costs
// more than most of them. Those that return one take it by value, so that they can be
// chained, and are one line around a worker with pointers: the compiler inlines them,
// and a layout is then copied once in and once out.

// reset sets l, which must be the zero Layout, to the given rank with all axes zero, and returns
// the axes to be filled.
func (l *Layout) reset(rank int, offset int64) []axis {
	l.rank, l.offset = rank, offset
	if rank > inline {
		many := make([]axis, rank)
		l.many = &many
		return many
	}
	return l.few[:rank]
}

// fail resets l to the zero Layout, and returns the error.
func (l *Layout) fail(op, format string, args ...any) error {
	*l = Layout{}
	return Errorf(ErrInvalid, op, format, args...)
}

// axes returns the axes, wherever they are stored.
func (l *Layout) axes() []axis {
	if l.many != nil {
		return *l.many
	}
	return l.few[:l.rank]
}

// own makes sure that l shares its axes with no other layout, so that they may be written.
func (l *Layout) own() []axis {
	if l.many != nil {
		many := slices.Clone(*l.many)
		l.many = &many
	}
	return l.axes()
}

// Contiguous returns the row-major layout of a shape, without gaps, at position 0.
func Contiguous(dims ...int64) (l Layout, err error) {
	err = l.contiguous(dims)
	return l, err
}

func (l *Layout) contiguous(shape []int64) error {
	n, ok := product(shape)
	if !ok {
		return l.fail("Contiguous", "%v: %s", Shape(shape).Clone(), countRule(shape))
	}
	rowMajor(l.reset(len(shape), 0), shape, n)
	return nil
}

// rowMajor sets the axes to a shape of n elements, without gaps.
func rowMajor(axes []axis, shape []int64, n int64) {
	step := min(n, 1) // an empty layout has strides 0
	for i := len(axes) - 1; i >= 0; i-- {
		axes[i] = axis{shape[i], step}
		step *= shape[i]
	}
}

// Strided returns a layout with the given strides and offset, in elements. No
// position may be negative or overflow an int64.
func Strided(dims Shape, strides []int64, offset int64) (l Layout, err error) {
	err = l.strided(dims, strides, offset)
	return l, err
}

func (l *Layout) strided(dims Shape, strides []int64, offset int64) error {
	refuse := func(rule string) error {
		return l.fail("Strided", "dims %v, strides %v, offset %d: %s", dims.Clone(), Shape(strides).Clone(), offset, rule)
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
	axes := l.reset(len(dims), offset)
	if n == 0 {
		for i, d := range dims {
			axes[i].dim = d
		}
		return nil
	}
	lo, hi := offset, offset
	for i, stride := range strides {
		axes[i] = axis{dims[i], stride}
		// The distance between the two ends of axis i.
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
	return nil
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// Rank returns the number of axes.
func (l *Layout) Rank() int { return l.rank }

// Dim returns the extent of an axis in [0, Rank).
func (l *Layout) Dim(axis int) int64 { return l.axes()[axis].dim }

// Stride returns the distance, in elements, between neighbours along an axis
// in [0, Rank).
func (l *Layout) Stride(axis int) int64 { return l.axes()[axis].stride }

// Offset returns the position, in elements, of the first element.
func (l *Layout) Offset() int64 { return l.offset }

// Shape returns a copy of the extents.
func (l *Layout) Shape() Shape { return l.AppendDims(make(Shape, 0, l.rank)) }

// Strides returns a copy of the strides.
func (l *Layout) Strides() []int64 {
	strides := make([]int64, l.rank)
	for i, a := range l.axes() {
		strides[i] = a.stride
	}
	return strides
}

// AppendDims appends the extents to dst: Shape without the allocation.
func (l *Layout) AppendDims(dst []int64) []int64 {
	for _, a := range l.axes() {
		dst = append(dst, a.dim)
	}
	return dst
}

// Count returns the number of elements.
func (l *Layout) Count() int64 {
	n := int64(1)
	for _, a := range l.axes() {
		n *= a.dim
	}
	return n
}

// HasShape reports whether the layout has exactly these extents.
func (l *Layout) HasShape(dims ...int64) bool {
	if len(dims) != l.rank {
		return false
	}
	for i, a := range l.axes() {
		if a.dim != dims[i] {
			return false
		}
	}
	return true
}

// SameShape reports whether two layouts have the same extents.
func (l *Layout) SameShape(m *Layout) bool {
	a, b := l.axes(), m.axes()
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].dim != b[i].dim {
			return false
		}
	}
	return true
}

// SameAxes reports whether two layouts have the same extents and strides: only
// their offsets may differ.
func (l *Layout) SameAxes(m *Layout) bool {
	if l.rank != m.rank || l.rank > inline {
		return slices.Equal(l.axes(), m.axes())
	}
	for i := range l.few[:l.rank] {
		if l.few[i] != m.few[i] {
			return false
		}
	}
	return true
}

// Equal reports whether two layouts have the same extents, strides and offset.
func (l *Layout) Equal(m *Layout) bool {
	return l.offset == m.offset && l.SameAxes(m)
}

// At returns the position of the element with the given index. It panics, as a
// Go slice does, if the index has the wrong length or is out of range.
func (l *Layout) At(index ...int64) int64 {
	axes := l.axes()
	if len(index) != len(axes) {
		panic(fmt.Sprintf("layout: index of length %d into rank %d", len(index), len(axes)))
	}
	p := l.offset
	for i, x := range index {
		if x < 0 || x >= axes[i].dim {
			panic(fmt.Sprintf("layout: index %d out of range on axis %d of extent %d", x, i, axes[i].dim))
		}
		p += x * axes[i].stride
	}
	return p
}

// String writes the layout as [2,3]:{3,1}+5: extents, strides, offset.
func (l Layout) String() string {
	s := []byte(Shape(l.Strides()).String())
	s[0], s[len(s)-1] = '{', '}'
	return fmt.Sprintf("%v:%s+%d", l.Shape(), s, l.offset)
}
