package cpu

import (
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// Map looks up each element of src in table and writes the result to dst.
func (q *queue) Map(dst, src, table device.Operand) error {
	const op = "Map"
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.end()
	if err := backend.CheckMap(&dst, &src, &table); err != nil {
		return err
	}
	to, from, err := q.usePair(op, &dst, &src)
	if err != nil {
		return err
	}
	entries, err := q.use(op, "table", table.Buffer)
	if err != nil {
		return err
	}
	if dst.Layout.Count() == 0 {
		return nil
	}
	m := &mapping{dst, src, table, to.base, from.base, entries.base}
	return q.do(op, m, to, from, entries)
}

// mapping is a checked Map, whose job depends on the table's elements.
type mapping struct {
	dst, src, table   device.Operand
	to, from, entries unsafe.Pointer
}

func (m *mapping) perform(*scratch) (int64, error) {
	j := jobs.Get().(*job)
	defer j.release()
	j.prepareMap(&m.dst, &m.src, readTable(m.entries, &m.table))
	j.dst, j.src = m.to, m.from
	return j.perform(nil)
}

func (m *mapping) release() {}

// readTable reads the elements of a table, of up to 32 bits each.
func readTable(p unsafe.Pointer, table *device.Operand) *[256]uint64 {
	all := new([256]uint64)
	at, bits := table.Layout.Offset(), int64(table.Type.Bits())
	for x := range all[:table.Layout.Count()] {
		if bits < 8 {
			all[x] = uint64(getBits(p, (at+int64(x))*bits, bits))
			continue
		}
		for k, b := range span(p, (at+int64(x))*bits/8, bits/8) {
			all[x] |= uint64(b) << (8 * k)
		}
	}
	return all
}

// prepareMap sets the pair for a checked map that has elements: a conversion with the table, or an
// unpacking if elements below a byte become bytes.
func (p *pair) prepareMap(dst, src *device.Operand, table *[256]uint64) {
	d, s := dst.Layout, src.Layout
	layout.Simplify(&d, &s)
	dBits, sBits := dst.Type.Bits(), src.Type.Bits()
	if dBits == sBits {
		wide := layout.Widen(sBits, 8, &d, &s)
		table = combine(table, sBits, wide)
		dBits, sBits = wide, wide
	}
	p.cast = nil
	unpacks := dBits == 8 && sBits < 8
	if !unpacks {
		p.cast = tableCaster(table, dBits, sBits)
	}
	p.load(&d, &s, dBits, sBits, false)
	p.kind = convert
	if unpacks {
		p.meaning = new(meaning)
		for x, v := range table[:16] {
			p.meaning.bytes[x] = byte(v)
		}
	}
}

// combine returns a table for runs of elements viewed as wider elements, from a table for single
// elements, whose width is bits on both sides.
func combine(table *[256]uint64, bits, wide int) *[256]uint64 {
	if bits == wide {
		return table
	}
	all := new([256]uint64)
	for x := range 1 << wide {
		for at := 0; at < wide; at += bits {
			all[x] |= table[x>>at&(1<<bits-1)] << at
		}
	}
	return all
}

// tableCaster returns the caster that looks elements up in a table.
func tableCaster(table *[256]uint64, dBits, sBits int) *caster {
	c := &caster{dSize: int64(max(dBits/8, 1)), sSize: 1, loop: tableLoop(table, dBits)}
	if sBits <= 4 || dBits <= 8 {
		c.byTable(table, dBits)
	}
	return c
}
