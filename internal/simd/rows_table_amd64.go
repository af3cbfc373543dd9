package simd

import (
	"math/bits"
	"unsafe"
)

func (k *Rows) fill(l Level) {
	if l >= AVX2 {
		k.Move, k.Stream, k.Join, k.Fence = moveAVX2, streamAVX2, joinAVX2, fence
		k.PlanPick, k.Pick, k.PickLines = (*Shuffle).planPickAVX2, pickAVX2, pickLinesAVX2
		k.PlanSpread, k.Spread = (*Shuffle).planSpreadAVX2, spreadAVX2
		k.Direct, k.Lined = vendor() == amd, l == AVX2
	}
	if l >= AVX512 {
		k.Move, k.Stream, k.Join = moveAVX512, streamAVX512, joinAVX512
		k.PlanPick, k.Pick, k.PickLines = (*Shuffle).planPickAVX512, pickAVX512, pickLinesAVX512
		k.PlanSpread, k.Spread = (*Shuffle).planSpreadAVX512, spreadAVX512
	}
}

// amd is the result of vendor on AMD's processors, but not on Hygon's: "Auth".
const amd = 0x68747541

// Kernels for groups that span a number of vectors.
type (
	shuffleFunc = func(dst, src *byte, dStep, sStep, n, rows int64, p *byte)
	lineFunc    = func(dst, src *byte, lines int64, p *byte, ahead int64, past bool)
)

var (
	picksAVX2     = [vectors]shuffleFunc{pick1AVX2, pick2AVX2, pick3AVX2, pick4AVX2}
	picksAVX512   = [vectors]shuffleFunc{pick1AVX512, pick2AVX512, pick3AVX512, pick4AVX512}
	linesAVX2     = [vectors]lineFunc{pickLines1AVX2, pickLines2AVX2, pickLines3AVX2, pickLines4AVX2}
	linesAVX512   = [vectors]lineFunc{pickLines1AVX512, pickLines2AVX512, pickLines3AVX512, pickLines4AVX512}
	spreadsAVX2   = [...]shuffleFunc{spread1AVX2, spread2AVX2, spread4AVX2, spread8AVX2, spread16AVX2}
	spreadsAVX512 = [vectors]shuffleFunc{spread1AVX512, spread2AVX512, spread3AVX512, spread4AVX512}
)

func pickAVX2(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle) {
	picksAVX2[p.count-1](dst, src, dStep, sStep, n, rows, (*byte)(unsafe.Pointer(p)))
}

func pickLinesAVX2(dst, src *byte, n int64, p *Shuffle, ahead int64, past bool) {
	pick := linesAVX2[p.count-1]
	switch {
	case p.count == 2 && p.far == 2*p.near:
		pick = pickSecondsAVX2
	case p.far == -p.near:
		pick = pickReversedAVX2
	}
	pick(dst, src, n, (*byte)(unsafe.Pointer(p)), ahead, past)
}

func pickLinesAVX512(dst, src *byte, n int64, p *Shuffle, ahead int64, past bool) {
	linesAVX512[p.count-1](dst, src, n, (*byte)(unsafe.Pointer(p)), ahead, past)
}

func pickAVX512(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle) {
	picksAVX512[p.count-1](dst, src, dStep, sStep, n, rows, (*byte)(unsafe.Pointer(p)))
}

func spreadAVX2(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle) {
	spreadsAVX2[bits.Len64(uint64(p.size))-1](dst, src, dStep, sStep, n, rows, (*byte)(unsafe.Pointer(p)))
}

func spreadAVX512(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle) {
	spreadsAVX512[p.count-1](dst, src, dStep, sStep, n, rows, (*byte)(unsafe.Pointer(p)))
}
