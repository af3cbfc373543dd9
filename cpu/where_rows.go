package cpu

import "unsafe"

// wherePiece is the size, in bytes, of the elements chosen at a time through buffers: all sides
// stay in L1.
const wherePiece = 4 << 10

// row does n elements along the innermost axis.
func (w *where) row(p sides, n int64, sc *scratch) {
	x := &w.axes[w.rank-1]
	switch {
	case x.c == 0 && load8(w.cond, p.c) != 0:
		w.copyRow(p.d, w.a, p.a, axis{N: n, D: x.d, S: x.a})
	case x.c == 0:
		w.copyRow(p.d, w.b, p.b, axis{N: n, D: x.d, S: x.b})
	case w.bits == 0 || w.loose:
		w.eachRow(p, n)
	case w.bits >= 8 && x.sides == sides{w.unit, w.unit, w.unit, 1}:
		blend(unsafe.Add(w.dst, p.d), unsafe.Add(w.a, p.a), unsafe.Add(w.b, p.b), unsafe.Add(w.cond, p.c), n, w.bits, w.past())
	default:
		for first := true; n > 0; first = false {
			m := min(n, wherePiece/w.unit)
			w.piece(p, m, first, sc)
			p.move(&x.sides, m)
			n -= m
		}
	}
}

// copyRow copies elements of a or b.
func (w *where) copyRow(d int64, src unsafe.Pointer, s int64, x axis) {
	dense := x.D == w.unit && x.S == w.unit
	switch bits := int64(w.bits); {
	case bits == 0:
		moveElementRow[string](w.dst, src, d, s, x)
	case bits < 8 && dense:
		copyBits(w.dst, d*bits, src, s*bits, x.N*bits)
	case bits < 8:
		for i := range x.N {
			putBits(w.dst, (d+i*x.D)*bits, getBits(src, (s+i*x.S)*bits, bits), bits)
		}
	case dense:
		moveRun(w.dst, d, src, s, x.N*w.unit, w.past())
	default:
		moveRow(w.dst, src, d, s, x, w.bits)
	}
}

// eachRow is row for single elements: for strings, or where words may be unaligned.
func (w *where) eachRow(p sides, n int64) {
	x := &w.axes[w.rank-1].sides
	for range n {
		src, s := w.b, p.b
		if load8(w.cond, p.c) != 0 {
			src, s = w.a, p.a
		}
		if w.bits == 0 {
			store(w.dst, p.d, load[string](src, s))
		} else {
			copy(span(w.dst, p.d, w.unit), span(src, s, w.unit))
		}
		p.move(x, 1)
	}
}

// piece does elements along the innermost axis, up to wherePiece bytes of them; first says whether
// they are a row's first. Data that is not a run of neighbours goes through a buffer; below a
// byte, so does all data that does not begin with a byte.
func (w *where) piece(p sides, n int64, first bool, sc *scratch) {
	x := &w.axes[w.rank-1]
	cond := unsafe.Add(w.cond, p.c)
	if x.c != 1 {
		cond = room(&sc.stage, wherePiece)
		moveElementRow[uint8](cond, w.cond, 0, p.c, axis{N: n, D: 1, S: x.c})
	}
	a := w.gather(w.a, p.a, x.a, n, first, &sc.spread)
	b := w.gather(w.b, p.b, x.b, n, first, &sc.wide)
	bits := int64(w.bits)
	switch {
	case bits >= 8 && x.d == w.unit:
		blend(unsafe.Add(w.dst, p.d), a, b, cond, n, w.bits, w.past())
		return
	case bits < 8 && x.d == 1 && p.d*bits%8 == 0 && n*bits%8 == 0:
		blend(unsafe.Add(w.dst, p.d*bits/8), a, b, cond, n, w.bits, false)
		return
	}
	tile := room(&sc.tile, wherePiece)
	blend(tile, a, b, cond, n, w.bits, false)
	switch {
	case bits >= 8:
		moveRow(w.dst, tile, p.d, 0, axis{N: n, D: x.d, S: w.unit}, w.bits)
	case x.d == 1:
		copyBits(w.dst, p.d*bits, tile, 0, n*bits)
	default:
		for i := range n {
			putBits(w.dst, (p.d+i*x.d)*bits, getBits(tile, i*bits, bits), bits)
		}
	}
}

// gather returns n elements of a or b as neighbours. An element that a row repeats is already in
// the buffer after the row's first piece, which has the most elements.
func (w *where) gather(src unsafe.Pointer, s, step, n int64, first bool, buffer *[]byte) unsafe.Pointer {
	bits := int64(w.bits)
	switch {
	case bits >= 8 && step == w.unit:
		return unsafe.Add(src, s)
	case bits < 8 && step == 1 && s*bits%8 == 0:
		return unsafe.Add(src, s*bits/8)
	}
	to := room(buffer, wherePiece)
	switch {
	case step == 0 && !first:
	case bits >= 8:
		moveRow(to, src, 0, s, axis{N: n, D: w.unit, S: step}, w.bits)
	case step == 1:
		copyBits(to, 0, src, s*bits, n*bits)
	default:
		moveSteppedBits(to, 0, src, s, step, n, bits)
	}
	return to
}
