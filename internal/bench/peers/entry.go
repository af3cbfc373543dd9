package peers

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// Entry is a case in the peers' form.
type Entry struct {
	Name  string   `json:"name"`
	Class string   `json:"class"`
	Case  string   `json:"case"`
	Op    string   `json:"op"` // "copy", "convert", "fill" or "take"; others, such as "where", have operands that are not sent
	Dst   Location `json:"dst"`
	Src   Location `json:"src"` // a fill has none: its length is 0
	// Pattern is the bytes of an element that a fill writes, the lowest first, in
	// hexadecimal digits.
	Pattern  string   `json:"pattern,omitempty"`
	At       *Indices `json:"at,omitempty"` // a take's
	Logical  int64    `json:"logical_bytes"`
	Rotation int      `json:"turns"` // sets of buffers, which calls use in turn
}

// Location is where elements lie, in elements from the start of their buffer.
type Location struct {
	Type    string  `json:"type"` // ONNX's name
	Bits    int     `json:"bits"`
	Dims    []int64 `json:"dims"`
	Strides []int64 `json:"strides"`
	Offset  int64   `json:"offset"`
	Length  int64   `json:"length"` // of the buffer
	Recipe  *Recipe `json:"recipe"` // null: there is none
}

// Indices are a take's, of the shape of its destination: a stride of 0 is an axis along
// which all elements share an index. Src is the whole table, and has another extent along Axis:
// dst[..., i, ...] is src[..., at[..., i, ...], ...]. Peers draw the indices, uniform in that
// extent.
type Indices struct {
	Location
	Axis int `json:"axis"`
}

// NewEntry describes a case at a size. A copy of packed elements that can be moved as whole
// bytes becomes a copy of bytes, for libraries without such types.
func NewEntry(c cases.Case, bytes int64, rotation int) (e Entry, err error) {
	at, err := c.At(bytes)
	if err != nil {
		return e, err
	}
	e = Entry{Name: c.Name, Class: c.Class, Case: at.String(), Op: string(at.Op), Rotation: rotation}
	if e.Logical, err = cases.LogicalBytes(at); err != nil {
		return e, err
	}
	if at.Op == oracle.OpCopy {
		at = asBytes(at)
	}
	e.Dst = locate(at.Dst, at.DstType)
	if at.How != (oracle.Case{}).How {
		return e, fmt.Errorf("%w: %v: peers are told no rounding", layout.ErrUnsupported, at)
	}
	switch at.Op {
	case oracle.OpFill:
		e.Pattern = hex.EncodeToString(cases.Pattern(at.DstType))
	case oracle.OpTake:
		table, axis, err := tableOf(at)
		if err != nil {
			return e, err
		}
		e.Src, e.At = locate(table, at.SrcType), &Indices{locate(at.At, at.AtType), axis}
	default:
		e.Src = locate(at.Src, at.SrcType)
	}
	return e, nil
}

// tableOf is the whole table of a take, and the axis along which indices select: the one
// along which its source does not move.
func tableOf(o oracle.Case) (table layout.Layout, axis int, err error) {
	dims, strides := o.Src.Shape(), o.Src.Strides()
	axis = slices.Index(strides, 0)
	if axis < 0 || slices.Contains(strides[axis+1:], 0) {
		return table, axis, fmt.Errorf("%w: %v: its source does not stand still along one axis", layout.ErrUnsupported, o)
	}
	dims[axis], strides[axis] = o.By[0].Extent, o.By[0].Stride
	table, err = layout.Strided(dims, strides, o.Src.Offset())
	return table, axis, err
}

func locate(l layout.Layout, t layout.DType) Location {
	x := Location{Type: t.String(), Bits: t.Bits(), Dims: l.Shape(), Strides: l.Strides(), Offset: l.Offset(), Recipe: recipeOf(l)}
	if _, high, ok := l.Extent(); ok {
		x.Length = high + 1
	}
	return x
}

// asBytes returns a copy of packed elements as a copy of bytes, if possible.
func asBytes(c oracle.Case) oracle.Case {
	per := 8 / int64(c.DstType.Bits())
	if per < 2 {
		return c
	}
	dst, ok := folded(c.Dst, per)
	if !ok {
		return c
	}
	src, ok := folded(c.Src, per)
	if !ok {
		return c
	}
	c.Dst, c.Src, c.DstType, c.SrcType = dst, src, layout.Uint8, layout.Uint8
	return c
}

// folded returns a layout of groups of n elements, contiguous along its last axis, if all
// elements form such groups.
func folded(l layout.Layout, per int64) (layout.Layout, bool) {
	dims, strides, last := l.Shape(), l.Strides(), l.Rank()-1
	if last < 0 || strides[last] != 1 || dims[last]%per != 0 || l.Offset()%per != 0 {
		return l, false
	}
	dims[last] /= per
	for i := range last {
		if strides[i]%per != 0 {
			return l, false
		}
		strides[i] /= per
	}
	out, err := layout.Strided(dims, strides, l.Offset()/per)
	return out, err == nil
}
