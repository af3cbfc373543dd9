package simd

import "unsafe"

func (k *Rows) fill(l Level) {
	if l >= AVX2 {
		k.Move, k.Stream = moveAVX2, streamAVX2
	}
	if l >= AVX512 {
		k.Move, k.Stream = moveAVX512, streamAVX512
		k.PlanPick, k.Pick = (*Shuffle).pick512, pick512
		k.PlanSpread, k.Spread = (*Shuffle).spread512, spread512
	}
}

func pick512(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle) {
	at := (*byte)(unsafe.Pointer(p))
	switch p.count {
	case 1:
		pick1AVX512(dst, src, dStep, sStep, n, rows, at)
	case 2:
		pick2AVX512(dst, src, dStep, sStep, n, rows, at)
	case 3:
		pick3AVX512(dst, src, dStep, sStep, n, rows, at)
	case 4:
		pick4AVX512(dst, src, dStep, sStep, n, rows, at)
	}
}

func spread512(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle) {
	at := (*byte)(unsafe.Pointer(p))
	switch p.count {
	case 1:
		spread1AVX512(dst, src, dStep, sStep, n, rows, at)
	case 2:
		spread2AVX512(dst, src, dStep, sStep, n, rows, at)
	case 3:
		spread3AVX512(dst, src, dStep, sStep, n, rows, at)
	case 4:
		spread4AVX512(dst, src, dStep, sStep, n, rows, at)
	}
}
