package cpu

import (
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
	name   string
	least  int64 // that its mover costs
	blocks bool  // its mover makes blocks of some vectors: for short rows, or instead of tiles
	// plan plans a mover that costs less than a limit. Without a mover, which leaves the job as
	// it was, it says why.
	plan func(j *job, limit int64) (m mover, cost int64, why refusal)
}

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
		{name: "fields", least: 1, plan: planFields},
		{name: "stride3", least: 1, plan: planStride3},
		{name: "tiles", least: 1, plan: planTile},
	}
	permutations = planner{name: "permutation", least: 1, blocks: true, plan: planPermutation}
	swapping     = planner{name: "delta swaps", least: 1, blocks: true, plan: planDeltaSwaps}
	turning      = planner{name: "turned words", least: 1, blocks: true, plan: planWordTurns}
	unpacking    = planner{name: "unpacked blocks", least: unpackedCost, blocks: true, plan: planUnpacked}
	rowPlanners  = []planner{
		{name: "conversion", least: dear, plan: planConversion},
		{name: "bit rows", least: dear, plan: planBitRows},
		{name: "rows", least: dear, plan: planRows},
		{name: "elements", least: dear, plan: planElements},
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
	yes     bool
	mover   string // of one that says yes
	cost    int64
	why     refusal // of another
	chosen  bool
}

// plan chooses the class, the blocks, and the mover.
func (j *job) plan() { j.choose(nil) }

// choose asks planners for a mover that is cheaper than what was found before, and notes what
// became of each, unless note is nil.
func (j *job) choose(note func(choice)) {
	j.classify()
	j.mover, j.follows = nil, false
	planners, short, limit := loopPlanners, j.shortRows(), int64(anyCost)
	if kernels.Permute != nil {
		planners = kernelPlanners
	}
	for i := range planners {
		p := &planners[i]
		c := choice{planner: p.name}
		switch {
		case p.least >= limit:
			c.why = costsMore
		case p.blocks && j.mover == nil && !short:
			c.why = longRows
		default:
			var m mover
			if m, c.cost, c.why = p.plan(j, limit); m != nil {
				j.mover, limit = m, c.cost
			}
			c.yes = m != nil
		}
		if note != nil {
			if c.yes {
				c.mover = j.mover.name()
			}
			note(c)
		}
	}
	j.past = j.streams()
}

// explain returns what becomes of all planners for a checked call, in the order in which they
// are asked: the last one that says yes is chosen. Of a copy below a byte that workers share, each
// part is planned by itself.
func explain(f *form, dst, src *layout.Layout) (all []choice) {
	j := jobs.Get().(*job)
	defer j.release()
	if !j.prepare(f, dst, src) {
		return nil
	}
	last := -1
	j.choose(func(c choice) {
		if c.yes {
			last = len(all)
		}
		all = append(all, c)
	})
	all[last].chosen = true
	return all
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
