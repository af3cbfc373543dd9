package kernels

// Casts whose sides are dense along different axes: see source/turned.h.

// turnedCast reports whether there is such a kernel between two widths. Others have squares
// of more lines than a work-item reads, or are rare.
func turnedCast(dst, src uint8) bool {
	return dst > 2 && dst <= 32 && src <= 32 && (dst > 4 || src > 4)
}

// shortTurn is from which extent of both axes on such a kernel is taken.
const shortTurn = 8

// planTurned plans the transposition for the widths of the kernel dense; false: the copy is
// none.
func (p *problem) planTurned(k *parameters, dense Spec) (Spec, bool) {
	spec := dense
	spec.Turned = true
	near := p.nearest()
	a, b := p.inner(near), p.inner(0)
	if p.target.Serial || p.long || dense.Mapped || !turnedCast(dense.DstBits, dense.SrcBits) {
		return spec, false
	}
	if near == 0 || b.d != 1 || magnitude(a.s) != 1 || min(a.n, b.n) < shortTurn || max(a.n, b.n) >= limit || !p.scattered() {
		return spec, false
	}
	try, turned := p.clone(), parameters{}
	try.sBits = int(dense.SrcBits)
	if try.planTranspose(&turned, spec, near, try.strip(spec, near)) != nil || !turned.fits(spec) {
		return spec, false
	}
	*p, *k = *try, turned
	return spec, true
}
