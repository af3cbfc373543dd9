package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/restride/restride/internal/simd"
)

// A tile mover moves a tile of na by nb (in units of job.a and job.b): it reads dense pieces of
// source rows, transposes them into a buffer, and writes dense pieces of destination rows from
// there. So every cache line of either side is visited once, even if the rows fall into few of the
// cache's sets.

// loopTile moves tiles with loops in Go.
type loopTile struct{ *tile }

func (loopTile) name() string { return "tiles in loops" }

func (t loopTile) move(j *job, d, s, na, nb int64, sc *scratch) {
	ni, nj := na*t.iIn, nb*t.jIn
	run := nj * t.width
	stride, joined := t.buffered(run)
	buf := room(&sc.tile, ni*stride)
	t.loops.columns(buf, stride, j.src, s, t.sTab[:nj], ni)
	if joined {
		copy(span(j.dst, d, ni*run), span(buf, 0, ni*run))
		return
	}
	for i := range ni {
		copy(span(j.dst, d+t.dTab[i], run), span(buf, i*stride, run))
	}
}

// fewTile moves tiles of few rows of the source in a loop, without a buffer: one row of the
// destination at a time.
type fewTile struct{ *tile }

func (fewTile) name() string { return "tiles of few rows in loops" }

func (t fewTile) move(j *job, d, s, na, nb int64, _ *scratch) {
	ni, nj := na*t.iIn, nb*t.jIn
	for i := range ni {
		t.loops.row(j.dst, j.src, d+i*j.a.D, s+i*t.width, axis{N: nj, D: t.width, S: j.b.S})
	}
}

// vectorTile moves tiles with vectors. Rows of the destination that are evenly spaced are written
// from registers; others go through a buffer, a few at a time.
type vectorTile struct{ *tile }

func (vectorTile) name() string { return "tiles" }

func (t vectorTile) move(j *job, d, s, na, nb int64, sc *scratch) {
	k, size, ni, nj := t.kernels, t.width, na*t.iIn, nb*t.jIn
	rows := t.sTab[:nj]
	least := 16 / size // columns, and rows, of the smallest block
	if t.dStep != 0 && ni >= least && nj >= least {
		transposeRows(k, size, j.dst, d, t.dStep, j.src, s, rows, ni, ahead{})
		return
	}
	run := nj * size
	stride, joined := t.buffered(run)
	most := max(transposeBuffer/stride, least)
	most = min(most, tileCols) // dTab has no more entries
	for i := int64(0); i < ni; i += most {
		n := min(most, ni-i)
		buf := room(&sc.tile, (max(n, least)+1)*stride+cacheLine)
		transposePadded(k, size, buf, stride, j.src, s+i*size, rows, n, t.holds(s+i*size-j.sOff, 16, nj), ahead{}, sc)
		to, tab := t.from(d, i)
		out, count := run, n
		if joined {
			out, count = n*run, 1
		}
		for i := range count {
			copy(span(j.dst, to+tab[i], out), span(buf, i*stride, out))
		}
	}
}

// The loops in Go.

// transposeColumns writes source rows as columns: buf[i][k] = src[rows[k]][i], i in
// [0, n).
func transposeColumns[W word](buf unsafe.Pointer, stride int64, src unsafe.Pointer, s int64, rows []int64, n int64) {
	size := int64(unsafe.Sizeof(*new(W)))
	k, whole := 0, int64(0)
	switch size {
	case 1:
		whole = n &^ 7
		for ; k+8 <= len(rows); k += 8 {
			transpose8(buf, int64(k), stride, src, s, (*[8]int64)(rows[k:]), whole)
			rest := whole
			if n&4 != 0 {
				transpose8x4(buf, int64(k)+whole*stride, stride, src, s+whole, (*[8]int64)(rows[k:]))
				rest += 4
			}
			if rest < n {
				transposeRest[W](buf, int64(k)*size, stride, src, s, rows[k:k+8], rest, n)
			}
		}
	case 2:
		whole = n &^ 3
		for ; k+4 <= len(rows); k += 4 {
			transpose16(buf, int64(k)*2, stride, src, s, (*[4]int64)(rows[k:]), whole)
			transposeRest[W](buf, int64(k)*size, stride, src, s, rows[k:k+4], whole, n)
		}
	default:
		for ; k+4 <= len(rows); k += 4 {
			r := (*[4]int64)(rows[k:])
			s0, s1, s2, s3 := s+r[0], s+r[1], s+r[2], s+r[3]
			to := int64(k) * size
			for range n {
				v0, v1 := load[W](src, s0), load[W](src, s1)
				v2, v3 := load[W](src, s2), load[W](src, s3)
				p := (*[4]W)(unsafe.Add(buf, to))
				p[0], p[1], p[2], p[3] = v0, v1, v2, v3
				s0 += size
				s1 += size
				s2 += size
				s3 += size
				to += stride
			}
		}
	}
	transposeRest[W](buf, int64(k)*size, stride, src, s, rows[k:], 0, n)
}

// transposeRest moves columns [from, n) of rows element by element.
func transposeRest[W word](buf unsafe.Pointer, to, stride int64, src unsafe.Pointer, s int64, rows []int64, from, n int64) {
	size := int64(unsafe.Sizeof(*new(W)))
	for _, r := range rows {
		for i := from; i < n; i++ {
			store(buf, to+i*stride, load[W](src, s+r+i*size))
		}
		to += size
	}
}

// Square blocks of small elements are transposed inside 64-bit words: rows of 64/w elements, one
// word each, exchange halves, then quarters, and so on, in log2(64/w) rounds. A mask selects the
// half of a word that is exchanged.

// exchange swaps the high lanes of x with the low lanes of y: lanes are shift bits
// wide, and mask names the low ones.
func exchange(x, y uint64, shift uint, mask uint64) (uint64, uint64) {
	t := (x>>shift ^ y) & mask
	return x ^ t<<shift, y ^ t
}

const (
	mask32 = 0x00000000ffffffff
	mask16 = 0x0000ffff0000ffff
	mask8  = 0x00ff00ff00ff00ff
	mask4  = 0x0f0f0f0f0f0f0f0f
	mask1  = 0x5555555555555555
	mask2  = 0x3333333333333333
)

// transpose8 transposes 8 source rows of n bytes, n a multiple of 8, to 8 columns.
func transpose8(buf unsafe.Pointer, to, stride int64, src unsafe.Pointer, s int64, r *[8]int64, n int64) {
	for i := int64(0); i < n; i += 8 {
		at := s + i
		a, b, c, d := load64(src, at+r[0]), load64(src, at+r[1]), load64(src, at+r[2]), load64(src, at+r[3])
		e, f, g, h := load64(src, at+r[4]), load64(src, at+r[5]), load64(src, at+r[6]), load64(src, at+r[7])
		a, e = exchange(a, e, 32, mask32)
		b, f = exchange(b, f, 32, mask32)
		c, g = exchange(c, g, 32, mask32)
		d, h = exchange(d, h, 32, mask32)
		a, c = exchange(a, c, 16, mask16)
		b, d = exchange(b, d, 16, mask16)
		e, g = exchange(e, g, 16, mask16)
		f, h = exchange(f, h, 16, mask16)
		a, b = exchange(a, b, 8, mask8)
		c, d = exchange(c, d, 8, mask8)
		e, f = exchange(e, f, 8, mask8)
		g, h = exchange(g, h, 8, mask8)
		p := to + i*stride
		store64(buf, p, a)
		store64(buf, p+stride, b)
		store64(buf, p+2*stride, c)
		store64(buf, p+3*stride, d)
		p += 4 * stride
		store64(buf, p, e)
		store64(buf, p+stride, f)
		store64(buf, p+2*stride, g)
		store64(buf, p+3*stride, h)
	}
}

// transpose8x4 transposes 8 source rows of 4 bytes: without the first round, in which rows
// of 8 would exchange halves.
func transpose8x4(buf unsafe.Pointer, to, stride int64, src unsafe.Pointer, s int64, r *[8]int64) {
	two := func(i int) uint64 {
		return uint64(load32(src, s+r[i])) | uint64(load32(src, s+r[i+4]))<<32
	}
	a, b, c, d := two(0), two(1), two(2), two(3)
	a, c = exchange(a, c, 16, mask16)
	b, d = exchange(b, d, 16, mask16)
	a, b = exchange(a, b, 8, mask8)
	c, d = exchange(c, d, 8, mask8)
	store64(buf, to, a)
	store64(buf, to+stride, b)
	store64(buf, to+2*stride, c)
	store64(buf, to+3*stride, d)
}

// transpose16 transposes 4 source rows of n 16-bit elements, n a multiple of 4.
func transpose16(buf unsafe.Pointer, to, stride int64, src unsafe.Pointer, s int64, r *[4]int64, n int64) {
	for i := int64(0); i < n; i += 4 {
		at := s + i*2
		a, b, c, d := load64(src, at+r[0]), load64(src, at+r[1]), load64(src, at+r[2]), load64(src, at+r[3])
		a, c = exchange(a, c, 32, mask32)
		b, d = exchange(b, d, 32, mask32)
		a, b = exchange(a, b, 16, mask16)
		c, d = exchange(c, d, 16, mask16)
		p := to + i*stride
		store64(buf, p, a)
		store64(buf, p+stride, b)
		store64(buf, p+2*stride, c)
		store64(buf, p+3*stride, d)
	}
}

// The same with vectors.

// transposeBuffer is the approximate size of the buffer: it stays in L1.
const transposeBuffer = 32 << 10

// transposer returns the kernels for elements of size bytes.
func transposer(size int64) *simd.Transposer {
	return &kernels.Transpose[bits.TrailingZeros64(uint64(size))]
}

// transposeRows writes n columns as rows: at least 16 bytes of both. The last block of rows
// overlaps the one before.
func transposeRows(k *simd.Transposer, size int64, dst unsafe.Pointer, d, stride int64, src unsafe.Pointer, s int64, rows []int64, n int64, next ahead) {
	nj := int64(len(rows))
	kernel, block := k.Wide, k.Width/size
	if nj < block {
		kernel, block = k.Narrow, 16/size
	}
	m := nj &^ (block - 1)
	kernel(ptr(dst, d), stride, ptr(src, s), &rows[0], m, n, next.src, next.rows)
	if m < nj {
		from := nj - block
		kernel(ptr(dst, d+from*size), stride, ptr(src, s), &rows[from], block, n, nil, nil)
	}
}

// transposePadded is transposeRows for any number of rows and columns. dst has room for 16 bytes
// after each row, and for 16 bytes of further rows. wide says whether 16 bytes of each source row
// may be read.
func transposePadded(k *simd.Transposer, size int64, dst unsafe.Pointer, stride int64, src unsafe.Pointer, s int64, rows []int64, n int64, wide bool, next ahead, sc *scratch) {
	least := 16 / size
	nj := int64(len(rows))
	if nj < least {
		for i := range sc.more[:least] {
			sc.more[i] = rows[min(i, len(rows)-1)]
		}
		rows, nj = sc.more[:least], least
	}
	if n < least && !wide {
		stage := room(&sc.stage, nj*16)
		stageRows(stage, src, s, rows, n*size)
		src, s, rows = stage, 0, staged16[:nj]
	}
	transposeRows(k, size, dst, 0, stride, src, s, rows, max(n, least), next)
}

// stageRows copies rows of size bytes to the offsets of staged16.
func stageRows(dst, src unsafe.Pointer, s int64, rows []int64, size int64) {
	for at := int64(0); len(rows) > 0; {
		n, by := evenly(rows)
		kernels.Move(ptr(dst, at), ptr(src, s+rows[0]), 16, by, size, n)
		at += 16 * n
		rows = rows[n:]
	}
}

// staged16 are the offsets of rows of 16 bytes.
var staged16 = multiples(16)
