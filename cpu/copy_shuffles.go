package cpu

// shuffled says which kernel of simd.Shuffle a job's blocks are for.
type shuffled uint8

const (
	none shuffled = iota
	picks
	spreads
)

// planShuffle chooses a kernel for elements, or short rows, that are neighbours on
// one side and a small step apart on the other.
func (j *job) planShuffle() {
	j.shuffled = none
	width := int64(j.dBits / 8)
	x := &j.b
	switch {
	case kernels.Pick == nil || j.strings || j.packed || j.bytes < shuffledBytes:
		return
	case j.class == rows:
		x = &j.a
		if width *= j.b.n; width > shortRow || j.blkB < j.b.n {
			return
		}
	case j.class != strided && j.class != general && j.class != reversed:
		return
	}
	switch {
	case x.d == width && kernels.PlanPick(&j.shuffle, width, x.s):
		j.shuffled = picks
		j.fetchAhead(x.n*magnitude(x.s), magnitude(j.a.s))
	case x.s == width && kernels.PlanSpread != nil && kernels.PlanSpread(&j.shuffle, width, x.d):
		j.shuffled = spreads
		j.fetchAhead(x.n*x.d, magnitude(j.a.d))
	}
}

// fetchAhead says whether a shuffle does, where its far side has rows of a span, a step
// apart: not what nobody comes to.
func (j *job) fetchAhead(span, step int64) {
	if span < fetchedRow && (j.class == rows || step > span+span/4) {
		j.shuffle.Ahead = 0
	}
}
