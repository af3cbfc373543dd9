package simd

// NEON has vectors of 128 bits. Every processor that runs Go's arm64 code has it.
const NEON Level = 1

var levelNames = [...]string{"go", "neon"}

const detected = NEON

// fill sets the kernels of the table's level. None bypasses the caches.
func (k *Kernels) fill() {
	if k.Level >= NEON {
		k.Transposes.neon()
		k.Rows.neon()
		k.Bits.neon()
		k.Casts.neon()
		k.Blends.neon()
	}
}
