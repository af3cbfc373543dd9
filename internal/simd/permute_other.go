//go:build !amd64

package simd

// Permutation says how a block is made; there are no kernels that make one here.
type Permutation struct{}

// Terms returns the number of vectors that make a block.
func (p *Permutation) Terms() int64 { return 0 }
