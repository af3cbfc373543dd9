package planner

import (
	"math"

	"github.com/restride/restride/internal/nest"
)

// cost is the estimated cost to a multiprocessor of one block of a tiled form.
type cost struct {
	blocks           int64
	blocksPerSM      int64   // resident on a multiprocessor; 0: usualBlocks
	instructions     int64   // per work-item
	sectors          int64   // of memory, touched by its loads and stores one after the other
	passes           int64   // through the banks of local memory
	shortLinePenalty float64 // the share of memory's time that short lines add
}

// cycles estimates the cycles of a copy of so many bytes on one multiprocessor of a large GPU. The
// times for instructions, the second-level cache, local memory, memory and its latency overlap:
// the total is the cube root of the sum of their cubes. The constants are for a model of an H100,
// whose real memory is faster by a seventh; forms and shapes were tuned with them.
func (c cost) cycles(bytes int64) float64 {
	instructions := float64(c.instructions)
	blocksPerSM := c.blocksPerSM
	if blocksPerSM == 0 {
		blocksPerSM = usualBlocks
	}
	sum := 0.0
	for _, part := range []float64{
		2.9 * instructions,
		1.35 * float64(c.sectors),
		1.1 * float64(c.passes),
		memoryCycles(bytes) / float64(c.blocks) * (1 + c.shortLinePenalty),
		(1.1*instructions + 750) * usualBlocks / float64(blocksPerSM),
	} {
		sum += part * part * part
	}
	return float64(c.blocks) * math.Cbrt(sum)
}

// withoutPenalty is the cost for comparison with other forms, whose lines are equally short but
// have no penalty.
func (c cost) withoutPenalty() cost {
	c.shortLinePenalty = 0
	return c
}

// usualBlocks is the usual number of blocks on a multiprocessor: 1,024 work-items.
const usualBlocks = 4

// atRoof is the ratio of a copy's time to memory's own time below which no other form is tried.
const atRoof = 1.1

// memoryCycles estimates the cycles of memory alone.
func memoryCycles(bytes int64) float64 { return 2 * float64(bytes) / 13 }

// shortLinePenalty is the share of memory's time that short lines add, in blocks of na indices of
// axis near, along which src is dense, and nb of dst's innermost axis. It was measured on an H100
// with transpositions by several tiles.
func (p *transposition) shortLinePenalty(na, nb int64) float64 {
	read, written := na*int64(p.sBits)/8, nb*int64(p.dBits)/8
	if na == nest.Magnitude(p.inner(0).S) { // lines follow each other
		read *= nb
	}
	if nb == nest.Magnitude(p.inner(p.near).D) {
		written *= na
	}
	sum := 0.0
	for _, line := range []int64{read, written} { // 64 bytes: 13 to 20 % longer; 128: 3 to 5 %
		if line < lineBytes {
			sum += .25 - .25*float64(line)/lineBytes
		}
		if line < 2*lineBytes {
			sum += .03
		}
	}
	return sum
}

// touched is the number of sectors touched by lines of so many bytes, each counted separately.
func touched(lines, bytes int64, aligned bool) int64 {
	sectors := lines * ((bytes + sectorBytes - 1) / sectorBytes)
	if !aligned {
		sectors += lines / 2 // one more end, where it does not lie in a sector already counted
	}
	return sectors
}
