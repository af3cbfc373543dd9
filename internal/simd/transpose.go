package simd

// Transposes are kernels for transposes.
type Transposes struct {
	// Transpose has the kernels for elements of 1, 2, 4, 8 and 16 bytes.
	Transpose [5]Transposer
	// Packed2 and Packed4 have the kernels for elements of 2 and of 4 bits, at levels of x86.
	Packed2, Packed4 Packer
	// ScatterRows copies n rows of run bytes, stride apart in src, to dst plus the entries of
	// tab. Stores of whole lines bypass the caches.
	ScatterRows func(dst *byte, tab *int64, src *byte, stride, run, n int64)
	// FetchRows prefetches size bytes of each of m rows to the second cache. nil at levels
	// whose kernels do not prefetch.
	FetchRows func(src *byte, rows *int64, m, size int64)
	// Split2 and Split4, where there is no Packer, separate the elements of 2 and of 4 bits
	// in each byte. A row of run bytes, a multiple of 64, becomes 4 or 2 rows, stride apart:
	// the first element of each byte, the second, and so on. There are n rows, step apart.
	Split2, Split4 func(dst *byte, stride int64, src *byte, step, run, n int64)
	Threes
}

// Transposer has the kernels for elements of one size. They write columns as rows:
//
//	dst[i*stride + k*size] = src[rows[k] + i*size], i < n, k < m
//
// A kernel does a block of rows at a time, and m is a multiple of the block. It reads 16 bytes
// at a time, and n elements have at least 16 bytes, except for Few.
type Transposer struct {
	Wide   TransposeFunc // blocks of Width/size rows
	Narrow TransposeFunc // blocks of 16/size rows
	// Stream bypasses the caches, in blocks of 64/size rows: rows of dst start on lines. Staged
	// is Stream for rows of 64 bytes and more that fall into few sets of the first cache. Few
	// is Stream for n elements of fewer than 16 bytes: it reads 16 bytes of each row
	// nevertheless, and does not prefetch. nil: none.
	Stream, Staged, Few StreamFunc
	// Placed and PlacedStaged are Stream and Staged for rows of dst at dst[tab[i]].
	Placed, PlacedStaged PlacedFunc
	Width                int64 // of Wide's vectors, in bytes
}

// TransposeFunc is a kernel of a Transposer. Where there is FetchRows, it prefetches, to the
// second cache, the lines at fetch[fetched[k]], k < m, and those after them, as many as the n
// columns have; nil: nothing.
type TransposeFunc func(dst *byte, stride int64, src *byte, rows *int64, m, n int64, fetch *byte, fetched *int64)

// StreamFunc is a kernel of a Transposer that reads each row from one end to the other and
// prefetches: later lines, and in the end the first lines at fetch[fetched[k]], k < m; nil:
// nothing. work is a buffer of StreamWork bytes, or PackedWork of a Packer's, which begins on a
// line.
type StreamFunc func(dst *byte, stride int64, src *byte, rows *int64, m, n int64, fetch *byte, fetched *int64, work *byte)

// PlacedFunc is a StreamFunc whose rows of dst are at the places in a table.
type PlacedFunc func(dst *byte, tab *int64, src *byte, rows *int64, m, n int64, fetch *byte, fetched *int64, work *byte)

// Packer has the kernels for elements of w bits, 8/w in a byte. Rows of dst have element i of
// each row of the source; rows of src begin at whole bytes, and n counts their bytes, at least
// 16:
//
//	element k of the row at dst[i*stride] = element i of the row at src[rows[k]], i < n*8/w, k < m
//
// A kernel does a block of rows at a time, and m is a multiple of the block.
type Packer struct {
	Wide   StreamFunc // blocks of Width*8/w rows; it prefetches like a TransposeFunc
	Narrow StreamFunc // blocks of 16*8/w rows; it does not prefetch
	// Stream and Staged are like a Transposer's, in blocks of 64*8/w rows.
	Stream, Staged StreamFunc
	Width          int64 // of Wide's vectors, in bytes
}

// StreamWork and PackedWork are the sizes of buffers, in bytes, for a Transposer's StreamFunc,
// and for a Packer's.
const StreamWork, PackedWork = 5 << 10, 20 << 10
