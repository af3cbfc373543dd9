package planner

import "slices"

// Plans for parallel targets, GPUs: a copy whose sides are dense along different
// axes goes through local memory, so that neighbouring work-items both read
// neighbours and write neighbours. (CPU targets transpose only elements below
// a byte in this way.)

const (
	// lineBytes is how much of either side a group reads or writes in one run,
	// at least; sectorBytes is the least that memory moves.
	lineBytes, sectorBytes = 128, 32
	// bandPitch is up to how many bytes lines of dst are apart that blocks write in bands, of bandBlocks
	// side by side at the most: parts of a line are then written soon after each other, as an H100 wants
	// it. Where lines are longer, it is up to a twentieth slower with bands.
	bandPitch, bandBlocks = 8 << 10, 32
	// shuffleGain is the share of what a permutation of words takes that a shuffle may take at
	// most, as either is known to a few percent.
	shuffleGain = .95
)

// planTiles chooses among this file's forms; false: none of them fits.
func (p *problem) planTiles(k *parameters) (Spec, bool, error) {
	if len(p.axes) < 2 || p.manyAxes {
		return Spec{}, false, nil
	}
	best := p.chooseTiles(true)
	if best.form == Permute {
		if spec, ok := p.planPermute(k, best.words); ok {
			return spec, true, nil
		}
		*k = parameters{} // too many axes
		best = p.chooseTiles(false)
	}
	switch best.form {
	case Tile:
		return p.spec(Tile), true, p.planTile(k, best.near, best.tile)
	case Transpose:
		if p.target.CPU {
			return p.spec(Transpose), true, p.planCPUTransposed(k, best.near)
		}
		spec := p.spec(Transpose)
		return spec, true, p.planTranspose(k, spec, best.near, best.strip)
	case Shuffle:
		spec, err := best.shape.plan(k)
		return spec, true, err
	case Batch:
		spec, err := best.batch.plan(p, k)
		return spec, true, err
	}
	if p.dBits >= 32 {
		if c := p.repeats(); c > 0 {
			spec, err := p.planRepeated(k, c)
			return spec, true, err
		}
	}
	return Spec{}, false, nil
}

// band is how many blocks along dst's innermost axis a band has at most, of lines along axis near.
func (p *problem) band(near int) int64 {
	if magnitude(p.inner(near).d)*int64(p.dBits)/8 <= bandPitch {
		return bandBlocks
	}
	return 1
}

// choice is a form by tiles, and about how long it takes.
type choice struct {
	form   Form // or none
	cycles float64
	near   int // of a transposition of long axes: that along which src is dense
	tile   tileShape
	strip  strip
	words  *permutation
	shape  *shape
	batch  *batch
}

// above reports whether a share of what the choice takes is more than others take at least:
// whether it pays to look for them.
func (c *choice) above(p *problem, share float64) bool {
	return c.form == none || share*c.cycles >= atRoof*memoryCycles(p.bytes)
}

// chooseTiles returns the form that takes least. Forms are looked for in the order of what that
// costs, and no further where one takes hardly more than memory does.
func (p *problem) chooseTiles(permute bool) choice {
	var best choice
	scattered := p.scattered()
	if scattered {
		best = p.transposed()
	}
	if p.target.CPU {
		return best
	}
	if p.dBits < 32 && permute && best.above(p, 1) {
		if t := p.permutes(); t != nil {
			if cycles := t.cost().cycles(p.bytes); best.form == none || cycles < best.cycles {
				best = choice{form: Permute, cycles: cycles, words: t}
			}
		}
	}
	gain := 1.0
	if best.form == Permute {
		gain = shuffleGain
	}
	if p.dBits >= 8 && (best.form != none || scattered || p.short()) && best.above(p, gain) {
		if t := p.shuffles(); t != nil {
			if cycles := t.cycles(); best.form == none || cycles < gain*best.cycles {
				best = choice{form: Shuffle, cycles: cycles, shape: t}
			}
		}
	}
	if best.above(p, 1) {
		if t := p.batched(&best); t != nil {
			best = choice{form: Batch, batch: t}
		}
	}
	return best
}

// srcOrder lists the axes, counted from dst's innermost one, in the order of src's
// steps; without those along which it repeats elements.
func (p *problem) srcOrder() []int {
	var order []int
	for i := range p.axes {
		if p.inner(i).s != 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := magnitude(p.inner(i).s), magnitude(p.inner(j).s)
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

// sectors is about how many sectors of src a line's worth of elements takes, if
// they are taken in this order of axes.
func (p *problem) sectors(order []int) float64 {
	need := float64(lineBytes * 8 / p.dBits)
	perSector := float64(sectorBytes * 8 / p.dBits)
	got, sectors := 1.0, 1.0
	for _, i := range order {
		if got >= need {
			break
		}
		a := p.inner(i)
		n := min(float64(a.n), need/got)
		got *= n
		sectors *= min(n, max(1, n*float64(magnitude(a.s))/perSector))
	}
	return sectors * need / got
}

// scattered reports whether a line of dst comes from so many locations in src that
// it pays to go through local memory.
func (p *problem) scattered() bool {
	return p.sectors(p.dstOrder()) >= 2*p.sectors(p.srcOrder())
}

// short reports whether narrow elements are neighbours in rows shorter than a vector, with
// no gaps between these in dst.
func (p *problem) short() bool {
	return !p.spaced() && p.dBits < 32 && p.inner(0).n*int64(p.dBits) < vector*8
}

// others returns the axes but these, innermost first.
func (p *problem) others(but ...int) []axis {
	var others []axis
	for i := range p.axes {
		if !slices.Contains(but, i) {
			others = append(others, p.inner(i))
		}
	}
	return others
}
