package simd

// Rows are kernels for dense rows: that of number i begins at dst + i*dStep, and
// what goes there at src + i*sStep. A row has at least one byte.
type Rows struct {
	// Move copies rows.
	Move func(dst, src *byte, dStep, sStep, size, rows int64)
	// Stream copies rows past the caches: for destinations that these cannot
	// hold. What it wrote is seen by other processors from its return on. Only
	// whole cache lines gain: rows of the destination should have many, or
	// begin and end with one.
	Stream func(dst, src *byte, dStep, sStep, size, rows int64)
}
