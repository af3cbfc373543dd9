package planner

import (
	"slices"

	"github.com/restride/restride/internal/nest"
)

// How the elements of a permute tile move from words of src into words of dst: by exchanges within
// and between a work-item's words, before or after the words pass through local memory.

// stage is an exchange of elements: see source/permute.h.
type stage struct{ with, shift, mask, bytes uint32 }

// within is stage.with for a stage within words.
const within = 0xffffffff

// newStage determines where bytes come from, if the exchange moves bytes.
func newStage(with uint32, shift int, mask uint32) stage {
	s := stage{with, uint32(shift), mask, 0}
	by := uint32(shift / 8)
	for q := range uint32(4) {
		if part := mask >> (8 * q) & 0xff; shift%8 > 0 || part != 0 && part != 0xff {
			return s
		}
	}
	// The source of each byte of the first word and, in the upper half, of the second: 4 to 7
	// are the second word's bytes.
	for q := range uint32(4) {
		first, second := q, q+4
		lower := mask>>(8*q)&1 == 1
		upper := q >= by && mask>>(8*(q-by))&1 == 1
		switch {
		case with == within && lower:
			first = q + by
		case with == within && upper:
			first = q - by
		case lower:
			second = q + by
		case upper:
			first = 4 + q - by
		}
		s.bytes |= first<<(4*q) | second<<(16+4*q)
	}
	return s
}

// elements is the mask of a word's elements whose number has bit set at 1 (if set is not -1) and
// bit clear at 0.
func (t *permutation) elements(set, clear int) (mask uint32) {
	width := t.p.dBits
	for e := range 32 / width {
		if (set < 0 || e>>set&1 == 1) && e>>clear&1 == 0 {
			mask |= (1<<width - 1) << (e * width)
		}
	}
	return mask
}

// exchanges returns the stages from one order of a word's bits to another, and updates registers
// to the result.
func (t *permutation) exchanges(from, to, registers []bit) []stage {
	var all []stage
	width := t.p.dBits
	word := slices.Clone(from)
	for i, b := range to {
		if word[i] == b {
			continue
		}
		if j := slices.Index(registers, b); j >= 0 {
			all = append(all, newStage(uint32(j), width<<i, t.elements(-1, i)))
			word[i], registers[j] = b, word[i]
			continue
		}
		j := slices.Index(word, b)
		all = append(all, newStage(within, width<<j-width<<i, t.elements(i, j)))
		word[i], word[j] = b, word[i]
	}
	return all
}

// turns returns the stages that reverse the bits of a word along which src runs against dst, for
// bits in among.
func (t *permutation) turns(word, among []bit) []stage {
	var all []stage
	for i, b := range word {
		if t.backwards(b) && slices.Contains(among, b) {
			all = append(all, newStage(within, t.p.dBits<<i, t.elements(-1, i)))
		}
	}
	return all
}

// backwards reports whether src runs against dst along a bit.
func (t *permutation) backwards(b bit) bool { return t.step(fromSrc, b) < 0 }

// way is how a tile is moved: with the exchanges before or after local memory.
type way struct {
	late     bool
	src, dst access
	held     []bit // what the registers select between the exchanges and local memory
	stages   []stage
	slots    map[bit]uint32
	slot     uint32 // of the first word
}

// early exchanges first: the bits of dst's words are in src's words and registers.
func (t *permutation) early() *way {
	from, to := t.words[fromSrc], t.words[toDst]
	w := &way{src: t.access(fromSrc, without(to, from)), dst: t.access(toDst, t.gaps[fromSrc])}
	w.held = slices.Clone(w.src.registers)
	w.stages = append(t.exchanges(from, to, w.held), t.turns(to, from)...)
	w.slots = t.slots(to, w.src.items, w.dst.items)
	for _, b := range without(from, to) {
		if t.backwards(b) {
			w.slot ^= w.slots[b]
		}
	}
	return w
}

// late exchanges last: the bits of src's words are in dst's words and registers.
func (t *permutation) late() *way {
	from, to := t.words[fromSrc], t.words[toDst]
	w := &way{late: true, src: t.access(fromSrc, without(t.gaps[toDst], from)), dst: t.access(toDst, without(from, to))}
	if w.dst.how == joined { // the assembled words are not in local memory
		w.dst.how = shifted
	}
	w.held = slices.Clone(w.dst.registers)
	back := t.exchanges(to, from, w.held)
	slices.Reverse(back)
	w.stages = append(t.turns(from, from), back...)
	w.slots = t.slots(from, w.src.items, w.dst.items)
	return w
}

// wayCost is how often a way moves the sectors of both sides, with a surcharge for a side that it
// moves by words.
func (t *permutation) wayCost(w *way) float64 {
	per := int64(32 / t.p.dBits)
	spread := func(side int, a access) float64 {
		times := 1.1
		switch {
		case a.how == vectors:
			times = 1
		case a.how == joined:
			times = 1.5
		case a.how > aligned:
			times = 2
		}
		for j, b := range a.registers {
			if step := nest.Magnitude(t.step(side, b)); step >= per && step < sectorBytes/4*per && (a.how != vectors || j >= 2) {
				times *= 2
			}
		}
		return times
	}
	return min(spread(fromSrc, w.src), 2) + spread(toDst, w.dst) // src is read again from L1
}

// without returns the bits that are not among the others.
func without(all, others []bit) []bit {
	return slices.DeleteFunc(slices.Clone(all), func(b bit) bool { return slices.Contains(others, b) })
}

// slots numbers the bytes of words in local memory, where the given bits select elements, so that
// neighbouring work-items of src and of dst never access a bank twice: five bits of either select
// the bank.
func (t *permutation) slots(word, src, dst []bit) map[bit]uint32 {
	const banks = 5
	slots := map[bit]uint32{}
	var free []uint32 // banks that only dst's neighbours need
	for i, b := range dst[:banks] {
		slots[b] = 4 << i
		if !slices.Contains(src[:banks], b) {
			free = append(free, slots[b])
		}
	}
	row := uint32(4 << banks)
	for _, b := range without(t.tile, word) {
		if _, ok := slots[b]; ok {
			continue
		}
		slots[b] = row
		if slices.Contains(src[:banks], b) {
			slots[b] |= free[0]
			free = free[1:]
		}
		row <<= 1
	}
	return slots
}
