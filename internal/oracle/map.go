package oracle

import "github.com/restride/restride/layout"

// Map sets the elements of to bits that dst has at d to those of a table, which begins
// with its element first, whose numbers src's elements of from bits at s are.
func Map(dst []byte, d layout.Layout, to int, src []byte, s layout.Layout, from int, table []byte, first int64) {
	walk(d, s, func(p, q int64) {
		var x [1]byte
		move(x[:], 0, src, q, from)
		move(dst, p, table, first+int64(x[0]), to)
	})
}

// mapped reports whether a map has widths that can be walked.
func (c Case) mapped() bool {
	from, to := c.SrcType.Bits(), c.DstType.Bits()
	return from >= 2 && from <= 8 && to >= 2 && to <= 32
}

// table is where the table of a map lies: as many elements as its source has patterns.
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
