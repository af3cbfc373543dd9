package cpu

import "github.com/restride/restride/internal/simd"

// kernels are the vector kernels in use. For those missing there are loops in Go,
// beside each use.
//
// A wrong name in RESTRIDE_SIMD selects the best level; Info reports the error.
var kernels, kernelsErr = simd.Best()

// streamBytes is the size of a result, in bytes, from which stores past the caches pay:
// one that would not stay in them until it is read. Only tests change it.
var streamBytes int64 = 4 << 20

// streams reports whether to write past the caches, where kernels can. For tiles that
// pays sooner: their lines do not come in sequence, and would be fetched to be written.
func (j *job) streams() bool {
	least := streamBytes
	if j.class == transpose {
		least /= 4
	}
	return kernels.Stream != nil && j.bytes >= least
}

// settle orders what kernels wrote past the caches before what comes next.
func (j *job) settle() {
	if j.streams() {
		kernels.Fence()
	}
}
