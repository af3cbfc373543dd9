package oracle

import (
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/rounding"
	"github.com/restride/restride/layout"
)

// The kinds of types for scalings.

func isFloat(t layout.DType) bool { return numeric.KindOf(t) == numeric.FloatKind }

func isScalable(t layout.DType) bool {
	k := numeric.KindOf(t)
	return t.Bits() <= 32 && (isFloat(t) || k == numeric.IntKind || k == numeric.UintKind)
}

func isTerm(t layout.DType) bool { return isFloat(t) && t.Bits() <= 32 }

func isDequantized(t layout.DType) bool { return isFloat(t) && t.Bits() >= 16 }

func isQuantized(t layout.DType) bool {
	if isFloat(t) {
		return t.Bits() <= 8 && t != layout.Float8E8M0
	}
	return isScalable(t) && t.Bits() <= 16
}

// isBlockCode reports whether scales of blocks can be found for a type.
func isBlockCode(t layout.DType) bool {
	return t == layout.Uint4 || t == layout.Int8 || t == layout.Float4E2M1
}

// among chooses one of the allowed types, or of all types if none of those fits.
func (g generator) among(is func(layout.DType) bool) layout.DType {
	some := slices.DeleteFunc(slices.Clone(g.limits.Types), func(t layout.DType) bool { return !is(t) })
	if len(some) == 0 {
		some = slices.DeleteFunc(layout.DTypes(), func(t layout.DType) bool { return !is(t) })
	}
	return some[g.IntN(len(some))]
}

// scaling chooses a dequantization of elements of a type, or a quantization to it; false:
// neither is possible.
func (g generator) scaling(c *Case, t layout.DType) bool {
	allowed := func(is func(layout.DType) bool) bool { return slices.ContainsFunc(g.limits.Types, is) }
	switch quantize := g.chance(.4); {
	case quantize && isBlockCode(t) && g.chance(.5) && allowed(isTerm):
		c.Op, c.DstType, c.SrcType, c.Terms.FindScale = OpQuantize, t, g.among(isTerm), true
		if c.Terms.Scale.Type = layout.Float8E8M0; t != layout.Float4E2M1 {
			c.Terms.Scale.Type = []layout.DType{layout.Float16, layout.BFloat16, layout.Float32}[g.IntN(3)]
		}
		return true
	case quantize && isQuantized(t) && allowed(isScalable):
		c.Op, c.DstType, c.SrcType = OpQuantize, t, g.among(isScalable)
		if g.chance(.6) && allowed(isTerm) {
			c.SrcType = g.among(isTerm)
		}
		c.How.Unsaturated = g.chance(.3) && rounding.OverflowOf(device.Rounding{Unsaturated: true}, t) != rounding.OverflowOf(device.Rounding{}, t)
		c.Terms.Precision = []layout.DType{layout.Invalid, layout.Float16, layout.BFloat16}[g.IntN(3)]
		if g.chance(.6) {
			c.Terms.Zero.Type = g.among(func(u layout.DType) bool { return isScalable(u) && isFloat(u) == isFloat(t) })
			if g.chance(.5) {
				c.Terms.Zero.Type = t
			}
		}
	case !quantize && isScalable(t) && allowed(isDequantized):
		c.Op, c.DstType, c.SrcType = OpDequantize, g.among(isDequantized), t
		if g.chance(.5) {
			c.Terms.Zero.Type = t
			if g.chance(.5) {
				c.Terms.Zero.Type = g.among(isScalable)
			}
		}
		if g.chance(.4) {
			c.Terms.Add.Type, c.Terms.Subtract = g.among(isTerm), g.chance(.5)
		}
	default:
		return false
	}
	c.Terms.Scale.Type = g.among(isTerm)
	return true
}

// terms chooses the terms' layouts: mostly blocks along inner axes share them.
func (g generator) terms(c *Case, shape []int64) bool {
	if c.Terms.FindScale {
		return g.found(c, shape)
	}
	terms, _ := c.Terms.all()
	blocks := g.IntN(len(shape) + 1) // blocks begin at this axis
	for _, t := range terms {
		var ok bool
		if t.Layout, ok = g.side(shape, []side{{}, {order: shuffled, gap: .2, neg: .2, zero: .5}}[g.IntN(2)]); !ok {
			return false
		}
		if g.chance(.6) {
			strides := make([]int64, len(shape))
			step := int64(1)
			for i := blocks - 1; i >= 0; i-- {
				strides[i] = step
				step *= max(shape[i], 1)
			}
			var err error
			if t.Layout, err = layout.Strided(shape, strides, t.Layout.Offset()%64); err != nil {
				return false
			}
		}
		if !g.fits(t.Layout, t.Type) {
			return false
		}
	}
	return true
}

// found chooses the layout of scales to be found.
func (g generator) found(c *Case, shape []int64) bool {
	if len(shape) == 0 {
		return false
	}
	last := len(shape) - 1
	l, ok := g.side(shape[:last], side{order: shuffled, gap: .2, neg: .2})
	if !ok {
		return false
	}
	t := &c.Terms.Scale
	var err error
	t.Layout, err = layout.Strided(shape, append(l.Strides(), 0), l.Offset())
	return err == nil && g.fits(t.Layout, t.Type)
}
