package simd

// Permutes are kernels that write blocks of bytes, each gathered from anywhere around it.
type Permutes struct {
	// PermuteWidth is the most bytes of a block.
	PermuteWidth int64
	// PlanPermute prepares blocks in which byte i is the source's from[i], counted from the
	// block's place in the source. It returns false if a block needs too much of the source, or
	// has less than a vector.
	PlanPermute func(p *Permutation, from []int64) bool
	// Permute writes n blocks, dStep apart in dst and sStep in src.
	Permute func(dst, src *byte, dStep, sStep, n int64, p *Permutation)
	// PairNibbles joins the low halves of first[i] and second[i] in low[i], and the high ones
	// in high[i]; SwapNibbles exchanges the halves of a byte. There are n bytes, PairWidth or
	// more.
	PairNibbles func(low, high, first, second *byte, n int64)
	SwapNibbles func(dst, src *byte, n int64)
	PairWidth   int64
}
