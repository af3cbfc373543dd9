package planner

import "slices"

// spreadCopies is the number of copies of an element made by a work-item of spread.
const spreadCopies = 8

// spreadSpecs lists the kernels of this form.
func spreadSpecs() []Spec {
	var all []Spec
	for _, b := range []uint8{32, 64, 128} {
		for _, wide := range []bool{false, true} {
			all = append(all, Spec{Form: Spread, DstBits: b, SrcBits: b, Wide: wide})
		}
	}
	return all
}

// repeats returns an axis along which src repeats its elements, with rows of dst inside it that
// are long enough to be written one after the other; 0: there is none.
func (p *tiling) repeats() int {
	row := p.inner(0).N * int64(p.dBits) / 8
	for i := 1; i < len(p.axes) && p.dense(); i++ {
		a := p.inner(i)
		if a.S == 0 && a.N >= 4 && a.N < limit && row >= lineBytes {
			return i
		}
		row *= a.N
	}
	return 0
}

// offerSpread offers the form for elements that src repeats.
func (t *tiling) offerSpread(*offer) (offer, refusal) {
	switch {
	case t.untiled != "":
		return offer{}, t.untiled
	case t.dBits < 32:
		return offer{}, otherWidth
	}
	c := t.repeats()
	if c == 0 {
		return offer{}, repeatsNone
	}
	return offer{spec: t.spec(Spread), lay: func(k *parameters) (Spec, error) { return t.planRepeated(k, c) }}, ""
}

// planRepeated plans a copy of elements that src repeats along axis c: by spread for rows that
// keep a group busy; for shorter rows that are dense in src, by chunks in periods, with elements
// of 16 bits. Chunks read these elements once, too.
func (p *tiling) planRepeated(k *parameters, c int) (Spec, error) {
	spec, err := p.planSpread(k, c)
	if p.inner(0).S == 1 && (err != nil || 2*k.cut*k.flat < uint32(GroupSize*spec.items())) {
		q, chunks := p.narrow(16, true), parameters{}
		run := q.spec(Run)
		if q.planPeriods(&chunks, &run) {
			*p.problem, *k = *q, chunks
			return run, nil
		}
	}
	return spec, err
}

// planSpread plans a copy of elements that src repeats along axis c.
func (p *tiling) planSpread(k *parameters, c int) (Spec, error) {
	spec := p.spec(Spread)
	a := p.inner(c)
	copies := min(a.N, spreadCopies)
	k.na, k.ta, k.da = uint32(a.N), uint32(copies), a.D
	axes := p.others(c)
	if len(axes) == 0 {
		axes = []axis{{N: 1}}
	}
	if err := k.cutElements(spec, axes); err != nil {
		return spec, err
	}
	spec.Wide = k.wide()
	k.outer = slices.Insert(k.outer, 1, a.Blocks(copies))
	outer := k.outer
	k.outer = nil
	return spec, k.setOuter(outer...)
}
