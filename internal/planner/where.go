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

// mostBlended is the width, in bits, of the widest elements whose chunks have several words of
// conditions.
const mostBlended = 32

// choosing is a where prepared for its forms: src is a.
type choosing struct {
	*problem
	b, cond *problem // with b and the condition instead of src
}

// wherePlanners are the planners of a where.
var wherePlanners = []planner[*choosing]{
	{"blend", false, func(c *choosing, _ *offer) (offer, refusal) { return c.offerBlend() }},
	{"elements", false, func(c *choosing, _ *offer) (offer, refusal) {
		var k parameters
		return laid(c.spec(Where), &k, c.cut(c.spec(Where), &k))
	}},
}

// planWhere plans a where between layouts of one shape: elements of 2 to 128 bits, conditions of
// one byte.
func (p *problem) planWhere(dst, cond, a, b layout.Layout, bits int) (Launch, error) {
	p.sBits = bits
	d, x, y, c := dst, a, b, cond
	layout.Simplify(&d, &x, &y, &c)
	p.walk(d, x, dst.Offset(), a.Offset(), bits, 1)
	l, err := p.plan("where", func(p *problem, k *parameters) (Spec, error) {
		return choose(wherePlanners, &choosing{p, p.toward(&y), p.toward(&c)}, p, k)
	})
	l.bases[Cond], l.bases[B] = moved(c, cond), moved(y, b)
	return l, err
}

// toward is the problem with another source.
func (p *problem) toward(l *layout.Layout) *problem {
	q := p.clone()
	for i := range q.axes {
		q.axes[i].S = l.Stride(i)
	}
	return q
}

// offerBlend offers chunks of rows that are as long as a chunk, dense in dst, and dense or of one
// element on the other sides.
func (c *choosing) offerBlend() (offer, refusal) {
	in := c.inner(0)
	switch {
	case c.target.CPU:
		return offer{}, onlyGPU
	case c.manyAxes:
		return offer{}, tooManyAxes
	case c.dBits > mostBlended:
		return offer{}, otherWidth
	case in.D != 1:
		return offer{}, notDense
	case in.N < int64(128/c.dBits):
		return offer{}, shortAxes
	}
	for _, q := range []*problem{c.problem, c.b, c.cond} {
		if s := q.inner(0).S; s != 0 && s != 1 {
			return offer{}, notBlended
		}
	}
	k := parameters{na: rowRepeats(c.problem), nb: rowRepeats(c.b), ta: rowRepeats(c.cond)}
	return laid(c.spec(Blend), &k, c.cut(c.spec(Blend), &k))
}

// rowRepeats is 1 if a source's rows repeat one element.
func rowRepeats(p *problem) uint32 {
	if p.inner(0).S == 0 {
		return 1
	}
	return 0
}

// cut divides the work into blocks, and adds the axes of b and cond.
func (c *choosing) cut(spec Spec, k *parameters) error {
	var b, cond parameters
	for _, side := range []struct {
		*problem
		to *parameters
	}{{c.problem, k}, {c.b, &b}, {c.cond, &cond}} {
		if err := c.cutSide(side.problem, spec, side.to); err != nil {
			return err
		}
	}
	for i, axes := range [][]axis{cond.outer, cond.inner, cond.run} {
		for j := range axes {
			axes[j].D = [][]axis{b.outer, b.inner, b.run}[i][j].S
		}
	}
	k.da, k.sa = b.s, cond.s
	k.more = cond.encode(0)[headerBytes:]
	return nil
}

// cutSide divides one side into blocks.
func (c *choosing) cutSide(side *problem, spec Spec, k *parameters) error {
	r := chunking{side}
	switch {
	case spec.Form == Blend:
		return r.planChunks(k, int64(128/side.dBits), r.takeRun(k, 1))
	case side.dBits < 8:
		return r.planWords(k, len(side.axes), 1)
	}
	return k.cutElements(spec, side.innermostFirst())
}
