package cpu

import "github.com/restride/restride/internal/simd"

// kernels are the vector kernels in use. What they do not have is done by loops in
// Go, which are here beside each use.
//
// A wrong name in the variable leaves the best ones, and an error that Info tells of:
// a device that is slower than it should be is better than none.
var kernels, kernelsErr = simd.Best()
