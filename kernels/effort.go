package kernels

import "math"

// effort is about what a block of a form by tiles asks of a multiprocessor.
type effort struct {
	blocks       int64
	live         int64   // how many of them a multiprocessor has at a time; 0: usualBlocks
	instructions int64   // of a work-item
	sectors      int64   // of memory that its loads and stores touch, one after the other
	passes       int64   // through the banks of local memory
	strain       float64 // how much longer memory takes, as lines are short: see strain
}

// cycles is about how many of them a copy of so many bytes takes on one multiprocessor of
// a large GPU: what is bound by instructions, by the second-level cache, by local memory,
// by memory and by its latency overlaps, but for what adding up their cubes says. The
// constants are those that kernels/model had for an H100 before it was held against one,
// which is better by a seventh in what memory takes: forms and shapes were chosen by these
// when they were measured.
func (e effort) cycles(bytes int64) float64 {
	instructions := float64(e.instructions)
	live := e.live
	if live == 0 {
		live = usualBlocks
	}
	sum := 0.0
	for _, part := range []float64{
		2.9 * instructions,
		1.35 * float64(e.sectors),
		1.1 * float64(e.passes),
		memoryCycles(bytes) / float64(e.blocks) * (1 + e.strain),
		(1.1*instructions + 750) * usualBlocks / float64(live),
	} {
		sum += part * part * part
	}
	return float64(e.blocks) * math.Cbrt(sum)
}

// unstrained is the effort to compare with other forms', whose lines are as short, but do not tell.
func (e effort) unstrained() effort {
	e.strain = 0
	return e
}

// usualBlocks is how many of them live on a multiprocessor: 1,024 work-items.
const usualBlocks = 4

// atRoof is how much longer than memory takes by itself a copy may take for no other form
// to be tried.
const atRoof = 1.1

// memoryCycles is about how many of them memory takes by itself.
func memoryCycles(bytes int64) float64 { return 2 * float64(bytes) / 13 }

// strain is how much longer memory takes for blocks of na indices of axis near, along which src
// is dense, and nb of dst's innermost one, as their lines are short: as was measured on an H100 with
// transpositions by several tiles.
func (p *problem) strain(near int, na, nb int64) float64 {
	read, written := na*int64(p.sBits)/8, nb*int64(p.dBits)/8
	if na == magnitude(p.inner(0).s) { // lines follow each other
		read *= nb
	}
	if nb == magnitude(p.inner(near).d) {
		written *= na
	}
	sum := 0.0
	for _, line := range []int64{read, written} { // of 64 bytes took 13 to 20 % longer, of 128 3 to 5
		if line < lineBytes {
			sum += .25 - .25*float64(line)/lineBytes
		}
		if line < 2*lineBytes {
			sum += .03
		}
	}
	return sum
}

// touched is how many sectors lines of so many bytes touch, each for itself.
func touched(lines, bytes int64, aligned bool) int64 {
	sectors := lines * ((bytes + sectorBytes - 1) / sectorBytes)
	if !aligned {
		sectors += lines / 2 // an end more, where it does not lie in a begun one
	}
	return sectors
}
