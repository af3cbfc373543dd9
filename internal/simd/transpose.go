package simd

// Transposes are kernels for transposes.
type Transposes struct {
	// Turn has the kernels for elements of 1, 2, 4, 8 and 16 bytes.
	Turn [5]Turns
	// Place copies n rows of run bytes, which are stride apart in src, to dst plus
	// the entries of tab. Lines that it writes as a whole go past the caches.
	Place func(dst *byte, tab *int64, src *byte, stride, run, n int64)
	// Split2 and Split4 take the elements in bytes, of 2 and 4 bits, apart. A row of
	// run bytes, a multiple of 64, becomes 4 or 2 rows, stride apart: the first
	// element of each byte, the second, and so on. There are n rows, step apart.
	Split2, Split4 func(dst *byte, stride int64, src *byte, step, run, n int64)
	Mixes
}

// Turns are kernels for elements of one size. They write columns as rows:
//
//	dst[i*stride + k*size] = src[rows[k] + i*size], i < n, k < m
//
// A kernel does a number of rows at a time, of which m is a multiple. It reads 16
// bytes at a time, which n elements must have at least, but for FewStream.
type Turns struct {
	Wide   Turn // does Width/size rows at a time
	Narrow Turn // does 16/size rows at a time
	// Stream does 64/size rows at a time, past the caches: rows of dst start on
	// lines. It may be nil, and so may the next one.
	Stream Turn
	// FewStream is Stream where n elements have fewer than 16 bytes. It reads 16
	// bytes of each row nevertheless.
	FewStream Turn
	Width     int64
}

// Turn is a kernel of Turns.
type Turn func(dst *byte, stride int64, src *byte, rows *int64, m, n int64)
