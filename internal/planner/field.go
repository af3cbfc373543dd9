package planner

// fieldSpecs lists the kernels of this form.
func fieldSpecs() []Spec { return []Spec{{Form: Field, DstBits: 1, SrcBits: 1}} }

const (
	// widestField and widestPitch are the largest number of bits of a field, and from one
	// field to the next in dst: every word contains a part of one.
	widestField, widestPitch = 16, 32
	// nearPitch is the largest pitch with four fields in a word.
	nearPitch = 8
	// fewFields is the number of fields in a run from which this form is cheaper than single
	// elements.
	fewFields = 8
)

// offerFields offers form Field for fields along an axis: single bits, several elements below a
// byte that do not form a wider element, or single elements below a byte that have gaps between
// them in dst, or small gaps in src alone.
func (p *tiling) offerFields() (offer, refusal) {
	switch {
	case p.target.CPU:
		return offer{}, onlyGPU
	case p.manyAxes:
		return offer{}, tooManyAxes
	case p.dBits > 4:
		return offer{}, otherWidth
	case len(p.axes) == 0:
		return offer{}, noFields
	}
	in, unit := p.inner(0), int64(p.dBits)
	rows := in.D == 1 && in.S == 1
	switch {
	case rows && (len(p.axes) == 1 || in.N > widestField || unit > 2 || unit == 2 && in.N != 3):
		return offer{}, noFields
	case !rows && unit > 1 && in.D == 1 && (in.S < 2 || in.S*unit > nearPitch): // reading elements is cheaper
		return offer{}, noFields
	}
	q := p.narrow(1, rows)
	rest := q.innermostFirst()
	field, x, rest := rest[0], rest[1], rest[2:]
	pitch, width, step := x.D, field.N, x.S
	switch {
	case pitch == unit && unit == 1 || pitch > widestPitch:
		return offer{}, noFields
	case x.N < fewFields:
		return offer{}, tooFewFields
	case x.N >= limit:
		return offer{}, longAxes
	}
	var k parameters
	k.length = (x.N-1)*pitch + width
	k.na, k.nb = uint32(x.N), uint32(width)
	k.run = []axis{{N: pitch, D: pitch, S: step}}
	k.sa = GroupSize / pitch * pitch
	if pitch <= nearPitch && step >= width && step <= nearPitch {
		k.nearFields(width, pitch, step)
	}
	words, block := (chunking{q}.phase(32, rest)+k.length+31)/32, int64(itemsPerBlock)
	for block < 8*itemsPerBlock && words/block >= 4*p.target.fewBlocks() {
		block *= 2
	}
	if k.cutSpans(words, 1, block, rest) != nil {
		return offer{}, noRoom
	}
	*p.problem = *q
	return laid(p.spec(Field), &k, nil)
}

// nearFields sets how four fields of a word move from one pitch to another: pairs move apart
// first, and come together last.
func (k *parameters) nearFields(width, pitch, step int64) {
	// The bits that stay, and how far to the right the others are rotated.
	pairs, singles := ones(2*step), ones(step)|ones(step)<<(2*max(pitch, step))
	far, near := uint32(2*(step-pitch))&31, uint32(step-pitch)&31
	if k.ta = 1; pitch >= step {
		k.db, k.tb = pairs|singles<<32, far|near<<5
	} else {
		k.db, k.tb = singles|pairs<<32, near|far<<5
	}
	for at := int64(0); at < 64; at += pitch {
		k.da |= ones(width) << at
	}
	for i := range int64(4) {
		k.sb |= ones(width) << (i * step)
	}
}

// ones is a number of n one bits.
func ones(n int64) int64 { return 1<<n - 1 }
