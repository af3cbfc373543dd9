package main

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/quant"
)

// mostShapes is the most different weights to plan for. Models have a few dozen.
const mostShapes = 1000

// planner caches the possible conversions of weights, by their kinds.
type planner struct {
	kinds map[string]*kindOfWeight
	of    map[*quant.Weight]*kindOfWeight
}

func newPlanner() *planner {
	return &planner{map[string]*kindOfWeight{}, map[*quant.Weight]*kindOfWeight{}}
}

// kindOfWeight is the planned conversions of weights that differ only in name.
type kindOfWeight struct {
	becomes map[string]becoming
	plans   map[string]*quant.Plan
	planned map[string]*planned
}

// becomes plans the conversions to all formats. nil: there are too many kinds.
func (p *planner) becomes(w *quant.Weight) map[string]becoming {
	key := w.Kind()
	if k, ok := p.kinds[key]; ok {
		p.of[w] = k
		return k.becomes
	}
	if len(p.kinds) >= mostShapes {
		return nil
	}
	k := &kindOfWeight{map[string]becoming{}, map[string]*quant.Plan{}, map[string]*planned{}}
	for _, to := range quant.Formats() {
		plan, err := w.Plan(to)
		if err != nil {
			k.becomes[to.Name] = becoming{Refused: reason(err)}
			continue
		}
		c := plan.Cost()
		k.plans[to.Name] = plan
		k.becomes[to.Name] = becoming{Verdict: verdictOf(c), Moves: c.Moves, Bytes: c.Bytes, Memory: c.Memory}
	}
	p.kinds[key], p.of[w] = k, k
	return k.becomes
}

// refuse prepares, for each format, the conversion of all weights that can become it: if repack
// would refuse the output although it can convert each weight, these weights cannot become that
// format.
func (p *planner) refuse(ctx context.Context, r repack, weights []*quant.Weight, rest []quant.Tensor) error {
	for _, to := range quant.Formats() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := p.prepare(r, to, weights, rest)
		switch {
		case err == nil:
			continue
		case errors.Is(err, budget.ErrOutOfMemory):
			return err
		}
		for _, k := range p.kinds {
			if k.becomes[to.Name].Refused == "" {
				k.becomes[to.Name] = becoming{Refused: reason(err)}
			}
		}
	}
	return nil
}

// prepare prepares the conversion to a format, into a file and, for several files, into a folder.
func (p *planner) prepare(r repack, to *quant.Format, weights []*quant.Weight, rest []quant.Tensor) error {
	can := func(k *kindOfWeight) bool { return k.plans[to.Name] != nil }
	if !slices.ContainsFunc(slices.Collect(maps.Values(p.kinds)), can) {
		return nil
	}
	bytes := int64(len(weights)) * (foundWeight + 3*writtenBytes)
	if err := budget.Process().Take("a plan of the output", bytes); err != nil {
		return err
	}
	defer budget.Process().Give(bytes)
	rest = slices.Clone(rest)
	r.target, r.to, r.part = to, to.Name, part{1, 1}
	for _, w := range weights {
		k := p.of[w]
		if k == nil || k.plans[to.Name] == nil {
			r.left++
			rest = append(append(rest, w.Tensors...), w.Sidecars...)
			continue
		}
		if k.planned[to.Name] == nil {
			k.planned[to.Name] = newPlanned(k.plans[to.Name], false)
		}
		r.weights = append(r.weights, &weight{From: w, planned: k.planned[to.Name]})
	}
	outputs := []string{"out." + to.File().String(), "out"}
	if len(r.source.Files) == 1 {
		outputs = outputs[1:] // a folder contains what a file contains, plus config.json
	}
	for _, r.output = range outputs {
		r.files = nil
		if err := r.prepare(rest); err != nil {
			return err
		}
	}
	return nil
}
