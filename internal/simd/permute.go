package simd

import "slices"

// Permutes are kernels that write blocks of bytes, each from anywhere around it.
type Permutes struct {
	// PermuteWidth is the most bytes of a block.
	PermuteWidth int64
	// PlanPermute prepares blocks in which byte i is the source's from[i], counted from
	// the block's place in the source. False: a block needs more of the source than pays,
	// or has less than a vector.
	PlanPermute func(p *Permutation, from []int64) bool
	// Permute writes n blocks, which are dStep apart in dst and sStep in src.
	Permute func(dst, src *byte, dStep, sStep, n int64, p *Permutation)
	// PairNibbles puts the low halves of first[i] and second[i] together in low[i], and
	// the high ones in high[i]; SwapNibbles exchanges the halves of a byte. There are
	// n bytes, PairWidth or more.
	PairNibbles func(low, high, first, second *byte, n int64)
	SwapNibbles func(dst, src *byte, n int64)
	PairWidth   int64
}

// mostTerms is the most vectors of the source that make one of a block.
const mostTerms = 16

// Permutation says how a block is made: of some vectors of the source, each permuted in
// its own way.
type Permutation struct {
	near  int64 // bytes of a block
	count int   // of terms
	terms [mostTerms]permuteTerm
}

// permuteTerm is one of these vectors. Kernels of amd64 read it by offsets.
type permuteTerm struct {
	// With vectors of 16 bytes there is one for each half of a block, low and high; with
	// 64, mask says which bytes of the block it gives.
	low, high int64
	mask      uint64
	table     [64]byte
}

// Terms returns the number of vectors that make a block.
func (p *Permutation) Terms() int64 { return int64(p.count) }

// windows appends the starts of the fewest windows of width bytes, in the bytes [lo, hi),
// that hold all offsets. sorted is memory for these.
func windows(to []int64, sorted *[64]int64, offsets []int64, width, lo, hi int64) []int64 {
	all := sorted[:copy(sorted[:], offsets)]
	slices.Sort(all)
	for _, at := range all {
		if n := len(to); n == 0 || at >= to[n-1]+width {
			to = append(to, max(lo, min(at, hi-width)))
		}
	}
	return to
}
