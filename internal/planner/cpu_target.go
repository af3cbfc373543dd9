package planner

// Plans for CPUs behind OpenCL. These run a work-group as a loop; their memory is fast where cache
// lines are read and written whole, in long runs.

const (
	// blockBytes is the size of the tile, which stays in L1 together with the cache lines that
	// are read.
	blockBytes = 16 << 10
	// repeated is the Spec.Step of blocks whose src repeats one element along runs; a Step of
	// 0 is any step.
	repeated = 127
	// shortSide is the extent below which a loop over an axis does not pay off.
	shortSide = 8
)

// blockSteps are the steps that blocks are compiled for.
var blockSteps = []int8{0, 1, -1, 2, -2, 3, 4, repeated}

// blockSpecs lists the kernels of blocks.
func blockSpecs() []Spec {
	var all []Spec
	for _, bits := range []uint8{8, 16, 32, 64, 128} {
		for _, step := range blockSteps {
			all = append(all, Spec{Form: Block, DstBits: bits, SrcBits: bits, CPUTarget: true, Step: step})
		}
	}
	return all
}

// offerBlocks offers form Block.
func (t *tiling) offerBlocks(*offer) (offer, refusal) {
	if !t.target.CPU || t.dBits < 8 {
		return offer{}, onlyCPU
	}
	b := blocks{t.problem}
	return offer{spec: t.spec(Block), lay: b.plan}, ""
}

// blocks is a problem for form Block.
type blocks struct{ *problem }

// plan cuts dst into blocks that are long along dst's dense axis and, if src is dense along
// another axis, along that one.
func (p blocks) plan(k *parameters) (Spec, error) {
	b := p.inner(0)
	if len(p.axes) == 0 {
		b = axis{N: 1, D: 1, S: 1}
	}
	a, step := p.blockRows(b)
	if a > 0 && step == 0 && p.inner(a).S < 0 && b.N >= 16 {
		p.reverseAxis(a)
	}

	// A run extends over b and over the axes that begin where it ends, up to a.
	room := int64(blockBytes * 8 / p.dBits)
	most := room
	if a > 0 {
		side := blockSide(room)
		if p.inner(a).D%int64(64*8/p.dBits) != 0 {
			side *= 2 // runs share their first and last cache line with others
		}
		most = max(room/p.inner(a).N, side)
	}
	k.length, k.tb, k.db, k.sb = b.N, uint32(min(b.N, most)), b.D, b.S
	k.flat, k.cut, k.extent = 1, 1, 1
	items := axis{N: 1} // the cut axis
	size := int64(k.tb) // of the block so far
	whole := size == b.N
	next := 1
	extend := func(most int64) {
		for ; whole && next < len(p.axes) && next != a; next++ {
			x := p.inner(next)
			if x.D != size*b.D {
				break
			}
			n := min(x.N, most/size)
			if whole = n == x.N; whole {
				k.inner = append(k.inner, axis{N: n, D: size, S: x.S})
				k.flat *= uint32(n)
			} else {
				k.cut, k.extent, k.d, k.s = uint32(n), x.N, size, x.S
				items = axis{N: (x.N + n - 1) / n, D: n * x.D, S: n * x.S}
			}
			size *= n
		}
	}
	extend(most)
	if a == 0 && whole && 2*size <= room && p.inner(next).N < limit {
		a = next // rows with gaps between them
	}
	rows := axis{N: 1} // blocks along a
	k.na, k.ta, k.nb = 1, 1, uint32(size)
	if a > 0 && a < len(p.axes) {
		x := p.inner(a)
		n := min(x.N, room/size)
		k.na, k.ta, k.da, k.sa = uint32(x.N), uint32(n), x.D, x.S
		rows = axis{N: (x.N + n - 1) / n, D: n * x.D, S: n * x.S}
		whole = whole && a == next && x.D == size*b.D && n == x.N
		size *= n
		if whole { // extend behind the runs of all a
			next++
			extend(room)
		}
	}

	tb := int64(k.tb)
	cuts := []axis{{N: (b.N + tb - 1) / tb, D: tb * b.D, S: tb * b.S}, rows, items}
	for i := 1; i < len(p.axes); i++ {
		if i >= next && i != a {
			cuts = append(cuts, p.inner(i))
		}
	}
	spec := p.spec(Block)
	spec.Step = step
	return spec, k.setOuter(cuts...)
}

// blockRows chooses the axis along which rows of blocks run, counted from the innermost one, or 0
// to leave that open; and the kernel's step of src.
func (p blocks) blockRows(b axis) (a int, step int8) {
	step = repeated
	if b.S != 0 {
		step = 0
		for _, s := range blockSteps {
			if int64(s) == b.S && s != repeated {
				step = s
			}
		}
	}
	fits := func(i int) bool { return i > 0 && i < len(p.axes) && p.inner(i).N < limit }
	near := p.nearest()
	switch {
	case b.N < shortSide:
		if near == 0 || p.inner(near).N < shortSide {
			for near = 1; near < len(p.axes) && p.inner(near).N < shortSide; near++ {
			}
		}
		if fits(near) {
			return near, 0
		}
		return 0, step
	case b.S == 0 || !fits(near):
		return 0, step
	case step != 0 && p.inner(near).N < shortSide:
		return near, step
	}
	return near, 0
}

// reverseAxis reverses the direction of an axis.
func (p *problem) reverseAxis(i int) {
	x := &p.axes[len(p.axes)-1-i]
	p.d.add += ((x.N - 1) * x.D) << p.d.shift
	p.s.add += ((x.N - 1) * x.S) << p.s.shift
	p.dBase, p.sBase = p.dBase+(x.N-1)*x.D, p.sBase+(x.N-1)*x.S
	x.D, x.S = -x.D, -x.S
}

// blockSide is the largest power of two not above the root of room.
func blockSide(room int64) int64 {
	side := int64(1)
	for 4*side*side <= room {
		side *= 2
	}
	return side
}
