package planner

import (
	"github.com/restride/restride/layout"
)

// planBlocks plans a quantization that finds the scales of blocks: rows along the last axis.
func planBlocks(dst, src, scale layout.Layout, by scaling, t Target) (Launch, error) {
	p := problem{op: "Quantize", target: t, sBits: 32}
	last := dst.Rank() - 1
	block := axis{dst.Dim(last), dst.Stride(last), src.Stride(last)}
	sides := [5]layout.Layout{dst, src, scale}
	all := make([]*layout.Layout, len(sides))
	for i := range sides {
		all[i] = &sides[i]
		strides := make([]int64, dst.Rank())
		if i < 3 {
			strides = sides[i].Strides()
		}
		var err error
		if sides[i], err = layout.Strided(dst.Shape()[:last], strides[:last], sides[i].Offset()); err != nil {
			return Launch{}, err
		}
	}
	layout.Simplify(all...)
	p.walk(sides[0], sides[1], dst.Offset(), src.Offset(), by.To.Bits(), 1)
	if bytes, ok := layout.PackedBytes(dst.Count(), by.To.Bits()); ok {
		p.bytes = bytes
	} else {
		p.bytes = tooMany
	}
	l, err := p.plan("blocks", func(p *problem, k *parameters) (Spec, error) {
		spec := p.spec(Blocks)
		if block.n >= limit {
			return spec, errTooLarge
		}
		const each = 4 // rounds of loops for an element: 13 for 8 of them were counted, of 8 bits 29
		if err := p.target.checkRounds(each * block.n); err != nil {
			return spec, err
		}
		return spec, p.cutBlocks(k, spec, sides[2:], by, block)
	})
	l.bases[Scale] = moved(sides[2], scale)
	return l, err
}

// cutBlocks cuts as cutScaling does, with an axis of a block's elements behind the others.
func (p *problem) cutBlocks(k *parameters, spec Spec, terms []layout.Layout, by scaling, block axis) error {
	var of [4]parameters
	for i := range of {
		axes := p.innermostFirst()
		for a := range axes {
			if i > 0 {
				axes[a].s = terms[i-1].Stride(len(axes) - 1 - a)
			}
		}
		if err := of[i].cutElements(spec, axes); err != nil {
			return err
		}
		of[i].run = []axis{block}
	}
	k.join(&of)
	k.mean(by)
	return nil
}
