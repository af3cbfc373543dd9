package quant

import (
	"slices"

	"github.com/restride/restride/internal/digits"
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
	inner := digitsOf(s.order)
	_, at := digits.Lay(inner, s.pitch, ext)
	outer := digitsOf(s.rows)
	_, first := digits.Lay(outer, s.block, ext)
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
			inside := func(at int64) bool { return at > d.Div && at < d.Div*d.Size }
			return o.Axis == d.Axis && (inside(o.Div) || inside(o.Div*o.Size))
		}
		if d.Several == 0 || !slices.ContainsFunc(others, cut) {
			continue
		}
		var all []place
		for v := range d.Several {
			one := p
			one.digits = slices.Clone(p.digits)
			one.digits[i].Only, one.digits[i].Several = d.Only+v, 0
			one.offset += d.Stride * v
			all = append(all, one)
		}
		return all
	}
	return []place{p}
}

// boxed is common for places where nothing splits a digit with several values.
func boxed(d, s place, lo, bits int64, ext extents) ([]move, error) {
	boxes, err := digits.Boxes(d.digits, s.digits, ext)
	if err != nil {
		return nil, layout.Named("quant", err)
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
		steps = append(steps, digits.Step{Count: bits, Dst: 1, Src: 1, DstAt: d.offset + lo - d.lo, SrcAt: s.offset + lo - s.lo})
		m, err := join(steps)
		if err != nil {
			return nil, err
		}
		m.dst, m.src = d.tensor, s.tensor
		out = append(out, m)
	}
	return out, nil
}

// join builds layouts from steps, with the widest elements (up to 8 bits) that they allow.
func join(steps []digits.Step) (move, error) {
	var dims, dst, src []int64
	dstAt, srcAt := int64(0), int64(0)
	for _, s := range steps {
		dstAt, srcAt = dstAt+s.DstAt, srcAt+s.SrcAt
	}
	last := len(steps) - 1 // bits of an element
	bits := steps[last].Count
	w := int64(1)
	for ; w < 8 && bits%(2*w) == 0 && wide(steps[:last], dstAt, srcAt, 2*w); w *= 2 {
	}
	for _, s := range steps[:last] {
		if s.Count > 1 {
			dims, dst, src = append(dims, s.Count), append(dst, s.Dst/w), append(src, s.Src/w)
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
func wide(steps []digits.Step, dstAt, srcAt, w int64) bool {
	return dstAt%w == 0 && srcAt%w == 0 && !slices.ContainsFunc(steps, func(s digits.Step) bool { return s.Count > 1 && (s.Dst%w != 0 || s.Src%w != 0) })
}
