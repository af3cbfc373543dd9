package planner

import (
	"slices"

	"github.com/restride/restride/internal/nest"
)

// The bits of parameters.span: see source/shuffle.h.
const (
	spanSame = 1 << iota
	spanRowB
	spanBackwards
	spanRunA
	spanEven
	spanFull
	spanAligned
	spanLoose
	spanThrees
)

// plan sets the parameters.
func (t *shape) plan(k *parameters) (Spec, error) {
	p := t.p
	ia, ib := t.a(), t.b()
	a, b := p.inner(ia), p.inner(ib)
	cuts := []axis{a.Blocks(t.n[ia]), b.Blocks(t.n[ib])}
	k.ta, k.na, k.tb, k.nb = uint32(t.n[ia]), uint32(a.N), uint32(t.n[ib]), uint32(b.N)
	if ia == ib {
		cuts[1] = axis{N: 1}
		k.tb, k.nb, k.span = 1, 1, spanSame
	}
	t.planRows(k)
	t.planRuns(k)
	d, s := int64(0), int64(0)
	var others []axis
	for i, n := range t.n {
		x := p.inner(i)
		d += (n - 1) * nest.Magnitude(x.D) * t.size
		s += (n - 1) * nest.Magnitude(x.S) * t.size
		if n == 1 && i != ia && i != ib {
			others = append(others, x)
		}
	}
	spec := p.spec(Shuffle)
	spec.Wide = max(d, s) >= limit/2
	if err := k.setOuter(append(cuts, others...)...); err != nil {
		return spec, err
	}
	return spec, nil
}

// planRows sets the parameters of src's side.
func (t *shape) planRows(k *parameters) {
	cut := int64(0)
	if i := ends(t.row); i >= 0 && t.cut(i) {
		s := t.p.inner(i).S
		cut = nest.Magnitude(s) * t.size
		if s < 0 {
			k.span |= spanBackwards
		}
		if i == t.b() {
			k.span |= spanRowB
		}
	}
	if t.grain < vector {
		k.span |= spanLoose
	}
	piece := vector * t.across
	if t.sEven && t.span == piece*t.parts {
		k.span |= spanAligned
	}
	k.inner = append(k.inner, axis{N: t.across, D: t.span, S: cut}, axis{N: piece, D: piece, S: piece})
	k.inner = append(k.inner, t.lines(t.rows, func(a axis) int64 { return a.S })...)
	k.cut = uint32(t.parts * t.count(t.rows))
	for i, n := range t.n {
		if s := t.p.inner(i).S; s < 0 {
			k.d += (n - 1) * t.pitch[i]
			k.da += (n - 1) * s * t.size
			if !slices.Contains(t.row, i) {
				k.sa -= (n - 1) * s * t.size
				k.s += (n - 1) * t.pitch[i]
			}
		}
	}
}

// planRuns sets the parameters of dst's side.
func (t *shape) planRuns(k *parameters) {
	below, last, cut := t.length, ends(t.run), int64(0)
	if last >= 0 {
		below /= t.n[last]
		if t.cut(last) {
			cut = below
			if last == t.a() {
				k.span |= spanRunA
			}
		}
	}
	piece := axis{N: t.below(t.side)}
	if t.pieces > 1 {
		piece.D, piece.S = t.piece/below*t.step(last), t.piece*t.size
	}
	k.run = append(k.run, axis{N: t.side, D: t.length, S: cut}, piece)
	k.db, k.sb = t.piece, t.words
	k.run = append(k.run, t.lines(t.runs, func(a axis) int64 { return a.D })...)
	k.flat = uint32(t.pieces * t.count(t.runs))
	k.words = uint32(len(k.run))
	k.extent, k.length = t.piece+2*t.per(), (below-1)*t.per()
	for _, i := range t.run {
		k.run = append(k.run, axis{N: t.n[i], D: t.step(i), S: 0})
	}
	if t.alike {
		k.span |= spanEven
	}
	if t.full {
		k.span |= spanFull
	}
	if t.threes() {
		k.span |= spanThrees
	}
}

// ends returns the last axis; -1: there is none.
func ends(axes []int) int {
	if len(axes) == 0 {
		return -1
	}
	return axes[len(axes)-1]
}

// step is an axis's step in the tile.
func (t *shape) step(i int) int64 {
	if t.p.inner(i).S < 0 {
		return -t.pitch[i]
	}
	return t.pitch[i]
}

// lines are the axes of rows or runs as the kernel expects them, a and b first, with their steps
// in the tile (d) and in memory (s).
func (t *shape) lines(of []int, step func(axis) int64) []axis {
	all := []axis{{N: 1}, {N: 1}}
	for _, i := range of {
		x := axis{N: t.n[i], D: t.step(i), S: step(t.p.inner(i)) * t.size}
		switch i {
		case t.a():
			all[0] = x
		case t.b():
			all[1] = x
		default:
			all = append(all, x)
		}
	}
	return all
}
