package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/restride/restride/internal/simd"
)

// turnBuffer is about the size of the buffer where there is one: it stays in L1.
const turnBuffer = 32 << 10

// turns returns the kernels for elements of size bytes.
func turns(size int64) *simd.Turns { return &kernels.Turn[bits.TrailingZeros64(uint64(size))] }

// turnTile is moveTile by vectors: where rows of the destination are evenly apart,
// from registers to their places. Where they are not, or share cache lines that go
// past the caches, through a buffer, some rows at a time.
func (j *job) turnTile(k *simd.Turns, size, d, s, ni, nj int64, sc *scratch) {
	t := &j.tile
	rows := t.sTab[:nj]
	least := 16 / size // columns, and rows, of the smallest block
	stream := k.Stream
	if ni < least {
		stream = k.FewStream
		if !t.holds(s-j.sOff, 16) {
			stream = nil
		}
	}
	if t.dStep != 0 && j.streams() {
		aligned := (uintptr(j.dst)+uintptr(d)|uintptr(t.dStep))%cacheLine == 0
		if whole := nj &^ (cacheLine/size - 1); aligned && whole > 0 && stream != nil {
			stream(ptr(j.dst, d), t.dStep, ptr(j.src, s), &rows[0], whole, ni)
			rows = rows[whole:]
			nj -= whole
			d += whole * size
		}
		if nj == 0 {
			return
		}
	} else if t.dStep != 0 && ni >= least && nj >= least {
		turnRows(k, size, j.dst, d, t.dStep, j.src, s, rows, ni)
		return
	}
	run := nj * size
	stride, joined := t.buffered(run)
	most := max(turnBuffer/stride, least)
	most = min(most, tileCols) // all that dTab has
	for i := int64(0); i < ni; i += most {
		n := min(most, ni-i)
		buf := room(&sc.tile, (max(n, least)+1)*stride+cacheLine)
		turnSome(k, size, buf, stride, j.src, s+i*size, rows, n, t.holds(s+i*size-j.sOff, 16), sc)
		to, tab := t.from(d, i)
		out, count := run, n
		if joined {
			out, count = n*run, 1
		}
		if j.streams() {
			kernels.Place(ptr(j.dst, to), &tab[0], (*byte)(buf), stride, out, count)
			continue
		}
		for i := range count {
			copy(span(j.dst, to+tab[i], out), span(buf, i*stride, out))
		}
	}
}

// from returns where the offsets of rows from the i-th on are, and what they add to.
// Of tiles with many rows dTab has the first ones, and they are evenly apart.
func (t *tile) from(d, i int64) (int64, []int64) {
	if t.dStep != 0 {
		return d + i*t.dStep, t.dTab
	}
	return d, t.dTab[i:]
}

// turnRows writes n columns as rows, where neither are too few. The last block of
// rows overlaps the one before.
func turnRows(k *simd.Turns, size int64, dst unsafe.Pointer, d, stride int64, src unsafe.Pointer, s int64, rows []int64, n int64) {
	nj := int64(len(rows))
	turn, block := k.Wide, k.Width/size
	if nj < block {
		turn, block = k.Narrow, 16/size
	}
	m := nj &^ (block - 1)
	turn(ptr(dst, d), stride, ptr(src, s), &rows[0], m, n)
	if m < nj {
		from := nj - block
		turn(ptr(dst, d+from*size), stride, ptr(src, s), &rows[from], block, n)
	}
}

// turnSome is turnRows for any number of rows and columns, where dst has room after
// each row, and for 16 bytes in rows more. Of the source's rows, wide says whether as
// many bytes may be read.
func turnSome(k *simd.Turns, size int64, dst unsafe.Pointer, stride int64, src unsafe.Pointer, s int64, rows []int64, n int64, wide bool, sc *scratch) {
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
		bringTogether(stage, src, s, rows, n*size)
		src, s, rows = stage, 0, together[:nj]
	}
	turnRows(k, size, dst, 0, stride, src, s, rows, max(n, least))
}

// bringTogether copies rows of size bytes to where together says.
func bringTogether(dst, src unsafe.Pointer, s int64, rows []int64, size int64) {
	for at := int64(0); len(rows) > 0; {
		n, by := evenly(rows)
		kernels.Move(ptr(dst, at), ptr(src, s+rows[0]), 16, by, size, n)
		at += 16 * n
		rows = rows[n:]
	}
}

// together are the offsets of rows of 16 bytes.
var together = func() (tab [tileRows]int64) {
	for i := range tab {
		tab[i] = int64(i) * 16
	}
	return tab
}()
