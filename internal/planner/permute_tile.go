package planner

import (
	"math/bits"
	"slices"

	"github.com/restride/restride/internal/nest"
)

// The shape of a permute tile: the number of its bits is fixed; they are divided among the axes.

const (
	// mostCut is the largest number of axes that a tile may not divide.
	mostCut = 2
	// The least extent of an axis that the tile does not divide, in halves of the tile's
	// extent: many, so that hardly anything is wasted, or few.
	hardlyRagged, veryRagged = 32, 3
	// cheap is a price for which no better tile is searched: 5/12 is the best.
	cheap = 0.44
)

// grow adds the bits that form the cheapest tile: some come next in src's order, the others in
// dst's.
func (t *permutation) grow() bool {
	size := wordBits(t.p.dBits) + registerBits(t.p.dBits) + groupBits
	words := slices.Clone(t.n)
	best, least := []int(nil), 0.0
	for _, times := range []int64{hardlyRagged, veryRagged} {
		copy(t.n, words)
		for ofSrc := range size - t.size() + 1 {
			if best != nil && least < cheap {
				break
			}
			copy(t.n, words)
			if t.take(fromSrc, ofSrc, times) && t.take(toDst, size-t.size(), times) {
				if cost := t.price(); best == nil || cost < least {
					best, least = slices.Clone(t.n), cost
				}
			}
		}
	}
	if best == nil {
		return false
	}
	t.n = best
	for i, n := range t.n {
		if n > t.even(i) {
			t.cut = append(t.cut, i)
		}
		for level := range n {
			t.tile = append(t.tile, bit{i, level})
		}
	}
	return true
}

// size is the number of bits of the tile.
func (t *permutation) size() int {
	size := 0
	for _, n := range t.n {
		size += n
	}
	return size
}

// even is the number of bits of an axis that divide its extent.
func (t *permutation) even(i int) int { return bits.TrailingZeros64(uint64(t.axes[i].N)) }

// take adds the next count bits of a side, if there are enough.
func (t *permutation) take(side, count int, times int64) bool {
	for range count {
		i := t.next(side, times)
		if i < 0 {
			return false
		}
		t.n[i]++
	}
	return true
}

// next returns the axis whose next bit has the smallest step on a side, or -1.
func (t *permutation) next(side int, times int64) int {
	cut := 0
	for i, n := range t.n {
		if n > t.even(i) {
			cut++
		}
	}
	axis, least := -1, int64(0)
	for i, n := range t.n {
		if n >= t.even(i) && (t.axes[i].N < times<<n || n == t.even(i) && cut == mostCut) {
			continue
		}
		if step := nest.Magnitude(t.step(side, bit{i, n})); axis < 0 || step < least {
			axis, least = i, step
		}
	}
	return axis
}

// price is the approximate cost of a tile per element: the cubes of the costs of memory, caches
// and instructions are added.
func (t *permutation) price() float64 {
	traffic := (t.sectors(toDst, t.base[toDst]) + t.sectors(fromSrc, t.base[fromSrc])) / 2
	work := 1.0
	for i, n := range t.n {
		if n > t.even(i) {
			extent := t.axes[i].N
			blocks := (extent + 1<<n - 1) >> n
			work *= float64(blocks<<n) / float64(extent) * float64(blocks+1) / float64(blocks) // the last one takes twice as long
		}
	}
	return traffic*traffic*traffic/6 + work*work*work/4
}

// sectors is how much data passes through caches, as a multiple of a side's data in a tile: whole
// sectors, and a little more for pieces shorter than lines.
func (t *permutation) sectors(side int, base int64) float64 {
	type axis struct{ step, n int64 } // steps in bits
	var room [16]axis
	steps := room[:0]
	width := int64(t.p.dBits)
	for i, n := range t.n {
		if n == 0 {
			continue
		}
		x := axis{nest.Magnitude(t.step(side, bit{i, 0})) * width, 1 << n}
		k := len(steps)
		for steps = append(steps, x); k > 0 && steps[k-1].step > x.step; k-- {
			steps[k] = steps[k-1]
		}
		steps[k] = x
	}
	const sector, line = sectorBytes * 8, lineBytes * 8
	run, runs, apart := width, int64(1), base*width // apart: from the start of a sector
	for _, x := range steps {
		if runs == 1 && x.step-run < sector {
			run += (x.n - 1) * x.step
		} else {
			runs *= x.n
			apart |= x.step
		}
	}
	for i, n := range t.n {
		if t.axes[i].N > 1<<n {
			apart |= t.step(side, bit{i, n}) * width
		}
	}
	moved := (run + sector - 1) / sector * sector
	if apart&(sector-1) != 0 {
		moved = run + sector - 8
	}
	elements := int64(1) << t.size() / runs
	return float64(moved) / float64(elements*width) * (1 + max(0, 1-float64(run)/line)/10)
}

// cost is the estimated cost of a block, for comparison with other forms.
func (t *permutation) cost() cost {
	bytes := int64(1) << t.size() * int64(t.p.dBits) / 8
	words := bytes / 4 / GroupSize
	e := cost{blocks: 1, blocksPerSM: int64(t.p.spec(Permute).minBlocksPerSM()), instructions: 23 * words, passes: 2 * bytes / 4 / banks}
	for side, base := range t.base {
		sectors := int64(t.sectors(side, base) * float64(bytes/sectorBytes))
		if !t.aligned(side, base, int64(32/t.p.dBits), t.words[side]...) { // words in two accesses
			e.instructions += 8 * words
			sectors *= 2
		}
		e.sectors += sectors
	}
	for i, n := range t.n {
		blocks := (t.axes[i].N + 1<<n - 1) >> n
		if n > t.even(i) {
			blocks++ // the last one takes twice as long
		}
		e.blocks *= blocks
	}
	return e
}
