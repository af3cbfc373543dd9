package kernels

import (
	"math/bits"
	"strconv"
)

// The forms of a transposition of two long axes.
const (
	Tile      Form = "tile"      // of elements of a word or more
	Transpose Form = "transpose" // of narrower ones
)

// transposeSpecs lists the kernels of these forms.
func transposeSpecs() []Spec {
	var all []Spec
	for _, b := range []uint8{32, 64, 128} {
		all = append(all, Spec{Form: Tile, DstBits: b, SrcBits: b})
	}
	for _, b := range []uint8{2, 4, 8, 16} {
		all = append(all, Spec{Form: Transpose, DstBits: b, SrcBits: b})
	}
	for _, b := range []uint8{2, 4} {
		all = append(all, Spec{Form: Transpose, DstBits: b, SrcBits: b, Serial: true})
	}
	return all
}

// transposeDefines are the macros of these forms.
func (s Spec) transposeDefines() []string {
	switch {
	case s.Form == Tile:
		return s.tileDefines()
	case !s.Serial:
		return nil
	}
	a, b := s.tileSize()
	return []string{"TILE_A " + strconv.FormatInt(a, 10), "TILE_B " + strconv.FormatInt(b, 10)}
}

// tileSize returns the usual extents of a tile along axes a and b, of form tile and of
// serial kernels.
func (s Spec) tileSize() (a, b int64) {
	switch {
	case s.Serial: // long lines of dst, for few words at their ends to merge
		return 256 / int64(s.DstBits), 512
	case s.DstBits == 64:
		return 32, 64
	case s.DstBits == 128:
		return 32, 32
	}
	return 64, 64
}

// transposes returns the form for a transposition of two long axes, if that is
// what the copy is, and the axis along which src is dense.
func (p *problem) transposes() (Form, int) {
	near := p.nearest()
	a, b := p.inner(near), p.inner(0)
	form, long := Tile, max(8, int64(512/p.dBits))
	if p.dBits < 32 {
		form = Transpose
		switch {
		case p.target.Serial:
			long = int64(64 / p.dBits)
		default:
			long = max(16, int64(64/p.dBits))
		}
		if a.s != 1 && (a.s != -1 || p.target.Serial) {
			return "", 0
		}
	}
	if near == 0 || b.d != 1 || min(a.n, b.n) < long || max(a.n, b.n) >= limit {
		return "", 0
	}
	return form, near
}

// planTransposed plans a transposition of axis a and dst's innermost one, b.
func (p *problem) planTransposed(k *parameters, spec Spec, near int) error {
	switch {
	case spec.Form == Tile:
		return p.planTile(k, spec, near)
	case !spec.Serial:
		return p.planTranspose(k, near)
	}
	a, b := p.inner(near), p.inner(0)
	ta, tb := spec.tileSize()
	k.ta, k.na, k.da, k.sa = uint32(ta), uint32(a.n), a.d, a.s
	k.tb, k.nb, k.db, k.sb = uint32(tb), uint32(b.n), b.d, b.s
	return k.setOuter(append([]axis{a.blocks(ta), b.blocks(tb)}, p.others(0, near)...)...)
}

// blocks is the axis of blocks of n indices each.
func (a axis) blocks(n int64) axis { return axis{(a.n + n - 1) / n, n * a.d, n * a.s} }

// transposeSlots is how many slots of 16 bytes a tile of form transpose has.
const transposeSlots = 8 * GroupSize

// strip is a shape of form transpose's tile: so many indices of the axes a and b, and
// of c, another one, for where a and b are short. Blocks along b are step indices apart.
type strip struct {
	width         int // the logarithm of how many work-items are side by side along a
	ta, tb, tc    int64
	step          int64
	c             int // counted from the innermost axis; 0: none; axis a: blocks of it
	blocks, lines int64
}

// planTranspose plans form transpose, of axis a and dst's innermost one, b.
func (p *problem) planTranspose(k *parameters, near int) error {
	if p.inner(near).s < 0 {
		p.reverseAxis(near)
	}
	a, b := p.inner(near), p.inner(0)
	t := p.strip(near)
	c, but := axis{n: 1}, []int{0, near}
	switch {
	case t.c == near:
		c, a.n = a.blocks(t.ta), t.ta
	case t.c > 0:
		c, but = p.inner(t.c), append(but, t.c)
	}
	unit := int64(128 / p.dBits)
	k.flat, k.words = uint32(t.width), uint32(bits.TrailingZeros64(uint64(t.tb/unit)))
	k.ta, k.na, k.da, k.sa = uint32(t.ta), uint32(a.n), a.d, a.s
	k.tb, k.nb, k.db, k.sb = uint32(t.step), uint32(b.n), b.d, b.s
	k.cut, k.extent, k.d, k.s = uint32(t.tc), c.n, c.d, c.s
	rows := axis{t.rows(b.n), t.step * b.d, t.step * b.s}
	return k.setOuter(append([]axis{a.blocks(t.ta), rows, c.blocks(t.tc)}, p.others(but...)...)...)
}

// rows is how many blocks there are along b, of n indices.
func (t *strip) rows(n int64) int64 { return max(1, (n-t.tb+2*t.step-1)/t.step) }

// strip chooses the shape with the fewest blocks, and among about equal ones that with
// the longest runs on both sides.
func (p *problem) strip(near int) strip {
	best := p.stripOf(near, 3, 0)
	for width := 0; width <= 6; width++ {
		for c := range p.axes {
			if c == near && p.inner(near).n%(min(int64(128/p.dBits), 32)<<width) != 0 {
				continue
			}
			if t := p.stripOf(near, width, c); t.step > 0 && t.better(best) {
				best = t
			}
		}
	}
	return best
}

func (t strip) better(than strip) bool {
	if 16*t.blocks < 15*than.blocks || 15*t.blocks > 16*than.blocks {
		return t.blocks < than.blocks
	}
	return t.lines > than.lines
}

// stripOf is the shape of the given width, with indices of axis c.
func (p *problem) stripOf(near, width, c int) strip {
	a, b := p.inner(near), p.inner(0)
	unit := int64(128 / p.dBits)
	across := min(unit, 32)
	t := strip{width: width, ta: across << width}
	room := transposeSlots / t.ta * unit
	for t.tb = unit; t.tb < b.n && t.tb < room; t.tb *= 2 {
	}
	t.step, t.tc = t.tb, room/t.tb
	if t.tb < b.n && !p.aligned(unit) {
		t.step -= unit
	}
	if t.step == 0 {
		return t
	}
	t.blocks = a.blocks(t.ta).n * t.rows(b.n)
	if t.c = c; c == near {
		t.blocks = a.blocks(t.ta*t.tc).n * t.rows(b.n)
	}
	for i := range p.axes {
		switch n := p.inner(i).n; {
		case i == 0 || i == near:
		case i == c:
			t.blocks *= (n + t.tc - 1) / t.tc
		default:
			t.blocks *= n
		}
	}
	t.lines = min(a.n, t.ta, b.n, t.tb)
	return t
}

// aligned reports whether lines of dst begin on so many elements.
func (p *problem) aligned(unit int64) bool {
	for i := range p.axes[:len(p.axes)-1] {
		if p.axes[i].d%unit != 0 {
			return false
		}
	}
	return p.dBase%unit == 0
}
