package planner

import (
	"slices"
	"strconv"
)

// joinSpecs lists the kernels of this form: for elements of whole bytes, and below.
func joinSpecs() []Spec {
	var all []Spec
	for _, bits := range []uint8{2, 8} {
		for _, at := range []uint8{32, 64} {
			all = append(all, Spec{Form: Join, DstBits: bits, SrcBits: bits, AtBits: at})
		}
	}
	return all
}

// joinRows is the largest number of rows in a block of join.
const joinRows = 2 << 10

// joinDefines are the macros of this form.
func joinDefines(Spec) []string { return []string{"ROWS " + strconv.Itoa(joinRows)} }

// rowsShareIndices reports whether elements along the innermost axis are neighbours on both sides
// and share all their indices.
func (p *indexed) rowsShareIndices() bool {
	return len(p.axes) > 0 && p.inner(0).D == 1 && p.inner(0).S == 1 && p.steps[0] == 0
}

// joins reports whether form Join handles a take: elements below a byte, or rows that are dense in
// dst one after the other, do not consist of whole 16-byte elements, and have more elements than
// are cheaper one by one. Layouts with very many axes use Take.
func (p *indexed) joins() bool {
	switch {
	case p.target.CPU || p.dBits == 128:
		return false
	case p.dBits < 8:
		return true
	}
	fits := 2*(2*len(p.axes)+joinAxes)+len(p.by) <= joinRoom
	n := p.inner(0).N
	return fits && n >= 16 && p.rowsShareIndices() && (len(p.axes) == 1 || p.inner(1).D == n)
}

// joinAxes is the number of axes that planning adds: an element's parts, chunks, and the cut axis.
const joinAxes = 3

// split replaces each element by several 8-bit or 2-bit elements as the innermost axis: those of
// its rows, or, if rows share no index, of its elements.
func (p *indexed) split() {
	bits := 8
	if p.dBits < 8 {
		bits = 2
	}
	rows := p.rowsShareIndices()
	p.problem = p.narrow(bits, rows)
	if !rows {
		p.steps = slices.Insert(p.steps, 0, 0)
	}
}

// narrow is the problem with each element replaced by several of the given width, as the innermost
// axis: those of its rows, which are dense on both sides, or of its elements.
func (p *problem) narrow(bits int, rows bool) *problem {
	q, per := p.clone(), int64(p.dBits/bits)
	for i := range q.axes {
		q.axes[i].D *= per
		q.axes[i].S *= per
	}
	if rows {
		q.axes[len(q.axes)-1] = axis{N: p.inner(0).N * per, D: 1, S: 1}
	} else {
		q.axes = append(q.axes, axis{N: per, D: 1, S: 1})
	}
	q.dBase *= per
	q.sBase *= per
	q.d.parts, q.s.parts = per, per
	q.dBits, q.sBits = bits, min(p.sBits, bits)
	return q
}

// planJoin plans the blocks of join for the elements that split made.
func (p chunking) planJoin(k *parameters) error {
	rest := p.takeRun(k, len(p.axes))
	per, width := int64(128/p.dBits), k.run[0].N
	k.ta = uint32(min(width, limit))
	k.nb = uint32(min(k.length/width, limit))
	if width*int64(p.dBits) < 32 {
		k.tb = 1
	}
	block := p.chunksPerBlock(GroupSize)
	block = max(1, min(block, (joinRows-2)*min(width, limit)/per))
	if chunks := (p.phase(per, rest) + k.length + per - 1) / per; chunks <= block { // whole runs
		block = min(max(block, GroupSize), joinRows/int64(k.nb)*chunks)
	}
	err := p.cutChunks(k, per, block, rest)
	if k.words > 0 { // several runs
		k.run = append(append(k.run, k.inner[1:]...), axis{N: int64(k.cut), D: k.d, S: k.s})
	}
	return err
}
