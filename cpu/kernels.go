package cpu

import "github.com/restride/restride/internal/simd"

// kernels are the vector kernels in use. Each use has a loop in Go for kernels that are missing.
//
// A wrong name in RESTRIDE_SIMD selects the best level; Info reports the error.
var kernels, kernelsErr = simd.Best()

// streamBytes is the size of a result, in bytes, from which stores past the caches pay off: a
// larger result would leave the caches before it is read. Only tests change it.
var streamBytes int64 = 4 << 20

// streams reports whether to write a result of so many bytes past the caches, where kernels can.
func streams(bytes int64) bool { return kernels.Stream != nil && bytes >= streamBytes }
