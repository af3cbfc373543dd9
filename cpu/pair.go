package cpu

import (
	"strconv"
	"unsafe"

	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// class is what a copy or fill is along the destination's innermost axis, in the words
// of layout.Class, or convert. queue.KernelName tells it.
type class layout.Class

const (
	dense     = class(layout.ClassDense)
	rows      = class(layout.ClassRows)
	transpose = class(layout.ClassTranspose) // by tiles
	reversed  = class(layout.ClassReversed)
	strided   = class(layout.ClassStrided)   // a step apart on at least one side
	broadcast = class(layout.ClassBroadcast) // the source's row is one element
	general   = class(layout.ClassGeneral)   // the source is denser along another axis, but no transpose
	convert   = general + 1                  // between types
)

func (c class) String() string {
	if c == convert {
		return "convert"
	}
	return layout.Class(c).String()
}

// axis is one loop: its extent, and the step that either side makes. Steps are
// in bytes, or in elements where they are below a byte (see pair.packed).
type axis struct{ n, d, s int64 }

// maxAxes bounds the rank after layout.Simplify: extents are at least 2, and
// their product fits an int64.
const maxAxes = 62

// ends are the memory of both sides.
type ends struct {
	dst, src unsafe.Pointer
	// clipLo and clipHi bound the elements below a byte that may be written: those in
	// the bytes that this goroutine owns.
	clipLo, clipHi int64
	past           bool // results are written past the caches
}

// drop forgets the addresses, which would keep memory alive.
func (e *ends) drop() { e.dst, e.src = nil, nil }

// fence orders what kernels wrote past the caches before what comes next.
func (e *ends) fence() {
	if e.past {
		kernels.Fence()
	}
}

// pair is a simplified pair of layouts: where the elements are, how wide and how many.
type pair struct {
	ends
	class        class
	strings      bool
	packed       bool     // positions count elements, not bytes: below a byte, or converted
	meaning      *meaning // of class convert by bits: what unpacking makes of elements
	cast         *caster  // of class convert by value; nil: by bits
	dBits, sBits int      // the width of one element
	dOff, sOff   int64
	rank         int
	axes         [maxAxes]axis // in the order of the destination's steps
	bytes        int64         // that will be written
	near         nearness
}

// nearness says along which axes elements are near each other.
type nearness struct {
	dense bool // those of the destination, along the innermost axis, are neighbours
	// The axes, but for the innermost, along which the source's elements are nearest to
	// each other, and along which they are neighbours. -1: none.
	nearest, unit int
}

// prepare makes the pair of a checked call, without addresses. A fill's source
// has the layout of its destination, with all elements at one address. False: there is
// nothing to do.
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
			s, _ = layout.Layout{}.Expand(d.Shape()...) // cannot fail: it is d's shape
			fills = false
		}
		d, s, dBits = narrow(d, s, dBits, limit)
		sBits = dBits
	case limit > 0:
		dBits, sBits = wide, wide
	}
	p.load(&d, &s, dBits, sBits, strings)
	if way != backend.AsCopy {
		p.class = convert
		p.meaning = meaningOf(f.src.Bits(), backend.IsSigned(f.src))
	}
	if fills {
		p.sOff = 0
		for i := range p.axes[:p.rank] {
			p.axes[i].s = 0
		}
	}
	return true
}

// narrow expresses elements as runs of smaller ones, for memory that is not aligned.
func narrow(d, s layout.Layout, bits, limit int) (layout.Layout, layout.Layout, int) {
	part := int64(bits / limit)
	split := func(l layout.Layout) layout.Layout {
		dims, strides := l.Shape(), l.Strides()
		for i := range strides {
			strides[i] *= part
		}
		// It cannot fail: these positions are of the same bytes.
		l, _ = layout.Strided(append(dims, part), append(strides, 1), l.Offset()*part)
		return l
	}
	d, s = split(d), split(s)
	layout.Simplify(&d, &s)
	return d, s, limit
}

// load sets the pair to simplified layouts. Addresses come later.
func (p *pair) load(d, s *layout.Layout, dBits, sBits int, strings bool) {
	p.dBits, p.sBits = dBits, sBits
	p.strings = strings
	p.packed = dBits < 8 || sBits < 8 || p.cast != nil
	p.class, p.meaning = dense, nil
	p.clipLo, p.clipHi, p.past = 0, 1<<63-1, false
	du, su := int64(1), int64(1)
	if !p.packed {
		du, su = int64(dBits/8), int64(sBits/8)
	}
	p.rank, p.dOff, p.sOff = d.Rank(), d.Offset()*du, s.Offset()*su
	p.bytes = 1
	for i := range p.rank {
		n := d.Dim(i)
		p.axes[i] = axis{n, d.Stride(i) * du, s.Stride(i) * su}
		p.bytes *= n
	}
	if p.rank == 0 {
		p.axes[0] = axis{1, du, su}
		p.rank = 1
	}
	p.bytes = (p.bytes*int64(dBits) + 7) / 8
}

// classify sets the class, unless it is convert, and what is near.
func (p *pair) classify() {
	last := p.rank - 1
	in := &p.axes[last]
	du, su := p.unit(p.dBits), p.unit(p.sBits)
	p.near = nearness{dense: in.d == du || in.n == 1, nearest: -1, unit: -1}
	near := &p.near
	for i := last - 1; i >= 0; i-- {
		if near.unit < 0 && magnitude(p.axes[i].s) == su {
			near.unit = i
		}
		if near.nearest < 0 || magnitude(p.axes[i].s) < magnitude(p.axes[near.nearest].s) {
			near.nearest = i
		}
	}
	switch {
	case p.class == convert:
	case near.dense && (in.s == su || in.n == 1):
		p.class = rows
		if p.rank == 1 {
			p.class = dense
		}
	case near.dense && in.s == 0:
		p.class = broadcast
	case near.dense && in.s == -su && !p.strings:
		p.class = reversed
	case near.nearest >= 0 && magnitude(p.axes[near.nearest].s) < magnitude(in.s):
		p.class = general
	default:
		p.class = strided
	}
}

// unit is the step between neighbours in a dense row.
func (p *pair) unit(bits int) int64 {
	if p.packed {
		return 1
	}
	return int64(bits / 8)
}

// stepBits is how many bits a step of 1 is in the destination.
func (p *pair) stepBits() int64 {
	if p.packed {
		return int64(p.dBits)
	}
	return 8
}

// streams reports whether to write past the caches, where kernels can. For tiles that
// pays sooner: their lines do not come in sequence, and would be fetched to be written.
func (p *pair) streams() bool {
	least := streamBytes
	if p.class == transpose {
		least /= 4
	}
	return kernels.Stream != nil && p.bytes >= least
}

// offsets returns the positions of an element, given by its number in the order of the
// loops.
func (p *pair) offsets(number int64) (d, s int64) {
	d, s = p.dOff, p.sOff
	for k := p.rank - 1; k >= 0; k-- {
		x := &p.axes[k]
		i := number % x.n
		number /= x.n
		d += i * x.d
		s += i * x.s
	}
	return d, s
}

// name is the class and the width of an element, as KernelName tells them.
func (p *pair) name() string {
	switch {
	case p.strings:
		return p.class.String() + ".string"
	case p.packed:
		return "bits." + p.class.String() + "." + strconv.Itoa(p.dBits)
	}
	return p.class.String() + "." + strconv.Itoa(p.dBits)
}

func magnitude(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}
