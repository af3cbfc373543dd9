package cpu

import (
	"unsafe"

	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/layout"
)

// kind describes the loops of a copy or fill along the destination's innermost axis, and thus
// which mover fits; nest.Class describes where elements lie.
type kind uint8

const (
	dense kind = iota
	rows
	transpose // by tiles
	reversed
	strided   // a step apart on at least one side
	broadcast // the source's row is one element
	general   // the source is denser along another axis, but this is not a transpose
	convert   // between types
)

var kindNames = [...]string{"dense", "rows", "transpose", "reversed", "strided", "broadcast", "general", "convert"}

func (c kind) String() string { return kindNames[c] }

// axis is one loop. Steps are in bytes, or in elements below a byte (see pair.packed).
type axis = nest.Axis

// maxAxes bounds the rank after layout.Simplify: extents are at least 2, and their product fits an
// int64.
const maxAxes = 62

// ends are the memory of both sides.
type ends struct {
	dst, src unsafe.Pointer
	// clipLo and clipHi bound the elements below a byte that may be written: elements in the
	// bytes that this goroutine owns.
	clipLo, clipHi int64
	past           bool // results are written past the caches
}

// drop clears the addresses, which would keep memory alive.
func (e *ends) drop() { e.dst, e.src = nil, nil }

// fence orders what kernels wrote past the caches before later writes.
func (e *ends) fence() {
	if e.past {
		kernels.Fence()
	}
}

// pair is a simplified pair of layouts: where the elements are, how wide and how many.
type pair struct {
	ends
	kind         kind
	class        nest.Class // of a copy: where its elements lie
	strings      bool
	packed       bool     // positions count elements, not bytes: below a byte, or converted
	meaning      *meaning // of kind convert by bits: the results of unpacking
	cast         *caster  // of kind convert by value; nil: by bits
	dBits, sBits int      // width of an element
	dOff, sOff   int64
	rank         int
	axes         [maxAxes]axis // in the order of the destination's steps
	bytes        int64         // to be written
	near         nest.Near
}

// prepare sets the pair to a checked call, without addresses. A fill's source has the layout of
// its destination, with all elements at one address. False: there is nothing to do.
func (p *pair) prepare(f *form, dst, src *layout.Layout) bool {
	way := backend.AsCopy
	if f.op == opConvert {
		way = backend.ConversionOf(f.dst, f.src)
	}
	dBits, sBits, limit := f.dst.Bits(), f.src.Bits(), 8*int(f.align)
	fills, strings := f.op >= opFill, f.dst == layout.String
	p.cast = nil
	switch {
	case way == backend.ByValue:
		p.cast = casterOf(f.dst, f.src, f.how)
		limit = 0
	case way == backend.AsPack || strings:
		limit = 0
	}
	d, s := *dst, *src
	layout.Simplify(&d, &s)
	if d.Rank() == 1 && d.Dim(0) == 0 {
		return false
	}
	wide := layout.Widen(dBits, limit, &d, &s)
	switch {
	case strings:
		dBits, sBits = 8*stringSize, 8*stringSize
	case limit > 0 && dBits > limit && !looseAlignment:
		if fills {
			s, _ = layout.Layout{}.Expand(d.Shape()...) // cannot fail: this is d's shape
			fills = false
		}
		d, s, dBits = narrow(d, s, dBits, limit)
		sBits = dBits
	case limit > 0:
		dBits, sBits = wide, wide
	}
	p.load(&d, &s, dBits, sBits, strings)
	if way != backend.AsCopy {
		p.kind = convert
		p.meaning = meaningOf(f.src.Bits(), backend.IsSigned(f.src))
	}
	if fills {
		p.sOff = 0
		for i := range p.axes[:p.rank] {
			p.axes[i].S = 0
		}
	}
	return true
}

// narrow splits elements into runs of smaller ones, for memory that is not aligned.
func narrow(d, s layout.Layout, bits, limit int) (layout.Layout, layout.Layout, int) {
	part := int64(bits / limit)
	split := func(l layout.Layout) layout.Layout {
		dims, strides := l.Shape(), l.Strides()
		for i := range strides {
			strides[i] *= part
		}
		// It cannot fail: these positions are in the same bytes.
		l, _ = layout.Strided(append(dims, part), append(strides, 1), l.Offset()*part)
		return l
	}
	d, s = split(d), split(s)
	layout.Simplify(&d, &s)
	return d, s, limit
}

// load sets the pair to simplified layouts. Addresses are set later.
func (p *pair) load(d, s *layout.Layout, dBits, sBits int, strings bool) {
	p.dBits, p.sBits = dBits, sBits
	p.strings = strings
	p.packed = dBits < 8 || sBits < 8 || p.cast != nil
	p.kind, p.meaning = dense, nil
	p.clipLo, p.clipHi, p.past = 0, 1<<63-1, false
	du, su := int64(1), int64(1)
	if !p.packed {
		du, su = int64(dBits/8), int64(sBits/8)
	}
	p.rank, p.dOff, p.sOff = d.Rank(), d.Offset()*du, s.Offset()*su
	nest.Append(p.axes[:0], d, s)
	p.bytes = 1
	for i := range p.axes[:p.rank] {
		x := &p.axes[i]
		x.D, x.S = x.D*du, x.S*su
		p.bytes *= x.N
	}
	p.class = nest.ClassOf(p.axes[:p.rank], du, su)
	if p.rank == 0 {
		p.axes[0] = axis{N: 1, D: du, S: su}
		p.rank = 1
	}
	p.bytes = (p.bytes*int64(dBits) + 7) / 8
}

// classify sets the kind, unless it is convert, and the nearest axis.
func (p *pair) classify() {
	last := p.rank - 1
	in := &p.axes[last]
	du, su := p.unit(p.dBits), p.unit(p.sBits)
	p.near = nest.NearOf(p.axes[:p.rank], du, su)
	near := &p.near
	switch {
	case p.kind == convert:
	case near.Dense && (in.S == su || in.N == 1):
		p.kind = rows
		if p.rank == 1 {
			p.kind = dense
		}
	case near.Dense && in.S == 0:
		p.kind = broadcast
	case near.Dense && in.S == -su && !p.strings:
		p.kind = reversed
	case near.Outer >= 0 && nest.Magnitude(p.axes[near.Outer].S) < nest.Magnitude(in.S):
		p.kind = general
	default:
		p.kind = strided
	}
}

// unit is the step between neighbours in a dense row.
func (p *pair) unit(bits int) int64 {
	if p.packed {
		return 1
	}
	return int64(bits / 8)
}

// stepBits is the number of bits of a step of 1 in the destination.
func (p *pair) stepBits() int64 {
	if p.packed {
		return int64(p.dBits)
	}
	return 8
}

// streams reports whether to write past the caches, if kernels can. For tiles that pays off
// sooner: their lines are not in sequence, and would be loaded before they are written.
func (p *pair) streams() bool {
	least := streamBytes
	if p.kind == transpose {
		least /= 4
	}
	return kernels.Stream != nil && p.bytes >= least
}

// offsets returns the positions of an element, given its number in the order of the loops.
func (p *pair) offsets(number int64) (d, s int64) {
	d, s = p.dOff, p.sOff
	for k := p.rank - 1; k >= 0; k-- {
		x := &p.axes[k]
		i := number % x.N
		number /= x.N
		d += i * x.D
		s += i * x.S
	}
	return d, s
}
