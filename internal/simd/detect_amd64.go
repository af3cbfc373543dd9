package simd

import "golang.org/x/sys/cpu"

const (
	AVX2   Level = 1 + iota // 256-bit vectors
	AVX512                  // 512-bit vectors: F, BW, DQ, VL and VBMI
)

var levelNames = [...]string{"go", "avx2", "avx512"}

var detected = detect()

// detect returns the highest level of this processor whose registers the system saves.
func detect() Level {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasBMI1 || !x.HasBMI2:
		return None
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512VBMI:
		return AVX512
	}
	return AVX2
}

// fill sets the kernels of the table's level.
func (k *Kernels) fill() {
	k.Rows.fill(k.Level)
	if k.Level >= AVX2 {
		k.Transposes.avx2()
		k.Bits.avx2()
		k.Casts.avx2()
		k.Scalings.avx2()
		k.Takes.avx2()
		k.Permutes.avx2()
		k.Blends.avx2()
	}
	if k.Level >= AVX512 {
		k.Transposes.avx512()
		k.Bits.avx512()
		k.Casts.avx512()
		k.Scalings.avx512()
		k.Takes.avx512()
		k.Permutes.avx512()
		k.Blends.avx512()
	}
}
