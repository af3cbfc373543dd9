package cpu

import (
	"unsafe"

	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/internal/simd"
)

const (
	// pieceRow is the number of bytes of a source row, and pieceBytes of all rows, in a piece
	// of a tile: with an equally large buffer, and another for the gathered rows, it stays in
	// L1. leastPiece is the least number of rows.
	pieceRow, pieceBytes, leastPiece = 128, 8 << 10, 64
	// crowded is a distance in bytes: rows whose distance is a multiple of it fall into so few
	// sets of L1 that bytes, a quarter of a line at a time, would be read from L2 four times.
	crowded = 1 << 10
	// firstCache is the size of the smallest L1 among the processors with these kernels.
	firstCache = 32 << 10
)

// ahead is what a kernel prefetches while it does other work: the first lines of rows at offsets
// from src, and then the next ones. Without src, nothing.
type ahead struct {
	src  *byte
	rows *int64
}

// streamTile moves tiles past the caches.
type streamTile struct{ *tile }

func (streamTile) name() string { return "streamed tiles" }

func (m streamTile) move(j *job, d, s, na, nb int64, sc *scratch) {
	ni, nj := na*m.iIn, nb*m.jIn
	sc.tileRows = nj
	var next ahead
	if sc.next != s {
		next = ahead{ptr(j.src, sc.next), &m.sTab[0]}
	}
	m.streamRows(j, d, s, ni, 0, nj, next, sc)
}

// streamRows moves the rows [from, to) of a tile: rows that form whole lines of the destination in
// whole lines, and the rows before and after these in pieces.
func (t *tile) streamRows(j *job, d, s, ni, from, to int64, after ahead, sc *scratch) {
	size := t.width
	skip, whole := t.wholeLines(j, d+from*size, s, ni, to-from, sc)
	if whole == 0 {
		t.streamPieces(j, d, s, ni, from, to, after, sc)
		return
	}
	lines := from + skip
	t.streamPieces(j, d, s, ni, from, lines, ahead{}, sc)
	next := after
	if lines+whole < to {
		next.src = nil
	}
	if ni*size < cacheLine {
		t.fetchShort(next, whole, ni*size)
		next.src = nil
	}
	t.streamLines(j, d+lines*size, s, ni, t.sTab[lines:lines+whole], next, sc)
	t.streamPieces(j, d, s, ni, lines+whole, to, after, sc)
}

// streamLines moves rows that form whole lines.
func (t *tile) streamLines(j *job, d, s, ni int64, rows []int64, next ahead, sc *scratch) {
	k, size, m := t.kernels, t.width, int64(len(rows))
	dst, src, work := ptr(j.dst, d), ptr(j.src, s), (*byte)(room(&sc.stage, simd.StreamWork))
	staged := ni*size >= cacheLine && k.Staged != nil && t.crowded
	switch {
	case t.placed && staged:
		k.PlacedStaged(dst, &t.dTab[0], src, &rows[0], m, ni, next.src, next.rows, work)
	case t.placed:
		k.Placed(dst, &t.dTab[0], src, &rows[0], m, ni, next.src, next.rows, work)
	case ni*size < 16:
		k.Few(dst, t.dStep, src, &rows[0], m, ni, next.src, next.rows, work)
	case staged:
		k.Staged(dst, t.dStep, src, &rows[0], m, ni, next.src, next.rows, work)
	default:
		k.Stream(dst, t.dStep, src, &rows[0], m, ni, next.src, next.rows, work)
	}
}

// wholeLines returns how many of m rows form whole lines of the destination that a kernel writes,
// and how many rows precede these.
func (t *tile) wholeLines(j *job, d, s, ni, m int64, sc *scratch) (skip, whole int64) {
	k, size := t.kernels, t.width
	at := int64(uintptr(j.dst)) + d
	skip = -at & (cacheLine - 1) / size
	switch {
	case at%size != 0 || skip > m:
		return 0, 0
	case t.placed && (ni*size < 16 || k.Placed == nil):
		return 0, 0
	case !t.placed && (t.dStep == 0 || t.dStep%cacheLine != 0 || k.Stream == nil):
		return 0, 0
	case !t.placed && ni*size < 16 && (k.Few == nil || !t.holds(s-j.sOff, 16, sc.tileRows)):
		return 0, 0
	}
	return skip, (m - skip) &^ (cacheLine/size - 1)
}

// streamPieces moves the rows [from, to) of a tile through a buffer, a piece at a time, and
// prefetches the next piece meanwhile: rows that are far apart are too many for the hardware
// prefetcher.
func (t *tile) streamPieces(j *job, d, s, ni, from, to int64, after ahead, sc *scratch) {
	size := t.width
	cols := min(pieceRow/size, ni)
	most := max(pieceBytes/(size*cols)&^31, leastPiece)
	for first := from; first < to; first += most {
		m := min(most, to-first)
		rows, run := t.sTab[first:first+m], m*size
		stride, joined := t.buffered(run)
		if m < to-from {
			stride, joined = apart(run), false
		}
		for i := int64(0); i < ni; i += cols {
			n := min(cols, ni-i)
			next := after
			switch {
			case i+n < ni:
				next = ahead{ptr(j.src, s+(i+n)*size), &rows[0]}
			case first+m < to:
				next = ahead{ptr(j.src, s), &t.sTab[min(first+m, to-m)]}
			}
			if n*size < cacheLine {
				t.fetchShort(next, m, n*size)
				next.src = nil
			}
			buf := room(&sc.tile, (max(n, 16/size)+1)*stride+cacheLine)
			t.transposePiece(j, buf, stride, s+i*size, rows, n, next, sc)
			at, tab := t.from(d+first*size, i)
			if joined {
				run, n = n*run, 1
			}
			kernels.ScatterRows(ptr(j.dst, at), &tab[0], (*byte)(buf), stride, run, n)
			run = m * size
		}
	}
}

// fetchShort prefetches m rows that are shorter than a line. For rows in consecutive lines the
// hardware prefetcher suffices.
func (t *tile) fetchShort(next ahead, m, size int64) {
	if by := t.sStep; next.src != nil && (by == 0 || nest.Magnitude(by) > cacheLine) {
		kernels.FetchRows(next.src, next.rows, m, size)
	}
}

// crowdedRows reports whether the lines of the rows that form one line of the destination fall
// into so few sets of L1 that it cannot hold them. Elements have w bits.
func crowdedRows(rows []int64, w int64) bool {
	even, by := evenly(rows[:min(int64(len(rows)), cacheLine*8/w)])
	if w < 8 {
		by = by * w / 8
	}
	return even*w == cacheLine*8 && even*(by&-by) >= firstCache
}

// transposePiece transposes n columns of rows to buf. Crowded rows of bytes are gathered first.
func (t *tile) transposePiece(j *job, buf unsafe.Pointer, stride, s int64, rows []int64, n int64, next ahead, sc *scratch) {
	k, size, m := t.kernels, t.width, int64(len(rows))
	if even, by := evenly(rows); size == 1 && n == pieceRow && m >= leastPiece && even == m && by%crowded == 0 {
		stage := room(&sc.stage, m*pieceRow)
		kernels.Move((*byte)(stage), ptr(j.src, s+rows[0]), pieceRow, by, pieceRow, m)
		transposeRows(k, size, buf, 0, stride, stage, 0, stagedPiece[:m], n, next)
		return
	}
	transposePadded(k, size, buf, stride, j.src, s, rows, n, t.holds(s-j.sOff, 16, sc.tileRows), next, sc)
}

// stagedPiece are the offsets of a piece's gathered rows.
var stagedPiece = multiples(pieceRow)

// multiples returns the first multiples of a number.
func multiples(by int64) (tab [tileRows]int64) {
	for i := range tab {
		tab[i] = int64(i) * by
	}
	return tab
}
