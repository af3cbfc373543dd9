package simd

// Transposes are kernels for transposes.
type Transposes struct {
	// Turn has the kernels for elements of 1, 2, 4, 8 and 16 bytes.
	Turn [5]Turns
	// Place copies n rows of run bytes, which are stride apart in src, to dst plus
	// the entries of tab. Lines that it writes as a whole go past the caches.
	Place func(dst *byte, tab *int64, src *byte, stride, run, n int64)
}

// Turns are kernels for elements of one size. They write columns as rows:
//
//	dst[i*stride + k*size] = src[rows[k] + i*size], i < n, k < m
//
// A kernel does a number of rows at a time, of which m is a multiple. It reads 16
// bytes at a time, which n elements must have at least.
type Turns struct {
	Wide   Turn // does Width/size rows at a time
	Stream Turn // does 64/size rows at a time, past the caches: rows of dst start on lines
	Narrow Turn // does 16/size rows at a time
	Width  int64
}

// Turn is a kernel of Turns.
type Turn func(dst *byte, stride int64, src *byte, rows *int64, m, n int64)
