package simd

// Blends are kernels that choose between elements.
type Blends struct {
	// Blend has a kernel for each size of elements, 1, 2, 4, 8 and 16 bytes. It writes whole
	// lines of 64 bytes: elements of a where cond, a byte for each, is not zero, and of b
	// elsewhere. dst may be a or b. With past set its stores bypass the caches: dst is then a
	// multiple of 64, and other processors see the writes after Rows.Fence. Levels without
	// Rows.Stream ignore it.
	Blend [5]func(dst, a, b, cond *byte, lines int64, past bool)
}
