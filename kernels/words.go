package kernels

// The forms whose items are words of dst, one after the other.
const (
	Pack   Form = "pack"   // from elements anywhere
	Run    Form = "run"    // from runs that are dense on both sides
	Repack Form = "repack" // the same between widths, or backwards in src
)

// wordSpecs lists the kernels of these forms.
func wordSpecs() []Spec {
	var all []Spec
	for _, serial := range []bool{false, true} {
		add := func(form Form, dst, src int) *Spec {
			all = append(all, Spec{Form: form, DstBits: uint8(dst), SrcBits: uint8(src), Serial: serial})
			return &all[len(all)-1]
		}
		for _, bits := range []int{2, 4, 8, 16} {
			add(Run, bits, bits)
			if !serial || bits < 8 {
				add(Repack, bits, bits).Step = -1
			}
			add(Pack, bits, bits)
			add(Pack, bits, 0)
		}
		for _, bits := range []int{2, 4} {
			for _, form := range []Form{Pack, Repack} {
				add(form, bits, 8)
				add(form, 8, bits)
				add(form, 8, bits).Signed = true
			}
		}
	}
	return all
}

// choosePack picks the kernel for words of narrow elements.
func (p *problem) choosePack(k *parameters) (Spec, error) {
	spec, in := p.spec(Pack), p.inner(0)
	if p.dense() && !p.long {
		same, long := p.sBits == p.dBits, in.n >= 2*32/int64(p.dBits)
		switch {
		case same && (len(p.axes) == 0 || in.s == 1):
			spec.Form = Run
		case !same && in.s == 1 && long:
			spec.Form = Repack
		case same && in.s == -1 && long:
			spec.Form, spec.Step = Repack, -1
		}
	}
	switch {
	case spec.Form == Pack:
		return spec, p.planWords(k, len(p.axes), 1)
	case p.target.Serial:
		return spec, p.planWords(k, 1, serialWords)
	}
	return spec, p.planWords(k, 1, 1)
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
