package simd

import (
	"math/bits"
	"unsafe"
)

func (k *Rows) fill(l Level) {
	if l >= AVX2 {
		k.Move, k.Stream = moveAVX2, streamAVX2
		k.PlanPick, k.Pick = (*Shuffle).pick16, pick256
		k.PlanSpread, k.Spread = (*Shuffle).spreadWords, spread256
	}
	if l >= AVX512 {
		k.Move, k.Stream = moveAVX512, streamAVX512
		k.PlanPick, k.Pick = (*Shuffle).pick512, pick512
		k.PlanSpread, k.Spread = (*Shuffle).spread512, spread512
	}
}

// shuffleFunc is a kernel for what spans a number of vectors.
type shuffleFunc = func(dst, src *byte, dStep, sStep, n, rows int64, p *byte)

var (
	picks256   = [vectors]shuffleFunc{pick1AVX2, pick2AVX2, pick3AVX2, pick4AVX2}
	picks512   = [vectors]shuffleFunc{pick1AVX512, pick2AVX512, pick3AVX512, pick4AVX512}
	spreads256 = [...]shuffleFunc{spread1AVX2, spread2AVX2, spread4AVX2, spread8AVX2, spread16AVX2}
	spreads512 = [vectors]shuffleFunc{spread1AVX512, spread2AVX512, spread3AVX512, spread4AVX512}
)

func pick256(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle) {
	picks256[p.count-1](dst, src, dStep, sStep, n, rows, (*byte)(unsafe.Pointer(p)))
}

func pick512(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle) {
	picks512[p.count-1](dst, src, dStep, sStep, n, rows, (*byte)(unsafe.Pointer(p)))
}

func spread256(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle) {
	spreads256[bits.Len64(uint64(p.size))-1](dst, src, dStep, sStep, n, rows, (*byte)(unsafe.Pointer(p)))
}

func spread512(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle) {
	spreads512[p.count-1](dst, src, dStep, sStep, n, rows, (*byte)(unsafe.Pointer(p)))
}
