package cpu

import "github.com/restride/restride/internal/simd"

// kernels are the vector kernels in use. What they do not have is done by loops in
// Go, which are here beside each use.
var kernels = func() *simd.Kernels {
	k, _ := simd.Best() // a wrong name in the variable leaves the best ones
	return k
}()
