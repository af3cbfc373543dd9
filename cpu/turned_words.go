package cpu

import (
	"math/bits"
	"slices"
	"unsafe"
)

const (
	// mostWords is the most words of a block, and mostTurns the most source words for all of
	// them.
	mostWords, mostTurns = 4, 40
	// fewTurns is the number per word up to which this is faster than unpacked blocks.
	fewTurns = 10
)

// wordTurn is a word of the source that provides some bits of a word of the destination.
type wordTurn struct {
	from int64 // offset in bytes
	by   int   // to the left
	mask uint64
}

// turnedWords moves blocks of elements below a byte without kernels: each word of the destination
// is assembled from several words of the source, rotated and masked.
type turnedWords struct {
	size, items int64 // elements per item, and items per block: see permutation
	turns       [mostTurns]wordTurn
	ends        [mostWords + 1]int // ends of each word's turns; the first is 0
	words       int
}

func (*turnedWords) name() string { return "turned words" }

// planTurnedWords plans such blocks.
func planTurnedWords(j *job, limit int64) (mover, int64, refusal) {
	last, w := j.rank-1, int64(j.dBits)
	per := 8 / w
	switch {
	case limit < anyCost:
		return nil, 0, tilesPay
	case !looseAlignment:
		return nil, 0, unaligned
	case j.bytes < permutedBytes:
		return nil, 0, tooSmall
	case j.axes[last].D != 1:
		return nil, 0, notDense
	case j.dOff%per != 0:
		return nil, 0, withinBytes
	}
	size, k := int64(1), last
	for k >= 0 && j.axes[k].D == size && size*j.axes[k].N*w <= 64*mostWords {
		size *= j.axes[k].N
		k--
	}
	if k < 0 || k == last || j.axes[k].D != size {
		return nil, 0, noBlocks
	}
	items := int64(1)
	for items*size*w%64 != 0 {
		items *= 2
	}
	if items*size*w > 64*mostWords || j.axes[k].N%items > 0 || j.axes[k].S*items%per != 0 {
		return nil, 0, noBlocks
	}
	for i := range k {
		if j.axes[i].D%per != 0 || j.axes[i].S%per != 0 {
			return nil, 0, withinBytes
		}
	}
	t := &j.memory.turnedWords
	t.size, t.items = size, items
	if !t.plan(j, k) {
		return nil, 0, manyTurns
	}
	j.rank = k + 1
	j.blockItems(size, items)
	return t, 1, ""
}

// plan lists the parts of a block's words, for items of axis k. False: there are too many.
func (t *turnedWords) plan(j *job, k int) bool {
	w := int64(j.dBits)
	var at [64 * mostWords]int64 // in bits, from the byte of the block's first element
	all := at[:t.items*t.size]
	for e := range all {
		rest := int64(e)
		all[e] = j.sOff * w & 7
		for i := j.rank - 1; i >= k; i-- {
			n := j.axes[i].N
			all[e] += rest % n * j.axes[i].S * w
			rest /= n
		}
	}
	lo, hi := slices.Min(all)>>3, slices.Max(all)>>3+1
	if hi-lo < 8 {
		return false
	}
	t.words = int(int64(len(all)) * w / 64)
	n := 0
	for word := range t.words {
		first := n
		for e := range 64 / int(w) {
			q := all[word*64/int(w)+e]
			from := min(lo+(q>>3-lo)&^7, hi-8)
			by := e*int(w) - int(q-from*8)
			i := first
			for i < n && (t.turns[i].from != from || t.turns[i].by != by) {
				i++
			}
			if i == n {
				if n == mostTurns {
					return false
				}
				t.turns[n] = wordTurn{from: from, by: by}
				n++
			}
			t.turns[i].mask |= (1<<w - 1) << (e * int(w))
		}
		t.ends[word+1] = n
	}
	return n <= fewTurns*t.words
}

// move moves na rows of nb items.
func (t *turnedWords) move(j *job, d, s, na, nb int64, _ *scratch) {
	w := int64(j.dBits)
	dStep, sStep := t.items*j.b.D*w/8, t.items*j.b.S*w/8
	for i := range na {
		to, from := (d+i*j.a.D)*w/8, (s+i*j.a.S)*w>>3
		for word := range t.words {
			turns := t.turns[t.ends[word]:t.ends[word+1]]
			turnBlocks(j.dst, to+int64(word)*8, dStep, j.src, from, sStep, nb/t.items, turns)
		}
	}
}

// turnBlocks writes a word of n blocks, four at a time.
func turnBlocks(dst unsafe.Pointer, d, dStep int64, src unsafe.Pointer, s, sStep, n int64, turns []wordTurn) {
	for ; n >= 4; n -= 4 {
		var x0, x1, x2, x3 uint64
		for i := range turns {
			t := &turns[i]
			at := s + t.from
			x0 |= bits.RotateLeft64(load64(src, at), t.by) & t.mask
			x1 |= bits.RotateLeft64(load64(src, at+sStep), t.by) & t.mask
			x2 |= bits.RotateLeft64(load64(src, at+2*sStep), t.by) & t.mask
			x3 |= bits.RotateLeft64(load64(src, at+3*sStep), t.by) & t.mask
		}
		store64(dst, d, x0)
		store64(dst, d+dStep, x1)
		store64(dst, d+2*dStep, x2)
		store64(dst, d+3*dStep, x3)
		d += 4 * dStep
		s += 4 * sStep
	}
	for ; n > 0; n-- {
		var x uint64
		for i := range turns {
			t := &turns[i]
			x |= bits.RotateLeft64(load64(src, s+t.from), t.by) & t.mask
		}
		store64(dst, d, x)
		d += dStep
		s += sStep
	}
}
