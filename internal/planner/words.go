package planner

import "slices"

// wordSpecs lists the kernels of Run, Repack, Gather, Stamp and Pack.
func wordSpecs() []Spec {
	var all []Spec
	add := func(form Form, dst, src int, cpu bool) *Spec {
		all = append(all, Spec{Form: form, DstBits: uint8(dst), SrcBits: uint8(src), CPUTarget: cpu})
		return &all[len(all)-1]
	}
	for _, cpu := range []bool{false, true} {
		anywhere := Gather
		if cpu {
			anywhere = Pack
		}
		for _, bits := range []int{1, 2, 4, 8, 16} {
			if !cpu || bits < 8 {
				add(Run, bits, bits, cpu)
			}
			add(anywhere, bits, 0, cpu)
			if bits < 8 {
				add(anywhere, bits, bits, cpu)
			}
			if bits == 1 { // rare: only the general forms support it
				continue
			}
			if !cpu || bits < 8 {
				add(Repack, bits, bits, cpu).Step = -1
			}
			if !cpu {
				add(Gather, bits, bits, false).Step = repeated
			}
		}
		for _, bits := range []int{2, 4} {
			for _, form := range []Form{anywhere, Repack} {
				add(form, bits, 8, cpu)
				add(form, 8, bits, cpu)
				add(form, 8, bits, cpu).Signed = true
			}
		}
	}
	add(Repack, 32, 32, false).Step = -1
	for _, s := range slices.Clone(all) { // the same of chunks in periods
		s.Periodic = true
		if s.Form == Gather && s.Step == 0 && s.SrcBits == s.DstBits {
			s.Form = Stamp
		}
		if !s.CPUTarget && s.DstBits > 1 && (s.Form != Gather || s.Step == repeated || s.SrcBits == 0) {
			all = append(all, s)
		}
	}
	return all
}

// fillPlanners are the planners of a fill, and packPlanners of a conversion by the low bits.
var (
	fillPlanners = []planner[*problem]{
		{"words", false, func(p *problem, _ *offer) (offer, refusal) { return p.offerWords() }},
		{"chunks", false, func(p *problem, _ *offer) (offer, refusal) { return p.offerChunks(Fill) }},
		{"elements", false, func(p *problem, _ *offer) (offer, refusal) { return p.offerElements(Fill) }},
	}
	packPlanners = []planner[*problem]{
		{"words", false, func(p *problem, _ *offer) (offer, refusal) { return p.packed() }},
	}
)

// offerWords offers the forms of words and chunks for narrow elements of a copy or a fill.
func (p *problem) offerWords() (offer, refusal) {
	if p.dBits >= 8 && (p.dBits >= 32 || !p.dense()) {
		return offer{}, wideElements
	}
	return p.packed()
}

func (p *problem) packed() (offer, refusal) {
	var k parameters
	spec, err := chunking{p}.choosePack(&k)
	return laid(spec, &k, err)
}

// chunking is a problem cut into words or chunks of runs, which are dense in dst.
type chunking struct{ *problem }

// choosePack chooses the kernel for words of narrow elements.
func (p chunking) choosePack(k *parameters) (Spec, error) {
	spec, in := p.spec(p.anywhere()), p.inner(0)
	if p.dense() && p.sBits > 0 && !p.manyAxes {
		same, long := p.sBits == p.dBits, p.longRows()
		switch {
		case same && (len(p.axes) == 0 || in.S == 1) && (long || p.target.CPU):
			spec.Form = Run
		case !same && in.S == 1 && long:
			spec.Form = Repack
		case p.dBits == 1:
		case same && in.S == -1 && long:
			spec.Form, spec.Step = Repack, -1
		case same && in.S == 0 && long && !p.target.CPU:
			spec.Step = repeated
		}
	}
	switch {
	case spec.Form == Gather && spec.Step == 0 && p.sBits >= 8 && p.dBits >= 8:
		return p.planElements(Element, k)
	case spec.Form == Gather && p.sBits == 0 && p.spaced():
		return p.planElements(Fill, k)
	case spec.Form == Gather && p.sBits == 0 && p.planPeriods(k, &spec):
		return spec, nil
	case spec.Form == Gather && spec.Step == 0:
		return spec, p.planChunks(k, int64(128/p.dBits), p.takeRun(k, len(p.axes)))
	case spec.Form == Pack:
		return spec, p.planWords(k, len(p.axes), 1)
	case p.target.CPU:
		return spec, p.planWords(k, 1, cpuWords)
	}
	if p.planPeriods(k, &spec) {
		return spec, nil
	}
	per := p.perChunk()
	return spec, p.planChunks(k, per, p.takeRows(k, per))
}

// longRows reports whether rows are long enough for forms that work with parts of rows instead of
// elements, of which a chunk has many below a byte. A gap behind rows in dst makes chunks of short
// rows small, too.
func (p chunking) longRows() bool {
	if p.spaced() {
		return false
	}
	in := p.inner(0)
	if p.target.CPU {
		return in.N >= 2*32/int64(p.dBits)
	}
	return p.dBits < 8 || p.sBits < 8 || in.N >= 8 || len(p.axes) < 2 || p.inner(1).D != in.N
}

// spaced reports whether dst's rows are short with gaps between them: on a GPU, storing their
// elements one by one is cheaper than merging the edges of so many chunks.
func (p *problem) spaced() bool {
	if p.target.CPU || p.dBits < 8 || p.sBits > 0 && p.sBits != p.dBits || len(p.axes) < 2 {
		return false
	}
	n := p.inner(0).N
	if p.inner(1).D == n {
		return false
	}
	if p.sBits == 0 {
		return n*int64(p.dBits) < spacedFill*8
	}
	return n < spacedElements
}

// spacedElements is the number of elements from which chunks are cheaper, and spacedFill the
// number of bytes from which they are cheaper for fills, which read nothing.
const spacedElements, spacedFill = 104, 32

// anywhere is the form for words or chunks from elements anywhere.
func (p chunking) anywhere() Form {
	if p.target.CPU {
		return Pack
	}
	return Gather
}

// planRows makes blocks of one dense row each, or of a part of one; false: there are too many.
func (p chunking) planRows(k *parameters) bool {
	rows := parameters{flat: 1}
	axes := p.innermostFirst()
	rows.cutAxis(axes[0], cpuWords)
	if rows.setOuter(axes[1:]...) != nil {
		return false
	}
	*k = rows
	return true
}

// takeRun forms the run from at most the given number of axes, beginning with the innermost, that
// are dense in dst. It returns the other axes.
func (p chunking) takeRun(k *parameters, most int) (rest []axis) {
	length, taken := int64(1), 0
	for taken < most {
		a := p.inner(taken)
		if a.D != length || taken > 0 && length*a.N >= limit {
			break
		}
		length *= a.N
		k.run = append(k.run, a)
		taken++
		if length >= limit { // one axis, whose indices need no division
			break
		}
	}
	if taken == 0 {
		k.run = []axis{{N: 1}}
	}
	k.length = length
	return p.innermostFirst()[min(taken, len(p.axes)):]
}

// phase is the last of an item's per slots in which a run begins.
func (p chunking) phase(per int64, rest []axis) int64 {
	step := per
	for _, a := range rest {
		if a.D != 0 {
			step = min(step, a.D&-a.D) // both are powers of two
		}
	}
	return per - step + p.dBase%step
}

// takeRows forms the run for chunks of per elements. If row lengths are not whole chunks, so that
// chunks would have parts of several rows, these rows form one run, as long as possible. It
// returns the other axes.
func (p chunking) takeRows(k *parameters, per int64) (rest []axis) {
	n := p.inner(0).N
	if n > manyChunks*per || n%per == 0 && p.dBase%per == 0 {
		return p.takeRun(k, 1)
	}
	return p.takeRun(k, len(p.axes))
}

// manyChunks is the number of chunks in a row from which the cost of its ends is negligible.
const manyChunks = 1 << 10

// planChunks makes an item of each chunk of per elements, in the run and along the other axes.
func (p chunking) planChunks(k *parameters, per int64, rest []axis) error {
	return p.cutChunks(k, per, p.chunksPerBlock(itemsPerBlock), rest)
}

// cutChunks is planChunks with up to the given number of chunks in a block.
func (p chunking) cutChunks(k *parameters, per, block int64, rest []axis) error {
	chunks := (p.phase(per, rest) + k.length + per - 1) / per
	k.span = 1
	if chunks > block {
		k.flat = 1
		blocks := (chunks + block - 1) / block
		k.cutAxis(axis{N: chunks}, (chunks+blocks-1)/blocks)
		return k.setOuter(rest...)
	}
	k.words = uint32(chunks)
	k.inner = []axis{{N: chunks}}
	return k.cutItems(rest, block)
}

// chunksPerBlock is more than the usual number of items, if enough blocks remain: work that all
// work-items do once per block costs time. It is least where there are few blocks.
func (p chunking) chunksPerBlock(least int64) int64 {
	block := least
	for block < 4*itemsPerBlock && p.bytes/16/block >= 8*p.target.fewBlocks() {
		block *= 2
	}
	return block
}

// planWords makes an item of each span of words of dst. At most the given number of axes, from the
// innermost one, forms a run.
func (p chunking) planWords(k *parameters, most int, span int64) error {
	rest := p.takeRun(k, most)
	per := int64(32 / p.dBits)
	words := (p.phase(per, rest) + k.length + per - 1) / per
	span = min(span, words)
	block := int64(itemsPerBlock)
	if p.target.CPU {
		block = max(1, cpuWords/span)
	}
	return k.cutSpans((words+span-1)/span, span, block, rest)
}

// cutSpans makes items of a run's spans of words, up to a number of them in a block.
func (k *parameters) cutSpans(spans, span, block int64, rest []axis) error {
	k.span = uint32(span)
	if spans > block {
		k.flat = 1
		k.cutAxis(axis{N: spans}, block)
		return k.setOuter(rest...)
	}
	k.words = uint32(spans)
	k.inner = []axis{{N: spans}}
	return k.cutItems(rest, block)
}

// cpuWords is the number of words that a group of one work-item processes.
const cpuWords = 4 << 10
