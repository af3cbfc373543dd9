package bench

import (
	"encoding/hex"

	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// Entry is a case of the list that peers read.
type Entry struct {
	Name  string `json:"name"`
	Class string `json:"class"`
	Case  string `json:"case"`
	Op    string `json:"op"` // "copy", "convert", "fill" or "take"
	Dst   Place  `json:"dst"`
	Src   Place  `json:"src"` // of a fill there is none: its length is 0
	// Pattern is the bytes of an element that a fill writes, the lowest first, in
	// hexadecimal digits.
	Pattern string   `json:"pattern,omitempty"`
	At      *Indices `json:"at,omitempty"` // a take's
	Logical int64    `json:"logical_bytes"`
	Turns   int      `json:"turns"` // how many sets of buffers take turns, call by call
}

// Place is where elements lie, in elements from the start of their buffer.
type Place struct {
	Type    string  `json:"type"` // ONNX's name
	Bits    int     `json:"bits"`
	Dims    []int64 `json:"dims"`
	Strides []int64 `json:"strides"`
	Offset  int64   `json:"offset"`
	Length  int64   `json:"length"` // of the buffer
	Recipe  *Recipe `json:"recipe"` // null: operators do not make it
}

// Indices say where a take's indices lie, of the shape of its destination: axes have
// a stride of 0 along which all elements have one index. Src is all that there is to
// take from, and has another extent along an axis: dst[..., i, ...] is
// src[..., at[..., i, ...], ...]. Peers draw the indices by themselves, each in that
// extent as likely as any other.
type Indices struct {
	Place
	Axis int `json:"axis"`
}

// List describes cases at a size, for peers. Copies of packed elements that lie as
// whole bytes do are listed as copies of these: so libraries without such types
// have them. Their buffers take turns as ours do on a processor.
func List(cases []Case, bytes int64) ([]Entry, error) { return entries(cases, bytes, footprint()) }

func entries(cases []Case, bytes, footprint int64) ([]Entry, error) {
	all := make([]Entry, 0, len(cases))
	for _, c := range cases {
		at, err := c.At(bytes)
		if err != nil {
			return nil, err
		}
		e := Entry{Name: c.Name, Class: c.Class, Case: at.String(), Op: string(at.Op)}
		size, err := at.size()
		if err != nil {
			return nil, err
		}
		e.Turns = turns(bytes, size, footprint)
		if e.Logical, err = LogicalBytes(at); err != nil {
			return nil, err
		}
		if at.Op == oracle.OpCopy {
			at.Case = asBytes(at.Case)
		}
		e.Dst = place(at.Dst, at.DstType)
		switch at.Op {
		case oracle.OpFill:
			e.Pattern = hex.EncodeToString(at.pattern())
		case OpTake:
			table, err := at.table()
			if err != nil {
				return nil, err
			}
			e.Src, e.At = place(table, at.SrcType), &Indices{place(at.At, at.AtType), at.Axis}
		default:
			e.Src = place(at.Src, at.SrcType)
		}
		all = append(all, e)
	}
	return all, nil
}

func place(l layout.Layout, t layout.DType) Place {
	p := Place{Type: t.String(), Bits: t.Bits(), Dims: l.Shape(), Strides: l.Strides(), Offset: l.Offset(), Recipe: recipeOf(l)}
	if _, high, ok := l.Extent(); ok {
		p.Length = high + 1
	}
	return p
}

// asBytes returns a copy of packed elements as one of bytes, if it is one.
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

// folded returns a layout of groups of so many elements, which lie along its last
// axis one after the other, if all of them do.
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
