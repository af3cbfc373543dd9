package quant

import (
	"slices"

	"github.com/restride/restride/internal/digits"
	"github.com/restride/restride/layout"
)

// field is a part of elements: bits of all, starting at lo.
type field struct{ all, lo, bits int64 }

// errParts: elements that a number must be added to are not moved as a whole.
var errParts = layout.Errorf(layout.ErrUnsupported, "quant", "a number is added to elements that lie in parts")

// added returns the table with which a move of a field adds a number to elements, as far as
// their bits go. Elements of width bits hold one or more fields. nil: the field does not
// change.
func added(by int64, f field, width int64) ([]byte, error) {
	if by == 0 {
		return nil, nil
	}
	count := int64(1) << f.all
	switch by = (by%count + count) % count; {
	case by == 0:
		return nil, nil
	case f.bits == f.all:
	case by != count/2: // half the range only flips the highest bit
		return nil, errParts
	case f.lo+f.bits < f.all:
		return nil, nil
	}
	if width%f.bits != 0 {
		return nil, errParts
	}
	by >>= f.lo
	mask := int64(1)<<f.bits - 1
	table := make([]byte, 1<<width)
	for v := range int64(len(table)) {
		for at := int64(0); at < width; at += f.bits {
			table[v] |= byte((v>>at + by) & mask << at)
		}
	}
	return table, nil
}

// looked returns a move of whole elements that the table gives for each source byte.
func looked(steps []digits.Step, d, s place) (move, error) {
	m := move{width: d.bits, wide: true, table: s.table}
	whole := (d.bits == 2 || d.bits == 4 || d.bits == 8) && d.lo == 0 && d.less == 0
	var dims, dst, src []int64
	dstAt, srcAt := d.offset, s.offset
	for _, st := range steps {
		dstAt, srcAt = dstAt+st.DstAt, srcAt+st.SrcAt
		if st.Count > 1 {
			dims, dst, src = append(dims, st.Count), append(dst, st.Dst/d.bits), append(src, st.Src/8)
			whole = whole && st.Dst%d.bits == 0 && st.Src%8 == 0
		}
	}
	if !whole || dstAt%d.bits != 0 || srcAt%8 != 0 {
		return m, layout.Errorf(layout.ErrUnsupported, "quant", "elements of %d bits, which a table has for bytes, in parts", d.bits)
	}
	m.dst, m.src = d.tensor, s.tensor
	var err error
	if m.dstLayout, err = layout.Strided(dims, dst, dstAt/d.bits); err == nil {
		m.srcLayout, err = layout.Strided(dims, src, srcAt/8)
	}
	return m, err
}

// packedTable returns a table with elements of the given bits packed into bytes.
func packedTable(table []byte, bits int64) []byte {
	if bits == 8 {
		return table
	}
	per := int(8 / bits)
	var out []byte
	for some := range slices.Chunk(table, per) {
		b := byte(0)
		for i, v := range some {
			b |= v << (int64(i) * bits)
		}
		out = append(out, b)
	}
	return out
}
