package cpu

import "github.com/restride/restride/internal/simd"

// kernels are the vector kernels in use. What they do not have is done by loops in
// Go, which are here beside each use.
//
// A wrong name in the variable leaves the best ones, and an error that Info tells of:
// a device that is slower than it should be is better than none.
var kernels, kernelsErr = simd.Best()

// streamBytes is how much must be written for stores past the caches to pay: what
// would not stay in them until it is read. It changes in tests only.
var streamBytes int64 = 4 << 20

// streams reports whether to write past the caches, where there are kernels for it.
// For tiles that pays sooner: their lines do not come in sequence, and would have to be
// fetched to be written.
func (j *job) streams() bool {
	least := streamBytes
	if j.class == transpose {
		least /= 4
	}
	return kernels.Stream != nil && j.bytes >= least
}
