package kernels

import (
	"strconv"

	"github.com/restride/restride/layout"
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
	a, b := s.tileSize()
	return []string{"TILE_A " + strconv.FormatInt(a, 10), "TILE_B " + strconv.FormatInt(b, 10)}
}

// tileSize returns the extents of a tile or transpose kernel's tile along axes a and b.
func (s Spec) tileSize() (a, b int64) {
	switch {
	case s.Serial: // long lines of dst, for few words at their ends to merge
		return 256 / int64(s.DstBits), 512
	case s.DstBits == 2:
		return 256, 256
	case s.DstBits == 4:
		return 256, 128
	case s.DstBits == 8:
		return 128, 128
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
	form, long := Tile, int64(layout.LongSide)
	switch {
	case p.dBits >= 32:
	case a.s != 1:
		return "", 0
	case p.target.Serial:
		form, long = Transpose, int64(64/p.dBits)
	default:
		form, long = Transpose, max(layout.LongSide, min(48, int64(512/p.dBits)))
	}
	if near == 0 || b.d != 1 || min(a.n, b.n) < long || max(a.n, b.n) >= limit {
		return "", 0
	}
	return form, near
}

// planTile plans a transposition of axis a and dst's innermost one, b.
func (p *problem) planTile(k *parameters, spec Spec, near int) error {
	a, b := p.inner(near), p.inner(0)
	ta, tb := spec.tileSize()
	k.ta, k.na, k.da, k.sa = uint32(ta), uint32(a.n), a.d, a.s
	k.tb, k.nb, k.db, k.sb = uint32(tb), uint32(b.n), b.d, b.s
	return k.setOuter(append([]axis{a.blocks(ta), b.blocks(tb)}, p.others(0, near)...)...)
}

// blocks is the axis of blocks of n indices each.
func (a axis) blocks(n int64) axis { return axis{(a.n + n - 1) / n, n * a.d, n * a.s} }
