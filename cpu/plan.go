package cpu

import (
	"math/bits"
	"slices"

	"github.com/restride/restride/internal/nest"
)

const (
	// blockBytes is the size of a block of rows on either side: a part of L1.
	blockBytes = 16 << 10
	// elementSide is the side, in elements, of a square block of single elements.
	elementSide = 32
)

// mover moves the blocks of a job. A planner creates it in the job's own memory.
type mover interface {
	// move moves the block at d and s: na indices along axis a by nb along axis b.
	move(j *job, d, s, na, nb int64, sc *scratch)
	name() string
}

// movers is the memory of a job's movers, reused by later plans.
type movers struct {
	fields      fields
	stride3     stride3
	tile        tile
	permutation permutation
	turnedWords turnedWords
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
	needs conditions
	least int64 // the least cost of its mover
	// plan plans a mover that costs less than limit. If it refuses, it gives the reason and
	// leaves the job unchanged.
	plan func(j *job, limit int64) (m mover, cost int64, why refusal)
}

// conditions is a set of facts about a job.
type conditions uint8

const (
	inBytes    conditions = 1 << iota // elements are whole bytes and keep their type
	inBits                            // the opposite of inBytes
	copied                            // elements keep their type
	values                            // elements are not strings
	transposed                        // the copy is a transpose, and tiles pay off
	short                             // rows are short, or there are tiles: blocks of a few vectors may be cheaper
)

// unmet has the refusal for each condition; noTiles has it for transposed.
var unmet = [...]refusal{partBytes, wholeBytes, isConverted, areStrings, "", longRows}

// A cost is roughly the number of permutation terms that cost as much as a block. A mover whose
// cost is unknown has a high one: it is for jobs that no other mover can do.
const (
	anyCost = 1 << 10
	dear    = anyCost - 1
)

// kernelPlanners and loopPlanners are in the order in which they are asked: the first where
// kernels permute blocks, the second elsewhere.
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
	turning      = planner{"turned words", inBits | copied | short, 1, planTurnedWords}
	unpacking    = planner{"unpacked blocks", inBits | copied | short, unpackedCost, planUnpacked}
	rowPlanners  = []planner{
		{"conversion", inBits, dear, planConversion},
		{"bit rows", inBits | copied, dear, planBitRows},
		{"rows", inBytes, dear, planRows},
		{"elements", inBytes, dear, planElements},
	}
)

// refusal is the reason why a planner refuses.
type refusal string

const (
	costsMore   refusal = "a cheaper mover was found before"
	longRows    refusal = "rows are long enough to be moved as such"
	tilesPay    refusal = "tiles are faster"
	tooSmall    refusal = "the copy is too small"
	wholeBytes  refusal = "elements are whole bytes"
	partBytes   refusal = "elements are below a byte, or converted"
	isConverted refusal = "elements are converted"
	areStrings  refusal = "elements are strings"
	otherKind   refusal = "its loops are of another kind"
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
	manyTurns   refusal = "a word is made of too many others"
	sameOrder   refusal = "words keep the order of their elements"
	fewBlocks   refusal = "rows have too few blocks"
	noKernel    refusal = "kernels cannot make such blocks"
)

// choice is a planner's answer.
type choice struct {
	planner string
	mover   mover // nil: it refused
	cost    int64
	why     refusal
}

// plan chooses the kind, the blocks, and the mover.
func (j *job) plan() { j.choose(nil) }

// choose asks each planner for a mover that is cheaper than the earlier ones. note, if not nil,
// receives each answer.
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

// conditions returns the facts about a job whose kind is known, and why tiles do not pay off.
func (j *job) conditions() (met conditions, noTiles refusal) {
	met = inBytes
	if j.packed {
		met = inBits
	}
	if j.kind != convert {
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

// shortRows reports whether rows of the destination are too short to be moved as rows. No kernel
// moves packed elements without neighbours.
func (j *job) shortRows() bool {
	row := j.axes[j.rank-1].N * int64(j.dBits)
	switch j.kind {
	case general:
		return j.packed || row <= permutedRow*8
	case strided, reversed:
		return row <= permutedRow*8
	case rows:
		return j.packed && row <= shortRow*8
	}
	return false
}

// block sets a to the axis ai (-1: none) and b to the innermost one, and divides them into blocks.
func (j *job) block(ai int, blkA, blkB int64) {
	j.b = j.axes[j.rank-1]
	j.a = axis{N: 1}
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

// perRow is the number of elements of a row in a block.
func (j *job) perRow() int64 { return max(1, int64(blockBytes*8/max(j.dBits, j.sBits))) }

// blockRows divides rows into blocks in the order of the destination; or, if rows overlap or
// repeat in the source, such that a piece of them stays in L1.
func (j *job) blockRows() {
	last, perRow := j.rank-1, j.perRow()
	n := j.axes[last].N
	switch near := j.near.Outer; {
	case j.kind == dense:
		j.block(-1, 1, 4*perRow)
	case j.kind == rows && near >= 0 && nest.Magnitude(j.axes[near].S) < n*j.unit(j.sBits):
		j.block(near, 64, perRow)
	case j.kind == general:
		j.blockSquares()
	default:
		j.block(last-1, max(1, perRow/min(n, perRow)), perRow)
	}
}

// blockSquares makes square blocks, which use all of each cache line on both sides.
func (j *job) blockSquares() {
	near := j.near.Outer
	side := max(elementSide, 512/min(j.axes[j.rank-1].N, 512))
	j.block(near, side, max(elementSide, 512/min(j.axes[near].N, 512)))
}
