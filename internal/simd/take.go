package simd

// Takes are kernels for rows anywhere in the source.
type Takes struct {
	// Take moves n rows of size > 0 bytes: row i from src + offsets[i] to dst + i*dStep.
	// With past set it writes them past the caches: rows are then whole lines of 64
	// bytes at multiples of 64, and other processors see them from the return on. Rows
	// are fetched ahead of their turn by the given number, so offsets has as many more,
	// of any value; by 0, words of up to 32 bytes are not fetched.
	Take func(dst, src *byte, offsets *int64, dStep, size, n, ahead int64, past bool)
	// Offsets32 and 64 add index * stride to offsets, for n indices, a multiple of 8. A
	// negative index counts from the end of extent. The result is not 0 if one is out of
	// range: the offsets are then of no use. Both extent and stride fit an int32. Indices
	// are fetched ahead, too.
	Offsets32, Offsets64 func(to *int64, at *byte, n, extent, stride int64) (wrong int64)
	// Fetch fetches the lines of size bytes, from bytes after src, to the second cache, and
	// one at the least. What is no memory is not fetched.
	Fetch func(src *byte, from, size int64)
}
