package planner

import (
	"math"
	"slices"

	"github.com/restride/restride/internal/nest"
)

// Plans for parallel targets, GPUs: a copy whose sides are dense along different axes goes through
// local memory, so that neighbouring work-items both read and write neighbours. (CPU targets do
// this only for transposes of elements below a byte.)

const (
	// lineBytes is the least amount of either side that a group reads or writes in one run;
	// sectorBytes is the least amount that memory moves.
	lineBytes, sectorBytes = 128, 32
	// bandPitch is the largest distance in bytes between lines of dst that blocks write in
	// bands, of at most bandBlocks side by side: parts of a line are then written soon after
	// each other, which is faster on an H100. With longer lines, bands are up to a twentieth
	// slower.
	bandPitch, bandBlocks = 8 << 10, 32
	// shuffleGain is the largest acceptable ratio of a shuffle's cost to the cost of a
	// permutation of words: both estimates are accurate to a few percent.
	shuffleGain = .95
)

// tiling is a copy prepared for this file's forms.
type tiling struct {
	*problem
	untiled   refusal // why none of them fits
	scattered bool    // see problem.scattered
	unfit     bool    // there is no room for a permutation's parameters
}

func newTiling(p *problem) *tiling {
	t := &tiling{problem: p}
	switch {
	case p.target.CPU && p.dBits >= 8:
		t.untiled = packedOnly
	case len(p.axes) < 2:
		t.untiled = oneAxis
	case p.manyAxes:
		t.untiled = tooManyAxes
	default:
		t.scattered = p.scattered()
	}
	return t
}

// copyPlanners are the planners of a copy. Planners that compare are in the order of their
// planning cost; they are skipped once a kernel is hardly slower than memory.
var copyPlanners = []planner[*tiling]{
	{"blocks", false, (*tiling).offerBlocks},
	{"transposition", true, (*tiling).offerTransposition},
	{"permutation", true, (*tiling).offerPermutation},
	{"shuffle", true, (*tiling).offerShuffle},
	{"batch", true, (*tiling).offerBatch},
	{"spread", false, (*tiling).offerSpread},
	{"stamp", false, func(t *tiling, _ *offer) (offer, refusal) { return t.offerStamp() }},
	{"fields", false, func(t *tiling, _ *offer) (offer, refusal) { return t.offerFields() }},
	{"words", false, func(t *tiling, _ *offer) (offer, refusal) { return t.offerWords() }},
	{"chunks", false, func(t *tiling, _ *offer) (offer, refusal) { return t.offerChunks(Element) }},
	{"elements", false, func(t *tiling, _ *offer) (offer, refusal) { return t.offerElements(Element) }},
}

// above reports whether a share of the offer's cost exceeds the least cost of other kernels, so
// that searching for them pays off.
func (o *offer) above(p *problem, share float64) bool {
	return !o.some() || share*o.cycles >= atRoof*memoryCycles(p.bytes)
}

func (t *tiling) offerTransposition(*offer) (offer, refusal) {
	switch {
	case t.untiled != "":
		return offer{}, t.untiled
	case !t.scattered:
		return offer{}, notScattered
	}
	return t.transposed()
}

func (t *tiling) offerPermutation(best *offer) (offer, refusal) {
	switch {
	case t.untiled != "":
		return offer{}, t.untiled
	case t.target.CPU:
		return offer{}, onlyGPU
	case t.dBits >= 32:
		return offer{}, otherWidth
	case t.unfit:
		return offer{}, noRoom
	case !best.above(t.problem, 1):
		return offer{}, nearRoof
	}
	x, why := t.permutes()
	if why != "" {
		return offer{}, why
	}
	cycles := x.cost().cycles(t.bytes)
	if best.some() && cycles >= best.cycles {
		return offer{spec: t.spec(Permute), cycles: cycles}, costsMore
	}
	return offer{t.spec(Permute), cycles, func(k *parameters) (Spec, error) {
		spec, ok := x.plan(k)
		if t.unfit = !ok; t.unfit {
			return spec, errWithdrawn
		}
		return spec, nil
	}}, ""
}

func (t *tiling) offerShuffle(best *offer) (offer, refusal) {
	gain := 1.0
	if best.spec.Form == Permute {
		gain = shuffleGain
	}
	switch {
	case t.untiled != "":
		return offer{}, t.untiled
	case t.target.CPU:
		return offer{}, onlyGPU
	case t.dBits < 8:
		return offer{}, otherWidth
	case !best.some() && !t.scattered && !t.short():
		return offer{}, notScattered
	case !best.above(t.problem, gain):
		return offer{}, nearRoof
	}
	x, why := t.shuffles()
	if why != "" {
		return offer{}, why
	}
	cycles := x.cycles()
	if best.some() && cycles >= gain*best.cycles {
		return offer{spec: t.spec(Shuffle), cycles: cycles}, costsMore
	}
	return offer{t.spec(Shuffle), cycles, x.plan}, ""
}

// offerBatch compares with the best of other forms. If there is none, nearby elements in short
// rows are moved one by one, except below a byte.
func (t *tiling) offerBatch(best *offer) (offer, refusal) {
	least := math.Inf(1)
	switch {
	case t.untiled != "":
		return offer{}, t.untiled
	case t.target.CPU:
		return offer{}, onlyGPU
	case !best.above(t.problem, 1):
		return offer{}, nearRoof
	case best.some():
		least = batchGain * best.cycles
	case t.dBits >= 8:
		return offer{}, notScattered
	}
	x, why := t.batches(least)
	if why != "" {
		return offer{}, why
	}
	return offer{t.spec(Batch), x.cost.cycles(t.bytes), func(k *parameters) (Spec, error) { return x.plan(t.problem, k) }}, ""
}

// srcOrder lists the axes, counted from dst's innermost one, in the order of src's steps, except
// axes along which src repeats elements.
func (p *problem) srcOrder() []int {
	var order []int
	for i := range p.axes {
		if p.inner(i).S != 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := nest.Magnitude(p.inner(i).S), nest.Magnitude(p.inner(j).S)
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	return order
}

// dstOrder is the same for dst: 0, 1, 2, ...
func (p *problem) dstOrder() []int {
	order := make([]int, len(p.axes))
	for i := range order {
		order[i] = i
	}
	return order
}

// sectors is the approximate number of sectors of src for a line's worth of elements, visited in
// this order of axes.
func (p *problem) sectors(order []int) float64 {
	need := float64(lineBytes * 8 / p.dBits)
	perSector := float64(sectorBytes * 8 / p.dBits)
	got, sectors := 1.0, 1.0
	for _, i := range order {
		if got >= need {
			break
		}
		a := p.inner(i)
		n := min(float64(a.N), need/got)
		got *= n
		sectors *= min(n, max(1, n*float64(nest.Magnitude(a.S))/perSector))
	}
	return sectors * need / got
}

// scattered reports whether a line of dst comes from so many places in src that local memory pays
// off.
func (p *problem) scattered() bool {
	return p.sectors(p.dstOrder()) >= 2*p.sectors(p.srcOrder())
}

// short reports whether narrow elements are neighbours in rows shorter than a vector that have no
// gaps between them in dst.
func (p *tiling) short() bool {
	return !p.spaced() && p.dBits < 32 && p.inner(0).N*int64(p.dBits) < vector*8
}

// others returns the other axes, innermost first.
func (p *problem) others(but ...int) []axis {
	var others []axis
	for i := range p.axes {
		if !slices.Contains(but, i) {
			others = append(others, p.inner(i))
		}
	}
	return others
}
