package planner

import (
	"math/bits"
	"slices"
)

// Words of which a side has only some elements, as fields within bytes: six-bit scales, or low and
// high parts of quants. A gap is a bit of an element's number in a word that one side has and the
// copy does not: an axis of two indices along which that side moves and the other stands still.
// Only one of the two indices exists.

// mostGaps is the largest number of gaps among a word's bits.
const mostGaps = 2

// gap adds a gap as bit j of a side's words, if every axis steps over it: n holds the number of
// bits that the word already has of each axis.
func (t *permutation) gap(side, j int, n []int) (bit, bool) {
	if t.p.dBits >= 8 || len(t.gaps[side]) == mostGaps {
		return bit{}, false
	}
	for i := range n {
		if t.axes[i].N > 1<<n[i] && t.step(side, bit{i, n[i]})%(2<<j) != 0 {
			return bit{}, false
		}
	}
	g := axis{N: 2, D: 1 << j}
	if side == fromSrc {
		g = axis{N: 2, S: 1 << j}
	}
	b := bit{axis: len(t.axes)}
	t.axes, t.n = append(t.axes, g), append(t.n, 0)
	t.gaps[side] = append(t.gaps[side], b)
	return b, true
}

// pad rounds short extents up to powers of two: three fields of a word become four, the last of
// which is a gap.
func (t *permutation) pad() {
	per := int64(32 / t.p.dBits)
	for i, a := range t.axes {
		if t.p.dBits < 8 && a.S > 0 && a.N < per && a.D < per && a.S < per {
			t.axes[i].N = 1 << bits.Len64(uint64(a.N-1))
		}
	}
}

// join merges two gaps at the same bit of both sides' words into one bit, and reports whether the
// result consists of words that can be moved.
func (t *permutation) join() bool {
	d, s := t.words[toDst], t.words[fromSrc]
	padded := false
	for i := range t.p.axes {
		if n := t.p.inner(i).N; t.axes[i].N > n {
			padded = true
			for level := range bits.Len64(uint64(n - 1)) {
				if !slices.Contains(d, bit{i, level}) || !slices.Contains(s, bit{i, level}) {
					return false
				}
			}
		}
	}
	if len(t.gaps[toDst]) == 0 && len(t.gaps[fromSrc]) > 0 {
		if real := without(s, t.gaps[fromSrc]); len(real) == 0 || real[0] == d[0] {
			return false // rows of every second or fourth element
		}
	}
	for side := range t.gaps {
		if len(t.gaps[side]) == len(d) {
			return false
		}
		t.begin(side)
	}
	for j := range d {
		of := slices.Contains(t.gaps[fromSrc], s[j])
		if of && slices.Contains(t.gaps[toDst], d[j]) {
			t.pair(j)
		} else if of && t.lived[fromSrc]>>j&1 == 1 {
			t.axes[s[j].axis].S = -1 << j // the first index is the one that exists
		}
	}
	per := int64(32 / t.p.dBits)
	return !padded && len(t.gaps[fromSrc]) == 0 || t.aligned(fromSrc, t.base[fromSrc], per, t.words[fromSrc]...)
}

// begin moves the start of words to the start of their gaps.
func (t *permutation) begin(side int) {
	t.lived[side] = 0
	between, all := int64(0), int64(0)
	for j, b := range t.words[side] {
		if slices.Contains(t.gaps[side], b) {
			all |= 1 << j
			between = 1<<j - 1
		}
	}
	if at := t.base[side]; at&between&^all == 0 {
		t.lived[side] = at & all
		t.base[side] -= at & all
	}
}

// pair uses dst's gap for src, too. If the existing indices differ, src runs against dst.
func (t *permutation) pair(j int) {
	old := t.words[fromSrc][j]
	b := t.words[toDst][j]
	g := &t.axes[b.axis]
	g.S = 1 << j
	if (t.lived[toDst]^t.lived[fromSrc])>>j&1 == 1 {
		g.S = -g.S
	}
	t.words[fromSrc][j] = b
	t.gaps[fromSrc] = without(t.gaps[fromSrc], []bit{old})
	t.n[old.axis], t.axes[old.axis] = 0, axis{N: 1}
}

// masked returns the bits of dst's words that belong to elements.
func (t *permutation) masked() uint32 {
	mask := uint32(0)
	for e := range 32 / t.p.dBits {
		real := true
		index := make(map[int]int64) // by axis
		for j, b := range t.words[toDst] {
			if slices.Contains(t.gaps[toDst], b) {
				real = real && int64(e)&(1<<j) == t.lived[toDst]&(1<<j)
			} else if e>>j&1 == 1 {
				index[b.axis] += 1 << b.level
			}
		}
		for i, x := range index {
			real = real && (t.axes[i].N == t.p.inner(i).N || x < t.p.inner(i).N)
		}
		if real {
			mask |= (1<<t.p.dBits - 1) << (e * t.p.dBits)
		}
	}
	return mask
}
