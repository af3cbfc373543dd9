package planner

import (
	"strconv"

	"github.com/restride/restride/layout"
)

// whereSpecs lists the kernels of Where and Blend.
func whereSpecs() []Spec {
	var all []Spec
	for _, bits := range []uint8{2, 4, 8, 16, 32, 64, 128} {
		for _, cpu := range []bool{false, true} {
			all = append(all, Spec{Form: Where, DstBits: bits, SrcBits: bits, CPUTarget: cpu})
		}
		if bits <= mostBlended {
			all = append(all, Spec{Form: Blend, DstBits: bits, SrcBits: bits})
		}
	}
	return all
}

// blendDefines are the macros of Blend.
func blendDefines(s Spec) []string {
	return []string{"COND_BITS " + strconv.Itoa(8*128/int(s.DstBits))}
}

// mostBlended is the width, in bits, of the widest elements of which a chunk has several
// words of conditions.
const mostBlended = 32

// planWhere plans a where between layouts of one shape: of elements of 2 to 128 bits,
// whose conditions are bytes.
func planWhere(dst, cond, a, b layout.Layout, bits int, t Target) (Launch, error) {
	p := problem{op: "Where", target: t, sBits: bits}
	d, x, y, c := dst, a, b, cond
	layout.Simplify(&d, &x, &y, &c)
	p.walk(d, x, dst.Offset(), a.Offset(), bits, 1)
	l, err := p.plan("where", func(p *problem, k *parameters) (Spec, error) {
		spec := p.spec(Where)
		ofB, ofCond := p.toward(&y), p.toward(&c)
		if p.blends(ofB, ofCond) {
			spec.Form = Blend
			k.na, k.nb, k.ta = rowRepeats(p), rowRepeats(ofB), rowRepeats(ofCond)
		}
		return spec, p.cutSides(spec, k, ofB, ofCond)
	})
	l.bases[Cond], l.bases[B] = moved(c, cond), moved(y, b)
	return l, err
}

// toward is the problem with another source.
func (p *problem) toward(l *layout.Layout) *problem {
	q := p.clone()
	for i := range q.axes {
		q.axes[i].s = l.Stride(i)
	}
	return q
}

// blends reports whether rows are dense in dst, and on the other sides dense or of one
// element, and as long as a chunk.
func (p *problem) blends(others ...*problem) bool {
	in := p.inner(0)
	if p.target.CPU || p.manyAxes || p.dBits > mostBlended || in.d != 1 || in.n < int64(128/p.dBits) {
		return false
	}
	for _, q := range append(others, p) {
		if s := q.inner(0).s; s != 0 && s != 1 {
			return false
		}
	}
	return true
}

// rowRepeats is 1 if rows of a source have one element.
func rowRepeats(p *problem) uint32 {
	if p.inner(0).s == 0 {
		return 1
	}
	return 0
}

// cutSides cuts the work into blocks, and adds what b's and cond's axes are.
func (p *problem) cutSides(spec Spec, k *parameters, ofB, ofCond *problem) error {
	var b, cond parameters
	for _, side := range []struct {
		*problem
		to *parameters
	}{{p, k}, {ofB, &b}, {ofCond, &cond}} {
		if err := side.cutWhere(spec, side.to); err != nil {
			return err
		}
	}
	for i, axes := range [][]axis{cond.outer, cond.inner, cond.run} {
		for j := range axes {
			axes[j].d = [][]axis{b.outer, b.inner, b.run}[i][j].s
		}
	}
	k.da, k.sa = b.s, cond.s
	k.more = cond.encode(0)[headerBytes:]
	return nil
}

// cutWhere cuts one side of a where into blocks.
func (p *problem) cutWhere(spec Spec, k *parameters) error {
	switch {
	case spec.Form == Blend:
		return p.planChunks(k, int64(128/p.dBits), p.takeRun(k, 1))
	case p.dBits < 8:
		return p.planWords(k, len(p.axes), 1)
	}
	return k.cutElements(spec, p.innermostFirst())
}
