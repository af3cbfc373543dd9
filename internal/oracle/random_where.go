package oracle

import "github.com/restride/restride/layout"

// mapped chooses a map's table, and makes some maps in place.
func (g generator) mapped(c *Case) {
	if !c.Shared && c.SrcType.Bits() == c.DstType.Bits() && g.chance(.3) {
		c.Src, c.Shared = c.Dst, true
	}
	c.Table = g.offset()
}

// where chooses extents and layouts; false if they exceed the limits. Mostly elements are
// contiguous, or one is repeated along rows, columns or everywhere.
func (g generator) where(c *Case, elements int64) bool {
	shape := g.shape([]dims{mixed, mixed, edges, skinny}[g.IntN(4)], min(int(g.between(0, 4)), g.limits.MaxRank), elements)
	if g.chance(.03) {
		shape = g.shape(tiny, g.limits.MaxRank, elements)
	}
	plain := g.chance(.6)
	anyhow := side{order: []order{rowMajor, swapped, shuffled}[g.IntN(3)], gap: .2, neg: .2}
	choose := func(l *layout.Layout, zero float64) (ok bool) {
		how := side{pitch: .1, zero: zero}
		if !plain || g.chance(.1) {
			how = anyhow
			how.zero = zero
		}
		if zero > 0 && g.chance(.15) {
			how.zero = 1
		}
		*l, ok = g.side(shape, how)
		return ok
	}
	if !choose(&c.Dst, 0) || !choose(&c.Src, .1) || !choose(&c.B, .1) || !choose(&c.Cond, .25) {
		return false
	}
	c.Shared, c.SharedB = g.chance(.15), g.chance(.15)
	if c.Shared {
		c.Src = c.Dst
	}
	if c.SharedB {
		c.B = c.Dst
	}
	dst, src, cond := c.Sizes()
	return max(dst, src, c.sizeB(), cond) <= g.limits.MaxBytes
}
