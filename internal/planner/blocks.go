package planner

import (
	"github.com/restride/restride/layout"
)

// planBlocks plans a quantization that finds the scales of blocks: rows along the last axis.
func (p *problem) planBlocks(dst, src, scale layout.Layout, by scaling) (Launch, error) {
	last := dst.Rank() - 1
	block := axis{N: dst.Dim(last), D: dst.Stride(last), S: src.Stride(last)}
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
		x := &scaled{p, by, sides[2:]}
		return choose([]planner[*scaled]{{"blocks", false, func(p *scaled, _ *offer) (offer, refusal) {
			var k parameters
			return laid(p.spec(Blocks), &k, p.cutBlocks(&k, block))
		}}}, x, p, k)
	})
	l.bases[Scale] = moved(sides[2], scale)
	return l, err
}

// cutBlocks is cut with an additional axis for a block's elements, behind the others.
func (p *scaled) cutBlocks(k *parameters, block axis) error {
	if block.N >= limit {
		return errTooLarge
	}
	const each = 4 // loop rounds for an element: 13 counted for 8 of them, 29 for 8-bit ones
	if err := p.target.checkRounds(each * block.N); err != nil {
		return err
	}
	var of [4]parameters
	for i := range of {
		axes := p.innermostFirst()
		for a := range axes {
			if i > 0 {
				axes[a].S = p.terms[i-1].Stride(len(axes) - 1 - a)
			}
		}
		if err := of[i].cutElements(p.spec(Blocks), axes); err != nil {
			return err
		}
		of[i].run = []axis{block}
	}
	k.join(&of)
	k.mean(p.by)
	return nil
}
