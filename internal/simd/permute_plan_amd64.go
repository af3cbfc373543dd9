package simd

import (
	"slices"
	"unsafe"
)

// mostTerms is the most vectors of the source for one of a block.
const mostTerms = 16

// Permutation describes a block as vectors of the source, each permuted in its own way.
type Permutation struct {
	near  int64 // bytes of a block
	count int   // of terms
	terms [mostTerms]permuteTerm
}

// permuteTerm is one of these vectors. Kernels of amd64 read it by offsets.
type permuteTerm struct {
	// With vectors of 16 bytes there is one for each half of a block, low and high; with 64,
	// mask selects the bytes of the block that it contributes.
	low, high int64
	mask      uint64
	table     [64]byte
}

// Terms returns the number of vectors that make a block.
func (p *Permutation) Terms() int64 { return int64(p.count) }

// windows appends the starts of the fewest windows of width bytes, in the bytes [lo, hi), that
// hold all offsets. sorted is scratch memory for these.
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

func (k *Permutes) avx2() {
	*k = Permutes{
		PermuteWidth: 32, PlanPermute: (*Permutation).planAVX2, Permute: permuteAVX2,
		PairWidth: 32, PairNibbles: pairNibblesAVX2, SwapNibbles: swapNibblesAVX2,
	}
}

func (k *Permutes) avx512() {
	*k = Permutes{
		PermuteWidth: 64, PlanPermute: (*Permutation).planAVX512, Permute: permuteAVX512,
		PairWidth: 64, PairNibbles: pairNibblesAVX512, SwapNibbles: swapNibblesAVX512,
	}
}

// mergeFunc computes blocks from a number of terms.
type mergeFunc = func(dst, src *byte, dStep, sStep, n int64, terms *byte)

// termCounts are the numbers of terms for which there are kernels. Other numbers are padded.
var (
	termCounts   = [...]int{1, 2, 3, 4, 6, 8, 12, 16}
	mergesAVX2   = [...]mergeFunc{merge1AVX2, merge2AVX2, merge3AVX2, merge4AVX2, merge6AVX2, merge8AVX2, merge12AVX2, merge16AVX2}
	mergesAVX512 = [...]mergeFunc{merge1AVX512, merge2AVX512, merge3AVX512, merge4AVX512, merge6AVX512, merge8AVX512, merge12AVX512, merge16AVX512}
)

// kernelOf returns the kernel for the terms.
func (p *Permutation) kernelOf(all *[len(termCounts)]mergeFunc) mergeFunc {
	i, _ := slices.BinarySearch(termCounts[:], p.count)
	return all[i]
}

// bounds returns the lowest offset, and the one after the highest.
func bounds(offsets []int64) (lo, hi int64) {
	return slices.Min(offsets), slices.Max(offsets) + 1
}

// begin makes room for a number of terms, which contribute nothing yet. It returns false if
// they are too many.
func (p *Permutation) begin(near, terms, nothing int) bool {
	i, _ := slices.BinarySearch(termCounts[:], terms)
	if i == len(termCounts) {
		return false
	}
	p.near, p.count = int64(near), termCounts[i]
	for i := range p.count {
		t := &p.terms[i]
		*t = permuteTerm{}
		for b := range t.table {
			t.table[b] = byte(nothing)
		}
	}
	return true
}

// planAVX2 builds a block of two halves.
func (p *Permutation) planAVX2(from []int64) bool {
	const vector, zero = 16, 0x80
	lo, hi := bounds(from)
	if hi-lo < vector || len(from) > 2*vector {
		return false
	}
	var room [2][2 * vector]int64
	var sorted [64]int64
	var starts [2][]int64
	for h := range starts {
		half := from[min(h*vector, len(from)):min((h+1)*vector, len(from))]
		starts[h] = windows(room[h][:0], &sorted, half, vector, lo, hi)
	}
	if !p.begin(len(from), max(len(starts[0]), len(starts[1])), zero) {
		return false
	}
	for i := range p.count {
		t := &p.terms[i]
		t.low, t.high = lo, lo
		if i < len(starts[0]) {
			t.low = starts[0][i]
		}
		if i < len(starts[1]) {
			t.high = starts[1][i]
		}
	}
	for b, at := range from {
		h := b / vector
		i := holding(starts[h], at, vector)
		p.terms[i].table[b] = byte(at - starts[h][i])
	}
	return true
}

// holding returns the window that contains an offset.
func holding(starts []int64, at, width int64) int {
	return slices.IndexFunc(starts, func(s int64) bool { return s <= at && at < s+width })
}

// planAVX512 builds a block of one vector. A single vector of the source may have less.
func (p *Permutation) planAVX512(from []int64) bool {
	const vector = 64
	lo, hi := bounds(from)
	var room [vector]int64
	var sorted [vector]int64
	starts := windows(room[:0], &sorted, from, vector, lo, max(hi, lo+vector))
	if !p.begin(len(from), len(starts), 0) {
		return false
	}
	for i := range p.count {
		p.terms[i].low = lo
		if i < len(starts) {
			p.terms[i].low = starts[i]
		}
	}
	for b, at := range from {
		t := &p.terms[holding(starts, at, vector)]
		t.table[b] = byte(at - t.low)
		t.mask |= 1 << b
	}
	// The first vector need not leave bytes to others: its masks are the block's, and the
	// load's if there is no other vector.
	p.terms[0].mask = ^uint64(0) >> (vector - len(from))
	p.terms[0].high = int64(^uint64(0) >> (vector - min(vector, hi-lo)))
	return true
}

// permuteAVX2 writes whole vectors: the following blocks, or a buffer, receive the bytes behind
// a block.
func permuteAVX2(dst, src *byte, dStep, sStep, n int64, p *Permutation) {
	const vector = 32
	kernel, terms := p.kernelOf(&mergesAVX2), (*byte)(unsafe.Pointer(&p.terms[0]))
	whole := int64(0)
	if dStep == p.near || p.near == vector {
		whole = n + 1 - (vector+p.near-1)/p.near
	}
	if whole > 0 {
		kernel(dst, src, dStep, sStep, whole, terms)
	}
	var block [vector]byte
	for i := max(whole, 0); i < n; i++ {
		kernel(&block[0], (*byte)(unsafe.Add(unsafe.Pointer(src), i*sStep)), 0, 0, 1, terms)
		copy(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(dst), i*dStep)), p.near), block[:])
	}
}

func permuteAVX512(dst, src *byte, dStep, sStep, n int64, p *Permutation) {
	p.kernelOf(&mergesAVX512)(dst, src, dStep, sStep, n, (*byte)(unsafe.Pointer(&p.terms[0])))
}
