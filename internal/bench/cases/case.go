package cases

import (
	"fmt"
	"math"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// Reference is the size, in bytes, at which cases have the shapes of published figures. A case
// writes about that many bytes.
const Reference = 64 << 20

// Case is an operation on layouts, at any size.
type Case struct {
	Name             string // such as "b-nchw-nhwc/16"
	Class            string // its difficulty, such as "transpose"
	Op               oracle.Op
	DstType, SrcType layout.DType // a fill has only DstType

	dims []int64 // of the dense tensor that src is a view of, at Reference
	grow []int   // the axes that grow with the size
	next int     // the axis that shrinks when these are 1; 0: the longest of the others
	src  view    // nil: the tensor itself
	dst  view    // of a dense tensor of src's shape; nil: itself

	// src of a take, and dst of a put, is a view of its table. The indices select half of the
	// elements along axis.
	axis int
	own  bool // each element has its own index; false: elements share them along axis

	// For a where: the views cond and b, of a dense tensor of src's shape. For scalings: the
	// view of the scales, and the types of these and of the zero points.
	cond, b, scale      view
	scaleType, zeroType layout.DType

	fixed *oracle.Case // a case of one size, which has none of the fields above
}

// view makes a layout of a dense one.
type view func(layout.Layout) (layout.Layout, error)

// At scales the case to a size, of at least 1, unless it is a fixed one. Axes stay multiples of the power of two
// that divides them, up to 64, while they are longer than that. Where the axes that grow are 1,
// such as a batch of one image, another one shrinks.
func (c Case) At(bytes int64) (oracle.Case, error) {
	if bytes < 1 {
		return oracle.Case{}, layout.Errorf(device.ErrInvalid, "Case", "%s at %d bytes: want at least 1", c.Name, bytes)
	}
	if c.fixed != nil {
		return *c.fixed, nil
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
	out := oracle.Case{Op: c.Op, DstType: c.DstType, SrcType: c.SrcType}
	src, err := c.src.of(dims)
	if err == nil && (c.Op == oracle.OpTake || c.Op == oracle.OpPut) {
		src, err = c.index(&out, src)
	}
	if err == nil {
		out.Dst, err = c.dst.of(src.Shape())
	}
	if err == nil {
		err = c.beside(&out)
	}
	if c.Op == oracle.OpPut {
		src, out.Dst = out.Dst, src
	}
	if err != nil {
		return oracle.Case{}, fmt.Errorf("%s at %d bytes: %w", c.Name, bytes, err)
	}
	if c.Op != oracle.OpFill {
		out.Src = src
	}
	return out, nil
}

// beside makes the other inputs: conditions, a where's other side, terms.
func (c Case) beside(out *oracle.Case) (err error) {
	dims := out.Dst.Shape()
	switch c.Op {
	case oracle.OpWhere:
		if out.Cond, err = c.cond.of(dims); err == nil {
			out.B, err = c.b.of(dims)
		}
	case oracle.OpDequantize, oracle.OpQuantize:
		l, err := c.scale.of(dims)
		if err != nil {
			return err
		}
		out.Terms.Scale = oracle.Term{Layout: l, Type: c.scaleType}
		if c.zeroType != layout.Invalid {
			out.Terms.Zero = oracle.Term{Layout: l, Type: c.zeroType}
		}
	}
	return err
}

// index makes the indices of a take or a put, and returns the layout of its table's elements.
func (c Case) index(out *oracle.Case, table layout.Layout) (src layout.Layout, err error) {
	out.AtType = layout.Int64
	out.By = []layout.Index{{Extent: table.Dim(c.axis), Stride: table.Stride(c.axis)}}
	dims, strides := table.Shape(), table.Strides()
	dims[c.axis], strides[c.axis] = max(dims[c.axis]/2, 1), 0
	if src, err = layout.Strided(dims, strides, table.Offset()); err != nil {
		return src, err
	}
	indices := dims.Clone()
	for axis := range indices {
		if !c.own && axis != c.axis {
			indices[axis] = 1
		}
	}
	if out.At, err = layout.Contiguous(indices...); err == nil {
		out.At, err = out.At.Expand(dims...)
	}
	return src, err
}

// scale multiplies the length of an axis.
func scale(n int64, factor float64) int64 {
	unit := min(n&-n, 64)
	n = max(int64(math.Round(float64(n)*factor)), 1)
	if n > unit {
		n -= n % unit
	}
	return n
}

// shrinks returns the axis that shrinks when the growing ones are 1.
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
