package kernels

import (
	"slices"
	"strconv"
)

// Shuffle is the form of a permutation of short axes.
const Shuffle Form = "shuffle"

const (
	// tileBytes is the size of shuffle's tile. With its tables it takes 32 KiB
	// of local memory at the most, which is what small devices have.
	tileBytes = 16 << 10
	// tableSize is how many entries a table of shuffle has room for.
	tableSize = 768
)

// shuffleSpecs lists the kernels of this form.
func shuffleSpecs() []Spec {
	var all []Spec
	for _, b := range []uint8{8, 16, 32, 64, 128} {
		for _, wide := range []bool{false, true} {
			all = append(all, Spec{Form: Shuffle, DstBits: b, SrcBits: b, Wide: wide})
		}
	}
	return all
}

// shuffleDefines are the macros of this form.
func (s Spec) shuffleDefines() []string {
	return []string{"TABLE " + strconv.Itoa(tableSize), "SLOTS " + strconv.Itoa(tileBytes*8/int(s.DstBits))}
}

// shape is a tile of several axes: of each of the problem's axes, how many indices.
type shape struct {
	p        *problem
	src, dst []int // the tile's axes in the order of either side
	a, b     int   // the last axes of the sides' leading ones: either may be cut
	sLow     int   // how many of src's are leading
	dLow     int
	n        []int64
}

// shuffles returns the tile for a permutation of short axes, if that is what the copy
// is.
func (p *problem) shuffles() *shape {
	src, dst := p.srcOrder(), p.dstOrder()
	for need := int64(lineBytes * 8 / p.dBits); need*int64(p.dBits) >= sectorBytes*8; need /= 2 {
		if t := p.shape(src, dst, need); t != nil && t.fits() {
			t.grow()
			return t
		}
	}
	return nil
}

// shape makes a tile of the leading axes of both sides, until there are as many
// elements as needed.
func (p *problem) shape(src, dst []int, need int64) *shape {
	t := &shape{p: p, n: make([]int64, len(p.axes))}
	lead := func(order []int) int {
		size := int64(1)
		for low, i := range order {
			n := p.inner(i).n
			cut := min(n, (need+size-1)/size)
			t.n[i] = max(t.n[i], cut)
			if size *= cut; size >= need || low == len(order)-1 {
				return low + 1
			}
		}
		return 0
	}
	t.sLow, t.dLow = lead(src), lead(dst)
	if t.sLow == 0 || t.dLow == 0 {
		return nil
	}
	t.a, t.b = src[t.sLow-1], dst[t.dLow-1]
	t.src = union(src[:t.sLow], dst[:t.dLow])
	t.dst = union(dst[:t.dLow], src[:t.sLow])
	return t
}

// union returns low and then the rest of what is in other, whose last is kept last.
func union(low, other []int) []int {
	all := slices.Clone(low)
	for _, i := range other {
		if !slices.Contains(low, i) {
			all = append(all, i)
		}
	}
	return all
}

func (t *shape) size(axes []int) int64 {
	size := int64(1)
	for _, i := range axes {
		size *= t.n[i]
	}
	return size
}

// fits reports whether the tile and its tables fit the kernel's memory.
func (t *shape) fits() bool {
	if t.p.inner(t.a).n >= limit || t.p.inner(t.b).n >= limit {
		return false
	}
	if t.size(t.src) > int64(tileBytes*8/t.p.dBits) {
		return false
	}
	for _, parts := range [][]axis{t.parts(t.src, t.sLow), t.parts(t.dst, t.dLow)} {
		if parts[0].n+parts[1].n > tableSize {
			return false
		}
	}
	return true
}

// grow makes the tile larger along its two cut axes, the side with the shorter
// runs first, while there remain enough blocks.
func (t *shape) grow() {
	blocks := int64(1)
	for i := range t.n {
		blocks *= (t.p.inner(i).n + max(t.n[i], 1) - 1) / max(t.n[i], 1)
	}
	for sides := []bool{true, true}; blocks >= 2*fewBlocks && (sides[0] || sides[1]); {
		side, i := 0, t.a
		if !sides[0] || sides[1] && t.size(t.dst[:t.dLow]) < t.size(t.src[:t.sLow]) {
			side, i = 1, t.b
		}
		old, n := t.n[i], t.p.inner(i).n
		t.n[i] = min(n, 2*old)
		if sides[side] = t.n[i] > old && t.fits(); sides[side] {
			blocks = blocks / ((n + old - 1) / old) * ((n + t.n[i] - 1) / t.n[i])
		} else {
			t.n[i] = old
		}
	}
	for _, i := range []int{t.a, t.b} { // cuts of about one size
		n := t.p.inner(i).n
		cuts := (n + t.n[i] - 1) / t.n[i]
		t.n[i] = (n + cuts - 1) / cuts
	}
}

// parts returns how the kernel splits an element's number in the order of one side:
// the sizes of the low and the high part, then the axes of both, each with its extent,
// its number (d), and how many of its indices an index of the part counts for (s).
func (t *shape) parts(order []int, low int) []axis {
	var axes []axis
	for _, i := range order {
		axes = append(axes, axis{t.n[i], int64(i), 1})
	}
	if low == len(order) { // no high part: split the last axis
		last := axes[low-1]
		n := (last.n + 31) / 32
		axes[low-1].n = n
		axes = append(axes, axis{(last.n + n - 1) / n, last.d, n})
	}
	sizes := []axis{{n: 1}, {n: 1}}
	for j, a := range axes {
		part := 0
		if j >= low {
			part = 1
		}
		sizes[part].n *= a.n
	}
	return append(sizes, axes...)
}

// plan sets the parameters.
func (t *shape) plan(k *parameters) (Spec, error) {
	p := t.p
	same := t.a == t.b
	ta, tb := t.n[t.a], t.n[t.b]
	a, b := p.inner(t.a), p.inner(t.b)
	cuts := []axis{a.blocks(ta), b.blocks(tb)}
	k.ta, k.na, k.tb, k.nb = uint32(ta), uint32(a.n), uint32(tb), uint32(b.n)
	k.flat = uint32(t.size(t.src) / ta)
	if same {
		cuts[1] = axis{n: 1}
		k.tb, k.nb, k.span = 1, 1, 1
	} else {
		k.flat /= uint32(tb)
	}

	// Where an element lies in the tile: one after the other in dst's order.
	slot := make([]int64, len(t.n))
	for size, j := int64(1), 0; j < len(t.dst); j++ {
		slot[t.dst[j]] = size
		size *= t.n[t.dst[j]]
	}
	list := func(order []int, low, last int, d func(int) int64) (axes []axis, entries int64) {
		parts := t.parts(order, low)
		edge := parts[0]
		if low < len(order) { // the low part of a block at the end of its last axis
			n := p.inner(last).n
			edge.n = edge.n / t.n[last] * ((n-1)%t.n[last] + 1)
		}
		axes = []axis{parts[0], edge}
		for _, part := range parts[2:] {
			i := int(part.d)
			axes = append(axes, axis{part.n, part.s * d(i), part.s * p.inner(i).s})
		}
		return axes, parts[0].n + parts[1].n
	}
	k.inner, k.extent = list(t.src, t.sLow, t.a, func(i int) int64 { return slot[i] })
	k.run, k.length = list(t.dst, t.dLow, t.b, func(i int) int64 { return p.inner(i).d })
	k.cut, k.words = uint32(t.sLow), uint32(t.dLow)

	d, s := int64(0), int64(0)
	for _, i := range t.src {
		d += (t.n[i] - 1) * magnitude(p.inner(i).d)
		s += (t.n[i] - 1) * magnitude(p.inner(i).s)
	}
	spec := p.spec(Shuffle)
	spec.Wide = d >= limit || s >= limit
	return spec, k.setOuter(append(cuts, p.others(t.src...)...)...)
}
