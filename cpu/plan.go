package cpu

import (
	"math/bits"
	"slices"

	"github.com/restride/restride/layout"
)

const (
	// blockBytes is the size of a block of rows on either side: a part of L1.
	blockBytes = 16 << 10
	// elementSide is the side, in elements, of a square block of single elements.
	elementSide = 32
)

// mover moves the blocks of a job. It is made by one planner, in memory of the job.
type mover interface {
	// move moves the block of na by nb indices, along a and b, that begins at d and s.
	move(j *job, d, s, na, nb int64, sc *scratch)
	name() string
}

// movers are the memory of each. Tables in it are used again.
type movers struct {
	fields      fields
	stride3     stride3
	tile        tile
	permutation permutation
	wordTurns   wordTurns
	deltaSwaps  deltaSwaps
	unpacked    unpackedBlocks
	conversion  conversion
	bitRows     bitRows
	rows        denseRows
	elements    elements
}

// planner plans a mover and the blocks of a job, or refuses.
type planner struct {
	name  string
	needs conditions // of the job
	least int64      // that its mover costs
	// plan plans a mover that costs less than a limit. Without a mover, which leaves the job as
	// it was, it says why.
	plan func(j *job, limit int64) (m mover, cost int64, why refusal)
}

// conditions are a set of what is true of a job.
type conditions uint8

const (
	inBytes    conditions = 1 << iota // elements are whole bytes, and are not converted
	inBits                            // they are not, or are
	copied                            // elements are not converted
	values                            // they are not strings
	transposed                        // tiles pay
	short                             // so do blocks of some vectors: for short rows, or instead of tiles that cost more
)

// unmet are the refusals of planners that need what is not true. Why tiles do not pay depends on
// the job.
var unmet = [...]refusal{partBytes, wholeBytes, isConverted, areStrings, "", longRows}

// Costs compare movers that make blocks: about as many as a block has terms of a permutation.
// A mover that pays only where there is no other is dear.
const (
	anyCost = 1 << 10
	dear    = anyCost - 1
)

// kernelPlanners and loopPlanners are in the order in which they are asked: where kernels
// permute blocks, and elsewhere.
var (
	kernelPlanners = slices.Concat(tilePlanners, []planner{permutations, unpacking, swapping}, rowPlanners)
	loopPlanners   = slices.Concat(tilePlanners, []planner{swapping, permutations, turning, unpacking}, rowPlanners)

	tilePlanners = []planner{
		{"fields", inBits | copied, 1, planFields},
		{"stride3", inBytes | transposed, 1, planStride3},
		{"tiles", transposed, 1, planTile},
	}
	permutations = planner{"permutation", inBytes | values | short, 1, planPermutation}
	swapping     = planner{"delta swaps", copied | values | short, 1, planDeltaSwaps}
	turning      = planner{"turned words", inBits | copied | short, 1, planWordTurns}
	unpacking    = planner{"unpacked blocks", inBits | copied | short, unpackedCost, planUnpacked}
	rowPlanners  = []planner{
		{"conversion", inBits, dear, planConversion},
		{"bit rows", inBits | copied, dear, planBitRows},
		{"rows", inBytes, dear, planRows},
		{"elements", inBytes, dear, planElements},
	}
)

// refusal says why a planner refuses.
type refusal string

const (
	costsMore   refusal = "it costs more than what was found before"
	longRows    refusal = "rows are long enough for what moves rows"
	tilesPay    refusal = "tiles are faster"
	tooSmall    refusal = "the copy is too small"
	wholeBytes  refusal = "elements are whole bytes"
	partBytes   refusal = "elements are below a byte, or converted"
	isConverted refusal = "elements are converted"
	areStrings  refusal = "elements are strings"
	otherClass  refusal = "the copy is of another class"
	otherWidth  refusal = "elements are of another width"
	notDense    refusal = "the destination's elements are not neighbours along the innermost axis"
	notNear     refusal = "the source's elements are not neighbours along another axis"
	noBlocks    refusal = "the axes do not make whole blocks"
	withinBytes refusal = "blocks begin within bytes"
	noThrees    refusal = "neither axis has three elements"
	shortRuns   refusal = "runs are too short, or too many axes are cut"
	noFields    refusal = "elements are not fields of a few bits"
	tooShort    refusal = "rows or columns are too short"
	unaligned   refusal = "the machine reads words at multiples of their size only"
	manyTurns   refusal = "words are made of too many others"
	sameOrder   refusal = "elements of words are in the same order"
	fewBlocks   refusal = "rows have too few blocks"
	noKernel    refusal = "kernels cannot make such blocks"
)

// choice is what became of a planner.
type choice struct {
	planner string
	mover   mover // nil: it refused
	cost    int64
	why     refusal
}

// plan chooses the class, the blocks, and the mover.
func (j *job) plan() { j.choose(nil) }

// choose asks planners for a mover that is cheaper than what was found before, and notes what
// became of each, unless note is nil.
func (j *job) choose(note func(choice)) {
	j.classify()
	j.mover, j.follows = nil, false
	planners, limit := loopPlanners, int64(anyCost)
	met, noTiles := j.conditions()
	if kernels.Permute != nil {
		planners = kernelPlanners
	}
	for i := range planners {
		p := &planners[i]
		var m mover
		cost, why := p.least, costsMore
		switch missing := p.needs &^ met; {
		case missing != 0:
			if why = unmet[bits.TrailingZeros8(uint8(missing))]; why == "" {
				why = noTiles
			}
		case p.least < limit:
			if m, cost, why = p.plan(j, limit); m != nil {
				j.mover, limit, met = m, cost, met|short
			}
		}
		if note != nil {
			note(choice{p.name, m, cost, why})
		}
	}
	j.past = j.streams()
}

// explain returns what becomes of all planners for a checked call, in the order in which they
// are asked: the last one with a mover is chosen. Of a copy below a byte that workers share, each
// part is planned by itself.
func explain(f *form, dst, src *layout.Layout) (all []choice) {
	j := new(job)
	if j.prepare(f, dst, src) {
		j.choose(func(c choice) { all = append(all, c) })
	}
	return all
}

// conditions returns what is true of a job that is classified, and why tiles do not pay.
func (j *job) conditions() (met conditions, noTiles refusal) {
	met = inBytes
	if j.packed {
		met = inBits
	}
	if j.class != convert {
		met |= copied
	}
	if !j.strings {
		met |= values
	}
	if noTiles = j.noTiles(); noTiles == "" {
		met |= transposed
	}
	if j.shortRows() {
		met |= short
	}
	return met, noTiles
}

// shortRows reports whether rows of the destination are too short for what moves rows. No
// kernel moves packed elements that are nowhere neighbours.
func (j *job) shortRows() bool {
	row := j.axes[j.rank-1].n * int64(j.dBits)
	switch j.class {
	case general:
		return j.packed || row <= permutedRow*8
	case strided, reversed:
		return row <= permutedRow*8
	case rows:
		return j.packed && row <= shortRow*8
	}
	return false
}

// block makes a the axis ai (-1: none) and b the innermost one, and cuts them in
// blocks.
func (j *job) block(ai int, blkA, blkB int64) {
	j.b = j.axes[j.rank-1]
	j.a = axis{n: 1}
	j.nOut = 0
	for i := range j.rank - 1 {
		if i == ai {
			j.a = j.axes[i]
			continue
		}
		j.outer[j.nOut] = j.axes[i]
		j.nOut++
	}
	j.cut(blkA, blkB)
}

// perRow is how many elements of a row a block has.
func (j *job) perRow() int64 { return max(1, int64(blockBytes*8/max(j.dBits, j.sBits))) }

// blockRows cuts rows into blocks as they follow one another in the destination; or, if they
// overlap or repeat in the source, such that a piece of them stays in L1.
func (j *job) blockRows() {
	last, perRow := j.rank-1, j.perRow()
	n := j.axes[last].n
	switch near := j.near.nearest; {
	case j.class == dense:
		j.block(-1, 1, 4*perRow)
	case j.class == rows && near >= 0 && magnitude(j.axes[near].s) < n*j.unit(j.sBits):
		j.block(near, 64, perRow)
	case j.class == general:
		j.blockSquares()
	default:
		j.block(last-1, max(1, perRow/min(n, perRow)), perRow)
	}
}

// blockSquares makes square blocks, which use all of each cache line on both sides.
func (j *job) blockSquares() {
	near := j.near.nearest
	side := max(elementSide, 512/min(j.axes[j.rank-1].n, 512))
	j.block(near, side, max(elementSide, 512/min(j.axes[near].n, 512)))
}
