package cpu

import "unsafe"

// packedTile is moveTile below a byte: source rows are first brought to whole
// words, then transposed in blocks of words, then written at their bits.
func (j *job) packedTile(d, s, na, nb int64, sc *scratch) {
	if kernels.Split4 != nil {
		j.splitTile(d, s, na*j.tile.iIn, nb*j.tile.jIn, sc)
		return
	}
	w := int64(j.dBits)
	lanes := 64 / w
	t := &j.tile
	ni, nj := na*t.iIn, nb*t.jIn
	in := (ni + lanes - 1) / lanes * 8 // bytes of a staged source row
	out := t.stride                    // bytes of a turned row
	stage := room(&sc.stage, (nj+lanes)*in)
	buf := room(&sc.tile, (ni+lanes)*out)
	for k, off := range t.sTab[:nj] {
		copyBits(stage, int64(k)*in*8, j.src, (s+off)*w, ni*w)
	}
	// Staged rows beyond nj, and elements beyond ni, are left from other tiles:
	// they turn into places that are not copied out.
	for row := int64(0); row*lanes < nj; row++ {
		for col := int64(0); col*8 < in; col++ {
			from, to := row*lanes*in+col*8, col*lanes*out+row*8
			if w == 4 {
				turn4(buf, to, out, stage, from, in)
			} else {
				turn2(buf, to, out, stage, from, in)
			}
		}
	}
	for i, off := range t.dTab[:ni] {
		at := d + off
		lo, hi := max(at, j.clipLo), min(at+nj, j.clipHi)
		if lo < hi {
			copyBits(j.dst, lo*w, buf, int64(i)*out*8+(lo-at)*w, (hi-lo)*w)
		}
	}
}

// splitTile is packedTile by vectors. The bytes of source rows are transposed as
// they are: a row then has the elements of some columns in each byte, which become a
// row each. Some columns at a time, so that all stays near.
func (j *job) splitTile(d, s, ni, nj int64, sc *scratch) {
	w := int64(j.dBits)
	per := 8 / w
	t := &j.tile
	split := kernels.Split4
	if w == 2 {
		split = kernels.Split2
	}
	rows := sc.rows[:nj]
	odd := int64(0) // not 0: some row starts within a byte
	for k, off := range t.sTab[:nj] {
		rows[k] = (s + off) / per
		odd |= (s + off) % per
	}
	run := (nj + 63) &^ 63     // bytes of a row of bytes
	wide := run + cacheLine    // between these
	out := run/per + cacheLine // between rows of the result
	most := max(turnBuffer/wide, 16) * per
	most = min(most, tileCols) // all that dTab has
	for i := int64(0); i < ni; i += most {
		n := min(most, ni-i)
		in := (n + per - 1) / per
		bytes := room(&sc.tile, (max(in, 16)+1)*(wide+out*per))
		if odd != 0 {
			step := (max(in, 16) + 15) &^ 15
			stage := room(&sc.stage, nj*step)
			for k, off := range t.sTab[:nj] {
				copyBits(stage, int64(k)*step*8, j.src, (s+off+i)*w, n*w)
				rows[k] = int64(k) * step
			}
			turnSome(turns(1), 1, bytes, wide, stage, 0, rows, max(in, 16), true, sc)
		} else {
			turnSome(turns(1), 1, bytes, wide, j.src, i/per, rows, in, t.holds(s+i-j.sOff, 16*per), sc)
		}
		done := max(in, 16) * wide
		split(ptr(bytes, done), out, (*byte)(bytes), wide, run, in)
		to, tab := t.from(d, i)
		j.placeRows(to, tab[:n], bytes, done, out, nj, sc)
	}
}

// placeRows brings rows of n elements, step bytes apart in buf, to their places.
func (j *job) placeRows(d int64, tab []int64, buf unsafe.Pointer, from, step, n int64, sc *scratch) {
	w := int64(j.dBits)
	per := 8 / w
	if j.streams() && n%per == 0 {
		odd := int64(0)
		low, high := d, d
		cols := sc.cols[:len(tab)]
		for i, off := range tab {
			cols[i] = (d + off) / per
			odd |= (d + off) % per
			low, high = min(low, d+off), max(high, d+off)
		}
		if odd == 0 && low >= j.clipLo && high+n <= j.clipHi {
			kernels.Place((*byte)(j.dst), &cols[0], ptr(buf, from), step, n/per, int64(len(tab)))
			return
		}
	}
	for i, off := range tab {
		at := d + off
		lo, hi := max(at, j.clipLo), min(at+n, j.clipHi)
		if lo < hi {
			copyBits(j.dst, lo*w, buf, (from+int64(i)*step)*8+(lo-at)*w, (hi-lo)*w)
		}
	}
}
