package cpu

// packedTile is moveTile below a byte: source rows are first brought to whole
// words, then transposed in blocks of words, then written at their bits.
func (j *job) packedTile(d, s, na, nb int64, sc *scratch) {
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
