package bench

import (
	"github.com/restride/restride/layout"
)

// List describes cases at a size, for peers.
func List(cases []Case, bytes int64) ([]Entry, error) {
	entries := make([]Entry, 0, len(cases))
	for _, c := range cases {
		at, err := c.At(bytes)
		if err != nil {
			return nil, err
		}
		e := Entry{Name: c.Name, Class: c.Class, Case: at.String(), Op: string(at.Op)}
		e.Dst, e.Src = place(at.Dst, at.DstType), place(at.Src, at.SrcType)
		if e.Logical, err = LogicalBytes(at); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func place(l layout.Layout, t layout.DType) Place {
	_, high, ok := l.Extent()
	if !ok {
		high = -1
	}
	return Place{t.String(), t.Bits(), l.Shape(), l.Strides(), l.Offset(), high + 1}
}
