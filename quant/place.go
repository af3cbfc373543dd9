package quant

import (
	"slices"

	"github.com/restride/restride/layout"
)

// slot locates some bits of a field's elements in a tensor, for any extents: at a position
// within a block; rows gives the order of the blocks. Without rows the tensor is one block.
type slot struct {
	role     role
	rows     string
	block    int64 // bits of a block
	at       int64 // position of its first bit in a block
	order    string
	pitch    int64 // bits from one element to the next
	lo, bits int64 // range of bits of an element
	// less is the difference between the actual number and the stored one, as far as its
	// bits go.
	less int64
	// table has the element for each stored byte, which represents several.
	table []byte
}

// place returns the slot's location in a tensor of a matrix with these extents.
func (s slot) place(tensor string, ext extents) place {
	inner := digits(s.order)
	_, at := lay(inner, s.pitch, ext)
	outer := digits(s.rows)
	_, first := lay(outer, s.block, ext)
	return place{tensor: tensor, offset: s.at + at + first, lo: s.lo, bits: s.bits, less: s.less, table: s.table, digits: append(outer, inner...)}
}

// place locates bits lo to lo+bits of a field's elements in a tensor: of all elements, or
// of those selected by digits with an only value. Several places together have all bits of
// all elements, each once.
type place struct {
	tensor string
	offset int64 // of the first bit
	lo     int64
	bits   int64
	less   int64   // as in slot
	table  []byte  // as in slot
	digits []digit // every axis of the field, in any order
}

// move copies elements of width bits, or a table's entries for them, between two tensors.
type move struct {
	dst, src             string
	width                int64
	dstLayout, srcLayout layout.Layout
	table                []byte // with elements of width bits; nil: plain copy
	wide                 bool   // the source's elements are bytes
}

// moves returns the copies that move a field between its places in the source and the
// target: the common refinement of both, digit by digit and bit by bit.
func moves(dst, src []place, ext extents) ([]move, error) {
	var out []move
	full := int64(0)
	for _, d := range dst {
		full = max(full, d.lo+d.bits)
	}
	for _, d := range dst {
		for _, s := range src {
			lo, hi := max(d.lo, s.lo), min(d.lo+d.bits, s.lo+s.bits)
			if lo >= hi {
				continue
			}
			some, err := common(d, s, lo, hi-lo, ext)
			if err != nil {
				return nil, err
			}
			for i := range some {
				if some[i].table == nil {
					some[i].table, err = added(s.less-d.less, field{full, lo, hi - lo}, some[i].width)
				}
				if err != nil {
					return nil, err
				}
			}
			out = append(out, some...)
		}
	}
	return out, nil
}

// part is a range of a digit's values common to both sides.
type part struct {
	div, from, count int64
	size             int64 // of the digit; 0: the rest of the axis
}

// common returns the copies of the bits from lo on that two places share.
func common(d, s place, lo, bits int64, ext extents) ([]move, error) {
	var out []move
	for _, d := range d.without(s.digits) {
		for _, s := range s.without(d.digits) {
			some, err := boxed(d, s, lo, bits, ext)
			if err != nil {
				return nil, err
			}
			out = append(out, some...)
		}
	}
	return out, nil
}

// without splits a place with a digit of several values into places of single values, where
// others split that digit.
func (p place) without(others []digit) []place {
	for i, d := range p.digits {
		cut := func(o digit) bool {
			inside := func(at int64) bool { return at > d.div && at < d.div*d.size }
			return o.axis == d.axis && (inside(o.div) || inside(o.div*o.size))
		}
		if d.several == 0 || !slices.ContainsFunc(others, cut) {
			continue
		}
		var all []place
		for v := range d.several {
			one := p
			one.digits = slices.Clone(p.digits)
			one.digits[i].only, one.digits[i].several = d.only+v, 0
			one.offset += d.stride * v
			all = append(all, one)
		}
		return all
	}
	return []place{p}
}

// boxed is common for places where nothing splits a digit with several values.
func boxed(d, s place, lo, bits int64, ext extents) ([]move, error) {
	boxes := [][]step{nil}
	for _, axis := range axes(ext) {
		sizes, err := refine(axis, ext[axis], d.digits, s.digits)
		if err != nil {
			return nil, err
		}
		var more [][]step
		for _, b := range split(sizes, ext[axis]) {
			steps, some := walk(axis, b, d.digits, s.digits)
			if !some {
				continue
			}
			for _, have := range boxes {
				more = append(more, slices.Concat(have, steps))
			}
		}
		boxes = more
	}
	var out []move
	for _, steps := range boxes {
		if s.table != nil {
			m, err := looked(steps, d, s)
			if err != nil {
				return nil, err
			}
			out = append(out, m)
			continue
		}
		steps = append(steps, step{count: bits, dst: 1, src: 1, dstAt: d.offset + lo - d.lo, srcAt: s.offset + lo - s.lo})
		m, err := join(steps)
		if err != nil {
			return nil, err
		}
		m.dst, m.src = d.tensor, s.tensor
		out = append(out, m)
	}
	return out, nil
}

// axes lists the axes in a fixed order.
func axes(ext extents) []byte {
	var out []byte
	for a := range ext {
		out = append(out, a)
	}
	slices.Sort(out)
	return out
}

// refine returns the numbers at which digits of either side start, in ascending order from
// 1. Each must be a multiple of its predecessor.
func refine(axis byte, extent int64, sides ...[]digit) ([]int64, error) {
	at := []int64{1}
	for _, ds := range sides {
		for _, d := range ds {
			if d.axis == axis {
				at = append(at, d.div)
				if d.size > 0 {
					at = append(at, d.div*d.size)
				}
			}
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	for len(at) > 1 && at[len(at)-1] >= extent {
		at = at[:len(at)-1]
	}
	for i, n := range at[1:] {
		if n%at[i] != 0 {
			return nil, layout.Errorf(layout.ErrUnsupported, "quant", "axis %c is cut at %d and at %d, which is no multiple", axis, at[i], n)
		}
	}
	return at, nil
}

// split divides the indices below extent into boxes of digits that start at the numbers in
// at: one box, unless extent is not a multiple of one of them.
func split(at []int64, extent int64) [][]part {
	div := at[len(at)-1]
	count, rest := extent/div, extent%div
	var boxes [][]part
	if count > 0 {
		whole := []part{{div, 0, count, 0}}
		for i := len(at) - 2; i >= 0; i-- {
			n := at[i+1] / at[i]
			whole = append(whole, part{at[i], 0, n, n})
		}
		boxes = append(boxes, whole)
	}
	if rest > 0 {
		for _, b := range split(at[:len(at)-1], rest) {
			b[0].size = div / b[0].div
			boxes = append(boxes, append([]part{{div, count, 1, 0}}, b...))
		}
	}
	return boxes
}

// step is an axis of a copy, in bits.
type step struct {
	count, dst, src int64
	dstAt, srcAt    int64 // contribution to the offsets
}

// walk returns the steps through a box on both sides; some is false if a digit with an only
// value has no index in the box.
func walk(axis byte, box []part, d, s []digit) (steps []step, some bool) {
	for _, p := range box {
		from, count := p.from, p.count
		for _, ds := range [][]digit{d, s} {
			g := find(ds, axis, p.div)
			if g.only < 0 {
				continue
			}
			only := g.only / (p.div / g.div)
			if p.size > 0 && g.several == 0 {
				only %= p.size
			}
			end := min(from+count, only+max(1, g.several))
			if from = max(from, only); from >= end {
				return nil, false
			}
			count = end - from
		}
		st := step{count: count}
		st.dst, st.dstAt = along(find(d, axis, p.div), p.div, from)
		st.src, st.srcAt = along(find(s, axis, p.div), p.div, from)
		steps = append(steps, st)
	}
	return steps, true
}

// find returns the digit of an axis that contains the part starting at div.
func find(ds []digit, axis byte, div int64) digit {
	for _, d := range ds {
		if d.axis == axis && d.div <= div && (d.size == 0 || div < d.div*d.size) {
			return d
		}
	}
	return digit{div: 1, only: -1} // a single value
}

// along returns the stride of the part of a digit that starts at div, and the position of
// its value from.
func along(d digit, div, from int64) (stride, at int64) {
	switch {
	case d.several > 0:
		return d.stride, d.stride * (from - d.only)
	case d.only >= 0:
		return 0, 0
	}
	stride = d.stride * (div / d.div)
	return stride, stride * from
}

// join builds layouts from steps, with the widest elements (up to 8 bits) that they allow.
func join(steps []step) (move, error) {
	var dims, dst, src []int64
	dstAt, srcAt := int64(0), int64(0)
	for _, s := range steps {
		dstAt, srcAt = dstAt+s.dstAt, srcAt+s.srcAt
	}
	last := len(steps) - 1 // bits of an element
	bits := steps[last].count
	w := int64(1)
	for ; w < 8 && bits%(2*w) == 0 && wide(steps[:last], dstAt, srcAt, 2*w); w *= 2 {
	}
	for _, s := range steps[:last] {
		if s.count > 1 {
			dims, dst, src = append(dims, s.count), append(dst, s.dst/w), append(src, s.src/w)
		}
	}
	if bits > w {
		dims, dst, src = append(dims, bits/w), append(dst, 1), append(src, 1)
	}
	m := move{width: w}
	var err error
	if m.dstLayout, err = layout.Strided(dims, dst, dstAt/w); err == nil {
		m.srcLayout, err = layout.Strided(dims, src, srcAt/w)
	}
	return m, err
}

// wide reports whether all steps and both offsets are multiples of w.
func wide(steps []step, dstAt, srcAt, w int64) bool {
	return dstAt%w == 0 && srcAt%w == 0 && !slices.ContainsFunc(steps, func(s step) bool { return s.count > 1 && (s.dst%w != 0 || s.src%w != 0) })
}
