package main

import (
	"errors"
	"strings"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

// weight is a weight to convert. A checkpoint has many weights of few kinds, which share their
// plan: a weight itself is small.
type weight struct {
	From *quant.Weight
	*planned

	compared bool // its numbers were compared with the source's
	turned   bool // it was converted back, with the same result
	earlier  bool // an earlier run has written it
}

// planned is the conversion of weights of one kind, planned for the first of them.
type planned struct {
	plan *quant.Plan
	// views are, for each of the target's tensors, the source's with the same bytes, which is copied
	// from file to file; -1: none.
	views  []int
	pieces *quant.Pieces // nil: all tensors are copied from file to file
	back   error         // with --verify, the reason why it cannot be converted back
}

// newPlanned returns the conversion of a kind.
func newPlanned(p *quant.Plan, verify bool) *planned {
	k := &planned{plan: p}
	byName := p.Views()
	for _, t := range p.To.Tensors {
		at := -1
		if name, ok := byName[t.Name]; ok {
			for i, from := range p.From.Tensors {
				if from.Name == name {
					at = i
				}
			}
		}
		k.views = append(k.views, at)
	}
	if verify {
		_, k.back = p.Back()
	}
	return k
}

// copied reports whether all of the target's tensors are the source's.
func (k *planned) copied() bool {
	for _, from := range k.views {
		if from < 0 {
			return false
		}
	}
	return true
}

// To returns what the weight becomes.
func (w *weight) To() *quant.Weight {
	if w.plan.From == w.From {
		return w.plan.To
	}
	return w.plan.Target(w.From)
}

// named returns an error of the kind's plan with the names of the weight's own tensors.
func (w *weight) named(err error) error {
	e := new(layout.Error)
	if w.plan.From == w.From || !errors.As(err, &e) {
		return err
	}
	for i, t := range w.plan.From.Tensors {
		e.Msg = strings.ReplaceAll(e.Msg, quote.Name(t.Name), quote.Name(w.From.Tensors[i].Name))
	}
	return err
}

// weightKinds are the conversions of a command, by the kinds of weights.
type weightKinds struct {
	to     *quant.Format
	verify bool
	of     map[string]*planned
}

// weight returns a weight with its conversion; fresh: it is the first of its kind.
func (k *weightKinds) weight(w *quant.Weight) (out *weight, fresh bool, err error) {
	key := w.Kind()
	p, known := k.of[key]
	if !known {
		plan, err := w.Plan(k.to)
		if err != nil {
			return nil, false, err
		}
		p = newPlanned(plan, k.verify)
		if k.of == nil {
			k.of = map[string]*planned{}
		}
		k.of[key] = p
	}
	return &weight{From: w, planned: p}, !known, nil
}
