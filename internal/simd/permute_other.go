//go:build !amd64

package simd

// Permutation describes a block; this architecture has no kernels for it.
type Permutation struct{}

// Terms returns the number of vectors that make a block.
func (p *Permutation) Terms() int64 { return 0 }
