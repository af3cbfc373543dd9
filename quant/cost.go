package quant

import (
	"maps"
	"math"

	"github.com/restride/restride/checkpoint"
)

// Cost is the cost of a conversion, known before anything runs.
type Cost struct {
	Moves  int   // strided copies on the device
	Bytes  int64 // written by these and other steps
	Memory int64 // of the source's and the target's tensors and intermediates, all at once
	Views  int   // target tensors that equal a source tensor byte for byte
}

// Cost returns the plan's cost.
func (p *Plan) Cost() Cost {
	c := Cost{Memory: p.memory(p.From, p.To), Views: len(p.views)}
	for i, t := range p.To.Tensors {
		if _, view := p.views[t.Name]; !view {
			c.Bytes += t.bytes(p.To.arrays[i])
		}
	}
	for _, m := range p.moves {
		if _, view := p.views[m.dst]; !view {
			c.Moves++
		}
	}
	if p.adapt != nil {
		then := p.adapt.then.Cost()
		c.Moves += then.Moves
	}
	if p.plain != nil {
		first := p.plain.Cost()
		c.Moves, c.Bytes = c.Moves+first.Moves, c.Bytes+first.Bytes
	}
	return c
}

// Views maps each of To's tensors that equals one of From's, byte for byte, to that tensor:
// nothing has to move for them.
func (p *Plan) Views() map[string]string { return maps.Clone(p.views) }

// findViews fills views.
func (p *Plan) findViews() {
	p.views = map[string]string{}
	for i, t := range p.To.Tensors {
		if src, view := p.isView(i); view {
			p.views[t.Name] = src
		}
	}
}

// isView reports whether To's tensor i has the same bytes as one of From's, and which: one
// move copies all of it to the same position.
func (p *Plan) isView(i int) (src string, view bool) {
	t, all := p.To.Tensors[i], []move(nil)
	for _, m := range p.moves {
		if m.dst == t.Name {
			all = append(all, m)
		}
	}
	if len(all) != 1 || all[0].table != nil || p.changes(i) || !all[0].dstLayout.Equal(&all[0].srcLayout) {
		return "", false
	}
	m := all[0]
	bits := m.dstLayout.Count() * m.width
	for j, from := range p.From.Tensors {
		if from.Name == m.src {
			return m.src, bits == 8*from.bytes(p.From.arrays[j]) && bits == 8*t.bytes(p.To.arrays[i])
		}
	}
	return "", false
}

// changes reports whether numbers of To's tensor i are computed, not moved.
func (p *Plan) changes(i int) bool {
	for _, f := range p.fills {
		if f.array == i {
			return true
		}
	}
	for _, l := range p.less {
		if l.array == i {
			return true
		}
	}
	return false
}

// bytes returns the size of a tensor that stores array a in a file.
func (t Tensor) bytes(a array) int64 {
	kind, err := a.kind()
	if err != nil {
		return math.MaxInt64 // no array of a weight is that large
	}
	n, err := checkpoint.Safetensors.Size(kind, t.Dims)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

// memory returns the bytes that the plan needs at once for a part of its weights, with the
// arrays in plain order of an adaption.
func (p *Plan) memory(from, to *Weight) int64 {
	n := memory(from, to, p.sorted)
	if p.adapt == nil {
		return n
	}
	for _, a := range plainArrays(from) {
		n += 2 * a.plainBytes(from.ext)
		if a.has(scales) {
			n += 16 * a.count(from.ext) // in float32 on the way
		}
	}
	return n
}

// memory returns the bytes that a conversion needs at once: both weights, and the codes
// twice more while they are sorted; for numbers also all arrays in plain order, and the
// computed results. Overflow gives the maximum.
func memory(from, to *Weight, sorted bool) (sum int64) {
	add := func(n int64) {
		if sum += n; sum < 0 {
			sum = math.MaxInt64
		}
	}
	for i, t := range from.Tensors {
		n := t.bytes(from.arrays[i])
		if add(n); sorted && from.arrays[i].has(codes) {
			add(n)
			add(n)
		}
	}
	for i, t := range to.Tensors {
		add(t.bytes(to.arrays[i]))
	}
	switch {
	case from.Format.numbers:
		for _, a := range plainArrays(to) {
			add(a.plainBytes(to.ext)) // computed results
		}
		return sum
	case !to.Format.numbers:
		return sum
	}
	if from.Params.Table == gridTable {
		add(16 * from.ext[axisK] * from.ext[axisN] * max(1, from.ext[axisE])) // magnitudes and signs
	}
	if to.Params.Transposed {
		add(to.Tensors[0].bytes(to.arrays[0])) // results, to be transposed
	}
	count := int64(0) // of codes
	for _, a := range plainArrays(from) {
		add(a.plainBytes(from.ext))
		n := a.count(from.ext)
		switch {
		case a.has(codes):
			if count = n; from.Params.Table == "iq4nl" {
				add(n) // results of the table lookup
			}
			if fourBits[from.Params.Table] != nil {
				add(4 * n)
			}
			if from.has(floatZeros) {
				add(8 * n) // difference and product
			}
		case a.has(scales), a.has(mins):
			add(4 * n) // in float32
			if from.Params.Sidecar.Nested {
				add(4 * n)
			}
		}
		if from.has(groups) && (a.has(scales) || a.has(zeros)) {
			add((count*a.bits + 7) / 8) // one per code, if groups are in no order
		}
	}
	return sum
}

// count is the number of elements of an array in plain order; plainBytes is their size.
func (a array) count(ext extents) int64 {
	n := int64(1)
	for _, d := range a.digits() {
		n *= d.Count(ext)
	}
	return n
}

func (a array) plainBytes(ext extents) int64 { return (a.count(ext)*a.bits + 7) / 8 }
