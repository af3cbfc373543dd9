package cpu

const (
	// shuffledBytes is the size from which preparing a shuffle pays.
	shuffledBytes = 512
	// fetchedRow is the length, in bytes, from which rows are fetched ahead, however they
	// lie.
	fetchedRow = 16 << 10
)

// shuffled says which kernel of simd.Shuffle moves a job's blocks.
type shuffled uint8

const (
	none    shuffled = iota
	picks            // from a step apart to neighbours: every second, reversed
	spreads          // from neighbours to a step apart
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

// fetchAhead decides whether a shuffle fetches ahead, where its far side has rows of a
// span, a step apart: not what is never read.
func (j *job) fetchAhead(span, step int64) {
	if span < fetchedRow && (j.class == rows || step > span+span/4) {
		j.shuffle.Ahead = 0
	}
}
