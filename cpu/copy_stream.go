package cpu

import (
	"unsafe"

	"github.com/restride/restride/internal/simd"
)

const (
	// pieceRow is the bytes of a row of the source, and pieceBytes those of all rows, in a
	// piece of a tile: with a buffer as large, and another for the rows brought together,
	// it stays in L1. leastPiece is the fewest rows.
	pieceRow, pieceBytes, leastPiece = 128, 8 << 10, 64
	// crowded is the distance, in bytes, of which rows that are a multiple of it apart
	// fall into so few sets of L1 that bytes, a quarter of a line at a time, would be read
	// from L2 four times.
	crowded = 1 << 10
	// firstCache is the size of the smallest L1 of the processors with these kernels.
	firstCache = 32 << 10
)

// ahead is what a kernel fetches while it does something else: the first lines of rows at
// offsets from src, and then the next ones. No src: nothing.
type ahead struct {
	src  *byte
	rows *int64
}

// streamTile is transposeTile past the caches. Rows that make whole lines of the
// destination are read from one end to the other. Others go through a buffer, a piece at a
// time; meanwhile the next piece is fetched: rows that are far apart are too many for the
// processor to fetch by itself.
func (j *job) streamTile(k *simd.Transposer, size, d, s, ni, nj int64, sc *scratch) {
	t := &j.tile
	done := j.streamLines(k, size, d, s, ni, nj, sc)
	cols := min(pieceRow/size, ni)
	most := max(pieceBytes/(size*cols)&^31, leastPiece)
	for first := done; first < nj; first += most {
		m := min(most, nj-first)
		rows, run := t.sTab[first:first+m], m*size
		stride, joined := t.buffered(run)
		if m < nj {
			stride, joined = apart(run), false
		}
		for i := int64(0); i < ni; i += cols {
			n := min(cols, ni-i)
			var next ahead
			switch {
			case i+n < ni:
				next = ahead{ptr(j.src, s+(i+n)*size), &rows[0]}
			case first+m < nj:
				next = ahead{ptr(j.src, s), &t.sTab[min(first+m, nj-m)]}
			case sc.next != s:
				next = ahead{ptr(j.src, sc.next), &t.sTab[0]}
			}
			if n*size < cacheLine {
				j.fetchShort(next, m, n*size)
				next.src = nil
			}
			buf := room(&sc.tile, (max(n, 16/size)+1)*stride+cacheLine)
			j.transposePiece(k, size, buf, stride, s+i*size, rows, n, next, sc)
			to, tab := t.from(d+first*size, i)
			if joined {
				run, n = n*run, 1
			}
			kernels.ScatterRows(ptr(j.dst, to), &tab[0], (*byte)(buf), stride, run, n)
			run = m * size
		}
	}
}

// streamLines does the rows of a tile that make whole lines of the destination, and
// returns their number.
func (j *job) streamLines(k *simd.Transposer, size, d, s, ni, nj int64, sc *scratch) int64 {
	t := &j.tile
	aligned := t.dStep != 0 && (uintptr(j.dst)+uintptr(d)|uintptr(t.dStep))%cacheLine == 0
	whole := nj &^ (cacheLine/size - 1)
	if !aligned || whole == 0 || k.Stream == nil {
		return 0
	}
	stream := k.Stream
	switch {
	case ni*size < 16 && !t.holds(s-j.sOff, 16):
		return 0
	case ni*size < 16:
		stream = k.Few
	case ni*size >= cacheLine && k.Staged != nil && t.crowded:
		stream = k.Staged
	}
	if stream == nil {
		return 0
	}
	var next ahead
	if sc.next != s && whole == nj {
		next = ahead{ptr(j.src, sc.next), &t.sTab[0]}
	}
	if ni*size < cacheLine {
		j.fetchShort(next, whole, ni*size)
		next.src = nil
	}
	work := (*byte)(room(&sc.stage, simd.StreamWork))
	stream(ptr(j.dst, d), t.dStep, ptr(j.src, s), &t.sTab[0], whole, ni, next.src, next.rows, work)
	return whole
}

// fetchShort fetches m rows that are shorter than a line. Those whose lines follow one
// another the processor fetches by itself.
func (j *job) fetchShort(next ahead, m, size int64) {
	if by := j.tile.sStep; next.src != nil && (by == 0 || magnitude(by) > cacheLine) {
		kernels.FetchRows(next.src, next.rows, m, size)
	}
}

// crowdedRows reports whether a line of each of the rows that make one of the destination
// falls into so few sets of L1 that it cannot hold them.
func crowdedRows(rows []int64, size int64) bool {
	even, by := evenly(rows[:min(int64(len(rows)), cacheLine/size)])
	return even*size == cacheLine && even*(by&-by) >= firstCache
}

// transposePiece transposes n columns of rows to buf. Bytes of crowded rows are brought
// together first.
func (j *job) transposePiece(k *simd.Transposer, size int64, buf unsafe.Pointer, stride, s int64, rows []int64, n int64, next ahead, sc *scratch) {
	m := int64(len(rows))
	if even, by := evenly(rows); size == 1 && n == pieceRow && m >= leastPiece && even == m && by%crowded == 0 {
		stage := room(&sc.stage, m*pieceRow)
		kernels.Move((*byte)(stage), ptr(j.src, s+rows[0]), pieceRow, by, pieceRow, m)
		transposeRows(k, size, buf, 0, stride, stage, 0, stagedPiece[:m], n, next)
		return
	}
	transposePadded(k, size, buf, stride, j.src, s, rows, n, j.tile.holds(s-j.sOff, 16), next, sc)
}

// stagedPiece are the offsets of rows of a piece that were brought together.
var stagedPiece = multiples(pieceRow)

// multiples returns the first of a number's.
func multiples(by int64) (tab [tileRows]int64) {
	for i := range tab {
		tab[i] = int64(i) * by
	}
	return tab
}
