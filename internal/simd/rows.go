package simd

// Rows are kernels for dense rows.
type Rows struct {
	// Stream copies n bytes past the caches: for destinations that they cannot
	// hold. What it wrote is seen by other processors from its return on.
	Stream func(dst, src *byte, n int64)
}
