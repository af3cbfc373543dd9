package bench

import (
	"fmt"
	"math"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// Reference is the size, in bytes, at which cases have the shapes that figures of
// other libraries are about. What a case moves there is about as much: some of
// these shapes are smaller, some larger.
const Reference = 64 << 20

// Case is an operation on layouts, at any size.
type Case struct {
	Name             string // as "b-nchw-nhwc/16"
	Class            string // what is hard about it, as "transpose"
	DstType, SrcType layout.DType

	dims []int64 // of the dense tensor that src is a view of, at Reference
	grow []int   // the axes that grow with the size
	next int     // the one that shrinks where these are 1; 0: the longest of the others
	src  view    // nil: the tensor itself
	dst  view    // of a dense tensor of src's shape; nil: itself
}

// view makes a layout of a dense one.
type view func(layout.Layout) (layout.Layout, error)

// At returns the case at a size, which says how much larger or smaller than at
// Reference it is. Axes keep the power of two that they are multiples of, up to 64,
// while they are longer than that. A batch cannot be less than one image: what is
// too large even so is made smaller along another axis.
func (c Case) At(bytes int64) (oracle.Case, error) {
	if bytes < 1 {
		return oracle.Case{}, layout.Errorf(device.ErrInvalid, "Case", "%s at %d bytes: want at least 1", c.Name, bytes)
	}
	factor := math.Pow(float64(bytes)/Reference, 1/float64(len(c.grow)))
	dims := slices.Clone(c.dims)
	for _, axis := range c.grow {
		dims[axis] = scale(dims[axis], factor)
	}
	want := float64(bytes) / Reference
	for axis, n := range dims {
		want *= float64(c.dims[axis]) / float64(n)
	}
	if next := c.shrinks(); want < .5 && next >= 0 {
		dims[next] = scale(dims[next], want)
	}
	out := oracle.Case{Op: oracle.OpCopy, DstType: c.DstType, SrcType: c.SrcType}
	if c.DstType.Bits() != c.SrcType.Bits() {
		out.Op = oracle.OpConvert
	}
	var err error
	if out.Src, err = c.src.of(dims); err == nil {
		out.Dst, err = c.dst.of(out.Src.Shape())
	}
	if err != nil {
		return oracle.Case{}, fmt.Errorf("%s at %d bytes: %w", c.Name, bytes, err)
	}
	return out, nil
}

// scale makes an axis longer or shorter.
func scale(n int64, factor float64) int64 {
	unit := min(n&-n, 64)
	n = max(int64(math.Round(float64(n)*factor)), 1)
	if n > unit {
		n -= n % unit
	}
	return n
}

// shrinks returns the axis that does when those that grow cannot any more.
func (c Case) shrinks() int {
	if c.next > 0 {
		return c.next
	}
	longest := -1
	for axis, n := range c.dims {
		if !slices.Contains(c.grow, axis) && (longest < 0 || n > c.dims[longest]) {
			longest = axis
		}
	}
	return longest
}

func (v view) of(dims []int64) (layout.Layout, error) {
	l, err := layout.Contiguous(dims...)
	if err != nil || v == nil {
		return l, err
	}
	return v(l)
}

// LogicalBytes is what an operation moves by its own account: the elements that
// are written, and as many that are read.
func LogicalBytes(c oracle.Case) (int64, error) {
	shape := c.Dst.Shape()
	written, err := shape.Bytes(c.DstType)
	if err != nil {
		return 0, err
	}
	read, err := shape.Bytes(c.SrcType)
	return written + read, err
}

// TouchedBytes is what memory moves at the least, in sectors of so many bytes: an
// element that is read often counts once, and gaps that are smaller than a sector
// count, too.
func TouchedBytes(c oracle.Case, sector int64) int64 {
	return touched(c.Dst, c.DstType.Bits(), sector) + touched(c.Src, c.SrcType.Bits(), sector)
}

func touched(l layout.Layout, width int, sector int64) int64 {
	if l.Count() == 0 {
		return 0
	}
	bits := int64(width)
	run, runs := bits, int64(1) // bits that are fetched in one piece, and how many of these
	for _, axis := range byStride(l) {
		if runs == 1 && axis.stride*bits-run < sector*8 {
			run = (axis.n-1)*axis.stride*bits + run
		} else {
			runs *= axis.n
		}
	}
	sectors := (run + sector*8 - 1) / (sector * 8)
	return runs * sectors * sector
}

type step struct{ n, stride int64 }

// byStride returns the axes along which elements differ, the narrowest first.
func byStride(l layout.Layout) []step {
	var all []step
	for i := range l.Rank() {
		s := step{l.Dim(i), max(l.Stride(i), -l.Stride(i))}
		if s.n == 1 || s.stride == 0 {
			continue
		}
		at := len(all)
		for at > 0 && all[at-1].stride > s.stride {
			at--
		}
		all = append(all[:at], append([]step{s}, all[at:]...)...)
	}
	return all
}

// slots is the bytes of a buffer that a layout fits.
func slots(l layout.Layout, t layout.DType) (int64, error) {
	_, high, ok := l.Extent()
	if !ok {
		return 0, nil
	}
	n, ok := layout.PackedBytes(high+1, t.Bits())
	if !ok {
		return 0, layout.Errorf(device.ErrInvalid, "Case", "%v%v takes more bytes than an int64 counts", t, l)
	}
	return n, nil
}
