package cpu

import (
	"unsafe"

	"github.com/restride/restride/internal/simd"
)

const (
	// packedRow is the number of bytes of a source row, and packedBytes of all rows, in a
	// piece of a tile of elements below a byte.
	packedRow, packedBytes = 64, 32 << 10
	// packedBlock is the smallest column size of a kernel, in bytes.
	packedBlock = 16
)

// packerOf returns the kernels for elements of w bits.
func packerOf(w int64) *simd.Packer {
	if w == 4 {
		return &kernels.Packed4
	}
	return &kernels.Packed2
}

// packedTile moves tiles below a byte in vectors of packed elements.
type packedTile struct{ *tile }

func (packedTile) name() string { return "bit tiles" }

// bitTile is one such tile.
type bitTile struct {
	*tile
	j      *job
	k      *simd.Packer
	per    int64   // elements in a byte
	d, s   int64   // its start on either side, in elements
	ni, nj int64   // its columns, and its rows of the source
	first  int64   // the byte that contains s
	rows   []int64 // of the source: the bytes in which they begin, from there
	odd    bool    // some rows begin within their bytes
}

// move moves a tile. Data that does not begin and end in whole bytes, or lines, goes through a
// buffer, a piece at a time.
func (m packedTile) move(j *job, d, s, na, nb int64, sc *scratch) {
	w, ni, nj := int64(j.dBits), na*m.iIn, nb*m.jIn
	per := 8 / w
	t := bitTile{tile: m.tile, j: j, k: packerOf(w), per: per, d: d, s: s, ni: ni, nj: nj, first: s / per, rows: sc.rows[:nj]}
	odd := int64(0)
	for k, off := range t.sTab[:nj] {
		t.rows[k] = (s+off)/per - t.first
		odd |= (s + off) % per
	}
	t.odd = odd != 0
	done, cols := t.stream(sc)
	t.pieces(cols, ni, 0, done, sc)
	t.pieces(0, ni, done, nj, sc)
}

// stream writes whole lines past the caches: the first rows and columns of the tile, whose numbers
// it returns.
func (t *bitTile) stream(sc *scratch) (rows, cols int64) {
	j := t.j
	rows, cols = t.nj/(cacheLine*t.per)*(cacheLine*t.per), t.ni/t.per*t.per
	dst, step, direct := t.direct(0, cols, 0, rows)
	if !j.past || !direct || t.odd || cols < packedBlock*t.per || (uintptr(unsafe.Pointer(dst))|uintptr(step))%cacheLine != 0 {
		return 0, 0
	}
	stream := t.k.Stream
	if cols >= cacheLine*t.per && t.crowded {
		stream = t.k.Staged
	}
	var next ahead
	if sc.next != t.s && rows == t.nj {
		next = ahead{ptr(j.src, sc.next/t.per), &t.rows[0]}
	}
	work := (*byte)(room(&sc.tile, simd.PackedWork))
	stream(dst, step, ptr(j.src, t.first), &t.rows[0], rows, cols/t.per, next.src, next.rows, work)
	return rows, cols
}

// direct returns where n columns from i on of m rows from k on are written as whole blocks, and
// the distance of rows there. False: they are not, or not by this goroutine alone.
func (t *bitTile) direct(i, n, k, m int64) (dst *byte, step int64, _ bool) {
	j := t.j
	step = t.dStep
	first := t.d + i*step + k
	last := first + (n-1)*step
	if m == 0 || n%t.per != 0 || m%(packedBlock*t.per) != 0 || step == 0 || (t.d|step)%t.per != 0 || min(first, last) < j.clipLo || max(first, last)+m > j.clipHi {
		return nil, 0, false
	}
	return ptr(j.dst, first/t.per), step / t.per, true
}

// pieces moves the columns [i, ni) of the rows [k, nj) through a buffer, and prefetches the next
// piece meanwhile.
func (t *bitTile) pieces(i, ni, k, nj int64, sc *scratch) {
	if i == ni {
		return
	}
	cols, most := packedRow*t.per, t.rowsOfPiece()
	for ; k < nj; k += most {
		m := min(most, nj-k)
		for at := i; at < ni; at += cols {
			next := t.fetch(i, at+cols, ni, k, m, nj, sc)
			t.piece(at, min(cols, ni-at), k, m, next, sc)
		}
	}
}

// rowsOfPiece is the largest number of source rows in a piece. Rows that are gathered first need
// the same room again. If rows of the destination begin within lines, longer ones share fewer
// lines: that pays off even though such pieces fit only the second-level cache.
func (t *bitTile) rowsOfPiece() int64 {
	switch {
	case t.sharesLines():
		return tileRows
	case t.odd || t.crowded:
		return packedBytes / packedRow / 2
	}
	return packedBytes / packedRow
}

// sharesLines reports whether rows of the destination begin within lines, when written past the
// caches.
func (t *bitTile) sharesLines() bool {
	j := t.j
	line := cacheLine * t.per
	return j.past && (t.dStep%line != 0 || (t.d+int64(uintptr(j.dst))*t.per)%line != 0)
}

// fetch returns what a kernel prefetches while it moves columns of m rows from k on: the line of
// each of these rows in which the next columns, which begin at column at, end. After the last
// columns it prefetches the start of other rows or of another tile, all at once.
func (t *bitTile) fetch(i, at, ni, k, m, nj int64, sc *scratch) ahead {
	j := t.j
	switch {
	case !j.past:
	case at < ni:
		return ahead{ptr(j.src, t.first+at/t.per+min(cacheLine-1, (ni-at-1)/t.per)), &t.rows[k]}
	case k+m < nj:
		kernels.FetchRows(ptr(j.src, t.first+i/t.per), &t.rows[k+m], min(m, nj-k-m), min(packedRow, (ni-i)/t.per+1))
	case sc.next != t.s:
		kernels.FetchRows(ptr(j.src, sc.next/t.per), &t.rows[0], min(t.rowsOfPiece(), t.nj), min(packedRow, t.ni/t.per+1))
	}
	return ahead{}
}

// piece moves n columns from i on of m rows from k on.
func (t *bitTile) piece(i, n, k, m int64, next ahead, sc *scratch) {
	j, block := t.j, packedBlock*t.per
	in := (n + t.per - 1) / t.per
	wide := max(in, packedBlock)
	from, rows := ptr(j.src, t.first+i/t.per), t.rows[k:k+m]
	if t.odd || in < packedBlock && !t.holds(t.s+i-j.sOff, block, t.nj) || t.crowded {
		from, rows = t.stage(i, n, k, m, sc)
	}
	padded := (m + block - 1) / block * block
	out := apart(padded / t.per)
	work := room(&sc.tile, simd.PackedWork+wide*t.per*out)
	if dst, step, direct := t.direct(i, n, k, m); direct && in == wide && !j.past {
		t.transpose(dst, step, from, rows, in, next, (*byte)(work))
		return
	}
	buf := ptr(work, simd.PackedWork)
	for int64(len(rows)) < padded {
		rows = append(rows, rows[0]) // in place: tables have room for whole blocks
	}
	t.transpose(buf, out, from, rows, wide, next, (*byte)(work))
	to, tab := t.from(t.d+k, i)
	if m == t.dStep && (m*8/t.per > 64 || (to|m)%t.per == 0) {
		t.join(to, n, m, buf, out, sc)
		return
	}
	j.scatterBits(to, tab[:n], unsafe.Pointer(buf), 0, out, m, sc)
}

// join writes n rows of m elements, out bytes apart in buf, as one run of consecutive rows from d
// on.
func (t *bitTile) join(d, n, m int64, buf *byte, out int64, sc *scratch) {
	j, w := t.j, 8/t.per
	phase := d % t.per // the run begins at this bit of a byte in dst and buf
	dense := room(&sc.dense, (n*m+phase)*w/8+1)
	if (phase|m)%t.per == 0 {
		kernels.Move((*byte)(dense), buf, m/t.per, out, m/t.per, n)
	} else {
		at := sc.cols[:n]
		for i := range at {
			at[i] = (phase + int64(i)*m) * w
		}
		kernels.PlaceRows((*byte)(dense), &at[0], buf, out, m*w, n, false)
	}
	if lo, hi := max(d, j.clipLo), min(d+n*m, j.clipHi); lo < hi {
		moveBits(j.dst, lo*w, dense, (lo-d+phase)*w, (hi-lo)*w, j.past)
	}
}

// transpose writes n bytes of columns as rows.
func (t *bitTile) transpose(buf *byte, out int64, from *byte, rows []int64, n int64, next ahead, work *byte) {
	m, block := int64(len(rows)), t.k.Width*t.per
	whole := m / block * block
	if whole > 0 {
		t.k.Wide(buf, out, from, &rows[0], whole, n, next.src, next.rows, work)
	}
	if whole < m {
		t.k.Narrow((*byte)(ptr(unsafe.Pointer(buf), whole/t.per)), out, from, &rows[whole], m-whole, n, nil, nil, work)
	}
}

// stage gathers a piece's rows so that they begin in whole bytes.
func (t *bitTile) stage(i, n, k, m int64, sc *scratch) (*byte, []int64) {
	j, w := t.j, 8/t.per
	in := (n + t.per - 1) / t.per
	step := (in + 31) &^ 31 // a kernel's
	stage := room(&sc.stage, m*step)
	for r := range m {
		sc.staged[r] = r * step
	}
	if by := t.sStep; !t.odd && by != 0 {
		kernels.Move((*byte)(stage), ptr(j.src, t.first+t.rows[k]+i/t.per), step, by/t.per, in, m)
		return (*byte)(stage), sc.staged[:m]
	}
	offs := t.sTab[k : k+m]
	done := t.aligned(i, in, offs)
	if done > 0 {
		bits := sc.bits[:done]
		phase := t.s % t.per
		for r := range bits {
			bits[r] = (phase + offs[r]) * w
		}
		kernels.AlignRows((*byte)(stage), step, ptr(j.src, t.first+i/t.per), &bits[0], in, done)
	}
	for r, off := range offs[done:] {
		copyBits(stage, (done+int64(r))*step*8, j.src, (t.s+off+i)*w, n*w)
	}
	return (*byte)(stage), sc.staged[:m]
}

// aligned returns how many rows, from the first one on, may be read by a kernel that reads more
// than in bytes of each.
func (t *bitTile) aligned(i, in int64, offs []int64) int64 {
	end := ((in+31)&^31 + 1) * t.per // at most one byte more: it begins in the first one
	at := t.s + i - t.j.sOff
	if t.holds(at, end, t.nj) {
		return int64(len(offs))
	}
	for r, off := range offs {
		if at+off+end > t.reach {
			return int64(r)
		}
	}
	return int64(len(offs))
}
