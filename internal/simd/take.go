package simd

// Takes are kernels that gather rows from anywhere in the source.
type Takes struct {
	// Take moves n rows of size > 0 bytes: row i from src + offsets[i] to dst + i*dStep. With
	// past set its stores bypass the caches: rows are then whole lines of 64 bytes at multiples
	// of 64, and other processors see them from the return on. It prefetches the row ahead rows
	// further on, so offsets has as many more entries, of any value; with 0, words of up to 32
	// bytes are not prefetched.
	Take func(dst, src *byte, offsets *int64, dStep, size, n, ahead int64, past bool)
	// Offsets32 and 64 add index * stride to offsets, for n indices, a multiple of 8. A
	// negative index counts from the end of extent. The result is not 0 if one is out of range:
	// the offsets are then invalid. Both extent and stride fit an int32. Indices are
	// prefetched, too.
	Offsets32, Offsets64 func(to *int64, at *byte, n, extent, stride int64) (wrong int64)
	// Fetch prefetches the lines of size bytes, from bytes after src, to the second cache, at
	// least one. Inaccessible memory is skipped.
	Fetch func(src *byte, from, size int64)
}
