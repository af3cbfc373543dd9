package oracle

import "github.com/restride/restride/layout"

// Map sets the elements of dst, of to bits at d, to the elements of a table that begins at its
// element first, indexed by the elements of src, of from bits at s.
func Map(dst []byte, d layout.Layout, to int, src []byte, s layout.Layout, from int, table []byte, first int64) {
	walk(d, s, func(p, q int64) {
		var x [1]byte
		move(x[:], 0, src, q, from)
		move(dst, p, table, first+int64(x[0]), to)
	})
}

// mapped reports whether a map has widths that the walk supports.
func (c Case) mapped() bool {
	from, to := c.SrcType.Bits(), c.DstType.Bits()
	return from >= 2 && from <= 8 && to >= 2 && to <= 32
}

// table is the layout of a map's table: one element for each pattern of its source.
func (c Case) table() (layout.Layout, error) {
	return layout.Strided([]int64{1 << min(c.SrcType.Bits(), 8)}, []int64{1}, c.Table)
}

func (c Case) tableSize() int64 {
	l, err := c.table()
	if err != nil {
		return 1 << 40
	}
	return slots(l, c.DstType)
}
