package cpu

import "unsafe"

// wordTile moves tiles below a byte in loops: source rows are copied to whole words, transposed in
// blocks of words, and written at their bit positions.
type wordTile struct{ *tile }

func (wordTile) name() string { return "bit tiles in loops" }

func (t wordTile) move(j *job, d, s, na, nb int64, sc *scratch) {
	w := int64(j.dBits)
	lanes := 64 / w
	ni, nj := na*t.iIn, nb*t.jIn
	in := (ni + lanes - 1) / lanes * 8 // bytes of a staged source row
	out := t.stride                    // bytes of a transposed row
	stage := room(&sc.stage, (nj+lanes)*in)
	buf := room(&sc.tile, (ni+lanes)*out)
	for k, off := range t.sTab[:nj] {
		copyBits(stage, int64(k)*in*8, j.src, (s+off)*w, ni*w)
	}
	// Staged rows beyond nj, and elements beyond ni, come from other tiles; their results are
	// not copied out.
	for row := int64(0); row*lanes < nj; row++ {
		for col := int64(0); col*8 < in; col++ {
			from, to := row*lanes*in+col*8, col*lanes*out+row*8
			if w == 4 {
				transpose4(buf, to, out, stage, from, in)
			} else {
				transpose2(buf, to, out, stage, from, in)
			}
		}
	}
	j.scatterBits(d, t.dTab[:ni], buf, 0, out, nj, sc)
}

// splitTile moves tiles below a byte in vectors of bytes (NEON). It transposes source rows as
// bytes: each byte of a row then holds elements of several columns, and each of these becomes a
// row. It moves only as many columns at a time as stay in L1.
type splitTile struct{ *tile }

func (splitTile) name() string { return "bit tiles by bytes" }

func (t splitTile) move(j *job, d, s, na, nb int64, sc *scratch) {
	ni, nj := na*t.iIn, nb*t.jIn
	w := int64(j.dBits)
	per := 8 / w
	split := kernels.Split4
	if w == 2 {
		split = kernels.Split2
	}
	rows := sc.rows[:nj]
	odd := int64(0) // not 0: some row starts within a byte
	for k, off := range t.sTab[:nj] {
		rows[k] = off / per
		odd |= (s + off) % per
	}
	first := s / per
	run := (nj + 63) &^ 63     // bytes of a row of bytes
	wide := run + cacheLine    // between these
	out := run/per + cacheLine // between rows of the result
	most := max(transposeBuffer/wide, 16) * per
	most = min(most, tileCols) // dTab has no more entries
	for i := int64(0); i < ni; i += most {
		n := min(most, ni-i)
		in := (n + per - 1) / per
		bytes := room(&sc.tile, (max(in, 16)+1)*(wide+out*per))
		if odd != 0 {
			step := (max(in, 16) + 15) &^ 15
			stage := room(&sc.stage, nj*step)
			for k, off := range t.sTab[:nj] {
				copyBits(stage, int64(k)*step*8, j.src, (s+off+i)*w, n*w)
				sc.staged[k] = int64(k) * step
			}
			transposePadded(transposer(1), 1, bytes, wide, stage, 0, sc.staged[:nj], max(in, 16), true, ahead{}, sc)
		} else {
			transposePadded(transposer(1), 1, bytes, wide, j.src, first+i/per, rows, in, t.holds(s+i-j.sOff, 16*per, nj), ahead{}, sc)
		}
		done := max(in, 16) * wide
		split(ptr(bytes, done), out, (*byte)(bytes), wide, run, in)
		to, tab := t.from(d, i)
		j.scatterBits(to, tab[:n], bytes, done, out, nj, sc)
	}
}

// scatterBits copies rows of n elements, step bytes apart in buf from a byte on, to d plus the
// entries of tab. buf has one more byte before and behind the rows.
func (j *job) scatterBits(d int64, tab []int64, buf unsafe.Pointer, from, step, n int64, sc *scratch) {
	w := int64(j.dBits)
	per := 8 / w
	odd, low, high := n%per, d, d
	cols := sc.cols[:len(tab)]
	for i, off := range tab {
		cols[i] = (d + off) * w
		odd |= (d + off) % per
		low, high = min(low, d+off), max(high, d+off)
	}
	switch inside := low >= j.clipLo && high+n <= j.clipHi; {
	case inside && odd == 0 && j.past:
		for i := range cols {
			cols[i] /= 8
		}
		kernels.ScatterRows((*byte)(j.dst), &cols[0], ptr(buf, from), step, n/per, int64(len(tab)))
		return
	case inside && n*w > 64 && kernels.PlaceRows != nil:
		kernels.PlaceRows((*byte)(j.dst), &cols[0], ptr(buf, from), step, n*w, int64(len(tab)), j.past)
		return
	}
	for i, off := range tab {
		at := d + off
		lo, hi := max(at, j.clipLo), min(at+n, j.clipHi)
		if lo < hi {
			copyBits(j.dst, lo*w, buf, (from+int64(i)*step)*8+(lo-at)*w, (hi-lo)*w)
		}
	}
}

// transpose4 transposes a block of 16 by 16 elements of 4 bits from one buffer to
// another, in two passes of two rounds, so that words stay in registers.
func transpose4(buf unsafe.Pointer, to, out int64, stage unsafe.Pointer, from, in int64) {
	var m [16]uint64
	for k := range 4 {
		at := from + int64(k)*in
		a, b, c, d := load64(stage, at), load64(stage, at+4*in), load64(stage, at+8*in), load64(stage, at+12*in)
		a, c = exchange(a, c, 32, mask32)
		b, d = exchange(b, d, 32, mask32)
		a, b = exchange(a, b, 16, mask16)
		c, d = exchange(c, d, 16, mask16)
		m[k], m[k+4], m[k+8], m[k+12] = a, b, c, d
	}
	for k := 0; k < 16; k += 4 {
		a, b, c, d := m[k], m[k+1], m[k+2], m[k+3]
		a, c = exchange(a, c, 8, mask8)
		b, d = exchange(b, d, 8, mask8)
		a, b = exchange(a, b, 4, mask4)
		c, d = exchange(c, d, 4, mask4)
		store64(buf, to, a)
		store64(buf, to+out, b)
		store64(buf, to+2*out, c)
		store64(buf, to+3*out, d)
		to += 4 * out
	}
}

// transpose2 transposes a block of 32 by 32 elements of 2 bits.
func transpose2(buf unsafe.Pointer, to, out int64, stage unsafe.Pointer, from, in int64) {
	var m [32]uint64
	for k := range 8 {
		at := from + int64(k)*in
		a, b, c, d := load64(stage, at), load64(stage, at+8*in), load64(stage, at+16*in), load64(stage, at+24*in)
		a, c = exchange(a, c, 32, mask32)
		b, d = exchange(b, d, 32, mask32)
		a, b = exchange(a, b, 16, mask16)
		c, d = exchange(c, d, 16, mask16)
		m[k], m[k+8], m[k+16], m[k+24] = a, b, c, d
	}
	for k := 0; k < 32; k += 8 {
		for i := k; i < k+2; i++ {
			a, b, c, d := m[i], m[i+2], m[i+4], m[i+6]
			a, c = exchange(a, c, 8, mask8)
			b, d = exchange(b, d, 8, mask8)
			a, b = exchange(a, b, 4, mask4)
			c, d = exchange(c, d, 4, mask4)
			m[i], m[i+2], m[i+4], m[i+6] = a, b, c, d
		}
		for i := k; i < k+8; i += 2 {
			a, b := exchange(m[i], m[i+1], 2, mask2)
			store64(buf, to, a)
			store64(buf, to+out, b)
			to += 2 * out
		}
	}
}
