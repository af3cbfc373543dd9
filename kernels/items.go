package kernels

// How work is cut into blocks of items: for the forms whose items are elements
// or words, one after the other in the order of dst.

// itemsPerBlock is how many items a work-group takes on at a time.
const itemsPerBlock = 4 * GroupSize

// planElements makes an item of each element.
func (p *problem) planElements(f Form, k *parameters) (Spec, error) {
	err := k.cutItems(p.innermostFirst(), itemsPerBlock)
	spec := p.spec(f)
	spec.Wide = k.wide()
	return spec, err
}

// planRows makes blocks of one dense row each, or of a part of one; false: there are
// too many of them.
func (p *problem) planRows(k *parameters) bool {
	rows := parameters{flat: 1}
	axes := p.innermostFirst()
	rows.cutAxis(axes[0], serialWords)
	if rows.setOuter(axes[1:]...) != nil {
		return false
	}
	*k = rows
	return true
}

// cutItems takes axes, innermost first, into the block until it is full; the
// one that fills it is cut.
func (k *parameters) cutItems(axes []axis, most int64) error {
	flat := int64(1)
	for _, a := range k.inner { // put there by the caller
		flat *= a.n
	}
	for len(axes) > 0 && flat*axes[0].n <= most {
		flat *= axes[0].n
		k.inner = append(k.inner, axes[0])
		axes = axes[1:]
	}
	cut := axis{n: 1}
	if len(axes) > 0 {
		cut, axes = axes[0], axes[1:]
	}
	k.flat = uint32(flat)
	k.cutAxis(cut, max(1, most/flat))
	return k.setOuter(axes...)
}

// cutAxis makes a the cut axis, of which a block has at most the given number
// of indices.
func (k *parameters) cutAxis(a axis, indices int64) {
	cut := min(a.n, indices)
	k.cut, k.extent, k.d, k.s = uint32(cut), a.n, a.d, a.s
	k.outer = append(k.outer, axis{(a.n + cut - 1) / cut, cut * a.d, cut * a.s})
}

// wide reports whether steps within a block need more than 32 bits.
func (k *parameters) wide() bool {
	d, s := int64(0), int64(0)
	for _, a := range append(k.inner, axis{int64(k.cut), k.d, k.s}) {
		d += (a.n - 1) * magnitude(a.d)
		s += (a.n - 1) * magnitude(a.s)
	}
	return d >= limit || s >= limit
}

// planWords makes an item of each span of words of dst. At most the given number
// of axes, from the innermost one, makes up a run: as many as are dense in dst.
func (p *problem) planWords(k *parameters, most int, span int64) error {
	length, taken := int64(1), 0
	for taken < most {
		a := p.inner(taken)
		if a.d != length || taken > 0 && length*a.n >= limit {
			break
		}
		length *= a.n
		k.run = append(k.run, a)
		taken++
		if length >= limit { // one axis, whose indices need no division
			break
		}
	}
	if taken == 0 {
		k.run = []axis{{n: 1}}
	}
	k.length = length

	per := int64(32 / p.dBits)
	begin := p.dBase % per // where in a word runs begin, at the most
	var rest []axis
	for i := taken; i < len(p.axes); i++ {
		a := p.inner(i)
		if rest = append(rest, a); a.d%per != 0 {
			begin = per - 1
		}
	}
	words := (begin + length + per - 1) / per
	span = min(span, words)
	k.span = uint32(span)
	spans := (words + span - 1) / span
	block := int64(itemsPerBlock)
	if p.target.Serial {
		block = max(1, serialWords/span)
	}
	if spans > block {
		k.flat = 1
		k.cutAxis(axis{n: spans}, block)
		return k.setOuter(rest...)
	}
	k.words = uint32(spans)
	k.inner = []axis{{n: spans}}
	return k.cutItems(rest, block)
}

// serialWords is how many words a group of one work-item takes on.
const serialWords = 4 << 10
