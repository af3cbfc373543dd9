package cpu

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/restride/restride/internal/nest"
)

const (
	// swapWords is the most words of a block, and swapRoom the most words of the blocks moved
	// at a time, in L1.
	swapWords, swapRoom = 8, 512
	// leastSwapRow is the fewest blocks of a row: with fewer, the overhead exceeds the cost of
	// their words.
	leastSwapRow = 8
	// mostInner is the most bits that number the elements of a word, and mostNumber the most
	// including the bits that number the words of a block.
	mostInner, mostNumber = 6, 9
	// swapBytes is the size from which this pays off for a copy below a byte.
	swapBytes = 256
	// swapWidth is the width of the widest element.
	swapWidth = 16
)

// deltaSwap exchanges the bits of a mask with the bits by higher: of the same word, or, if apart
// is not 0, of the word apart before.
type deltaSwap struct {
	apart, by int
	mask      uint64
}

// deltaSwaps moves blocks of up to eight words whose extents are powers of two, if there is no
// kernel for unpacked blocks or the blocks are too small for one to pay off. The number of an element of such a
// block is a string of bits, some for each axis, and the copy reorders these bits. A delta swap,
// within words or between pairs of words, exchanges two of them.
type deltaSwaps struct {
	steps    [2 * mostNumber]deltaSwap
	count    int
	words    int              // of a block
	from, to [swapWords]int64 // where they are, in bytes
}

// numberBit is a bit of the index along an axis.
type numberBit struct{ axis, bit int }

func (*deltaSwaps) name() string { return "delta swaps" }

// planDeltaSwaps plans such blocks, which must begin with whole bytes.
func planDeltaSwaps(j *job, limit int64) (mover, int64, refusal) {
	w := j.dBits
	switch {
	case kernels.Permute != nil && limit < anyCost:
		return nil, 0, tilesPay
	case !looseAlignment:
		return nil, 0, unaligned
	case w > swapWidth:
		return nil, 0, otherWidth
	case j.bytes < swapBytes, !j.packed && j.bytes < permutedBytes:
		return nil, 0, tooSmall
	}
	inner, unit := bits.TrailingZeros64(64/uint64(w)), j.unit(w)
	var toBits, fromBits [mostInner]numberBit
	to, from := toBits[:inner], fromBits[:inner]
	if !j.inWord(to, unit, func(x *axis) int64 { return x.D }) ||
		!j.inWord(from, unit, func(x *axis) int64 { return nest.Magnitude(x.S) }) {
		return nil, 0, noBlocks
	}
	number := append(make([]numberBit, 0, mostNumber), from...)
	for _, bit := range to {
		if slices.Contains(number, bit) {
			continue
		}
		if len(number) == inner+bits.TrailingZeros(swapWords) {
			return nil, 0, noBlocks
		}
		number = append(number, bit)
	}
	t := &j.memory.deltaSwaps
	t.words, t.count = 1<<(len(number)-inner), 0
	if !j.wholeBlocks(number) || !t.wordsFrom(j, number[inner:], from) {
		return nil, 0, withinBytes
	}
	t.order(number, to, w)
	backwards := func(bit numberBit) bool { return j.axes[bit.axis].S < 0 && slices.Contains(from, bit) }
	for i, bit := range to {
		if backwards(bit) {
			t.add(deltaSwap{0, w << i, elementMask(w, i, -1)})
		}
	}
	// Without a swap, nothing would be written.
	if t.count == 0 {
		return nil, 0, sameOrder
	}
	if !t.wordsTo(j, number[inner:], backwards) {
		return nil, 0, withinBytes
	}
	if !j.aroundBlocks(number) {
		return nil, 0, fewBlocks
	}
	j.blockItems(int64(t.words)*8, 1)
	return t, 1, ""
}

// inWord lists the bits that number the elements of a word, by the steps of a side. False: the
// elements are not neighbours.
func (p *pair) inWord(to []numberBit, unit int64, step func(x *axis) int64) bool {
	for found := 0; found < len(to); {
		k := p.rank - 1
		for k >= 0 && (p.axes[k].N == 1 || step(&p.axes[k]) != unit<<found) {
			k--
		}
		if k < 0 {
			return false
		}
		some := min(len(to)-found, bits.TrailingZeros64(uint64(p.axes[k].N)))
		for bit := range some {
			to[found] = numberBit{k, bit}
			found++
		}
		if found < len(to) && p.axes[k].N != 1<<some {
			return false
		}
	}
	return true
}

// blockExtent returns the extent of an axis in a block.
func blockExtent(axis int, number []numberBit) int64 {
	n := int64(1)
	for _, bit := range number {
		if bit.axis == axis {
			n *= 2
		}
	}
	return n
}

// wholeBlocks reports whether the first block, and the steps between blocks, are whole bytes on
// both sides.
func (p *pair) wholeBlocks(number []numberBit) bool {
	unit := p.stepBits()
	odd := p.dOff * unit
	for k := range p.rank {
		x := &p.axes[k]
		if n := blockExtent(k, number); n < x.N {
			odd |= (x.D | x.S) * n * unit
		}
	}
	return odd&7 == 0
}

// wordsFrom lists where the words of a block begin in the source, relative to the byte of its
// first element. False: some begin within bytes.
func (t *deltaSwaps) wordsFrom(j *job, words, inner []numberBit) bool {
	unit := j.stepBits()
	first := j.sOff * unit & 7
	for _, bit := range inner {
		first += min(0, j.axes[bit.axis].S<<bit.bit*unit)
	}
	return place(t.from[:t.words], first, words, func(bit numberBit) int64 { return j.axes[bit.axis].S << bit.bit * unit })
}

// wordsTo lists where they begin in the destination.
func (t *deltaSwaps) wordsTo(j *job, words []numberBit, backwards func(numberBit) bool) bool {
	unit, first := j.stepBits(), int64(0)
	for _, bit := range words {
		if backwards(bit) {
			first += j.axes[bit.axis].D << bit.bit * unit
		}
	}
	return place(t.to[:t.words], first, words, func(bit numberBit) int64 {
		if by := j.axes[bit.axis].D << bit.bit * unit; !backwards(bit) {
			return by
		}
		return -j.axes[bit.axis].D << bit.bit * unit
	})
}

// place lists the bytes at which words begin: the words are numbered by bits, each with a step.
func place(at []int64, first int64, words []numberBit, step func(numberBit) int64) bool {
	for i := range at {
		p := first
		for b, bit := range words {
			p += int64(i) >> b & 1 * step(bit)
		}
		if p&7 != 0 {
			return false
		}
		at[i] = p >> 3
	}
	return true
}

// order lists the swaps that reorder the bits of a number within words. Swaps between pairs of
// words, which cost half as much, come first, as long as there are any.
func (t *deltaSwaps) order(number, to []numberBit, w int) {
	for more := true; more; {
		more = false
		for i, bit := range to {
			if k := slices.Index(number, bit); k >= len(to) {
				t.add(deltaSwap{1 << (k - len(to)), w << i, elementMask(w, i, -1)})
				number[i], number[k] = number[k], number[i]
				more = true
			}
		}
	}
	for i, bit := range to {
		if k := slices.Index(number, bit); k != i {
			t.add(deltaSwap{0, w<<k - w<<i, elementMask(w, k, i)})
			number[i], number[k] = number[k], number[i]
		}
	}
}

func (t *deltaSwaps) add(step deltaSwap) {
	t.steps[t.count] = step
	t.count++
}

// elementMask returns the bits of a word's elements whose numbers have one bit at 0 and, unless it
// is -1, another at 1.
func elementMask(w, zero, one int) uint64 {
	var mask uint64
	for e := range 64 / w {
		if e>>zero&1 == 0 && (one < 0 || e>>one&1 == 1) {
			mask |= (1<<w - 1) << (e * w)
		}
	}
	return mask
}

// aroundBlocks reduces the loops to loops over blocks. False: these would have short rows.
func (p *pair) aroundBlocks(number []numberBit) bool {
	var around [maxAxes]axis
	n := 0
	for k := range p.rank {
		x, inside := p.axes[k], blockExtent(k, number)
		if x.N > inside {
			around[n] = axis{N: x.N / inside, D: x.D * inside, S: x.S * inside}
			n++
		}
	}
	if a, _ := nearItems(around[:n]); n == 0 || around[n-1].N < leastSwapRow && (a < 0 || around[a].N < leastSwapRow) {
		return false
	}
	p.rank = copy(p.axes[:], around[:n])
	return true
}

// move moves na rows of nb blocks.
func (t *deltaSwaps) move(j *job, d, s, na, nb int64, sc *scratch) {
	unit := j.stepBits()
	some := int64(swapRoom / t.words)
	buffer := planes{p: room(&sc.stage, 8*swapRoom), step: 8}
	for word := range t.words {
		buffer.at[word] = int64(word) * some * 8
	}
	a, b := &j.a, &j.b
	if na > nb {
		a, b, na, nb = b, a, nb, na
	}
	from := planes{p: j.src, at: t.from, step: b.S * unit >> 3}
	to := planes{p: j.dst, at: t.to, step: b.D * unit >> 3}
	for i := range na {
		from.first, to.first = (s+i*a.S)*unit>>3, (d+i*a.D)*unit>>3
		for n := nb; n > 0; n -= some {
			t.swap(&to, &from, &buffer, min(n, some))
			from.first, to.first = from.first+some*from.step, to.first+some*to.step
		}
	}
}

// planes are words of blocks that are a step apart, with the first block at an offset.
type planes struct {
	p           unsafe.Pointer
	at          [swapWords]int64
	first, step int64
}

// word returns the address of a word of the first block.
func (p *planes) word(i int) *byte { return ptr(p.p, p.first+p.at[i]) }

// swap moves n blocks: the first swap reads the source, the last one writes the destination.
func (t *deltaSwaps) swap(to, from, buffer *planes, n int64) {
	for i := range t.steps[:t.count] {
		step, d, s := &t.steps[i], buffer, buffer
		if i == 0 {
			s = from
		}
		if i == t.count-1 {
			d = to
		}
		for x := range t.words {
			y := x + step.apart
			switch {
			case step.apart == 0:
				swapWithin(d.word(x), d.step, s.word(x), s.step, n, step)
			case x&step.apart == 0:
				swapPairs(d.word(x), d.word(y), d.step, s.word(x), s.word(y), s.step, n, step)
			}
		}
	}
}

// swapWithin swaps within each of n words.
func swapWithin(dst *byte, d int64, src *byte, s, n int64, step *deltaSwap) {
	by, mask := step.by&63, step.mask
	to, from := unsafe.Pointer(dst), unsafe.Pointer(src)
	i, k := int64(0), int64(0)
	for ; n >= 2; n -= 2 {
		x, y := load64(from, i), load64(from, i+s)
		t, u := (x>>by^x)&mask, (y>>by^y)&mask
		store64(to, k, x^t^t<<by)
		store64(to, k+d, y^u^u<<by)
		i, k = i+2*s, k+2*d
	}
	if n > 0 {
		x := load64(from, i)
		t := (x>>by ^ x) & mask
		store64(to, k, x^t^t<<by)
	}
}

// swapPairs swaps between n words and n others.
func swapPairs(dx, dy *byte, d int64, sx, sy *byte, s, n int64, step *deltaSwap) {
	by, mask := step.by&63, step.mask
	toX, toY, fromX, fromY := unsafe.Pointer(dx), unsafe.Pointer(dy), unsafe.Pointer(sx), unsafe.Pointer(sy)
	for i, k := int64(0), int64(0); n > 0; n-- {
		x, y := load64(fromX, i), load64(fromY, i)
		t := (x>>by ^ y) & mask
		store64(toX, k, x^t<<by)
		store64(toY, k, y^t)
		i, k = i+s, k+d
	}
}
