package main

import (
	"fmt"
	"slices"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/pipeline"
	"github.com/restride/restride/quant"
)

// memory is how the weights pass through the device: in batches of bytes, depth at a time.
type memory struct {
	depth  int
	inputs []int64 // the most bytes of each tensor of a batch
	need   int64   // total memory
}

// batchBytes is the largest size of a batch, on both sides together, if memory is not limited:
// enough for whole weights of most models. Tests lower it.
var batchBytes int64 = 64 << 20

const (
	// depth is the number of batches in flight: one is read, one converted, one written.
	depth = 3
)

// cut divides the weights of this part into pieces that fit the available memory.
func (r *repack) cut() error {
	limit, by := budget.Process().Limit()
	room := limit - budget.Process().InUse()
	for _, d := range []int{depth, 1} {
		for most := batchBytes; ; most /= 2 {
			m, least, err := r.tryCut(most, d)
			if err != nil {
				return err
			}
			if m.need <= room {
				r.memory = m
				return nil
			}
			if !least {
				continue
			}
			if d > 1 {
				break
			}
			return layout.Errorf(budget.ErrOutOfMemory, "repack", "pieces of a weight take at least %s (%d bytes); the limit is %d (%s), of which %d are in use", byteSize(m.need), m.need, limit, by, limit-room)
		}
	}
	return nil
}

// tryCut divides the weights into pieces of at most so many bytes, or of the smallest possible
// size; least: all have the smallest possible size.
func (r *repack) tryCut(most int64, depth int) (m memory, least bool, err error) {
	m.depth, least = depth, true
	results, between, seen := int64(0), int64(0), map[*planned]bool{}
	for _, f := range r.mine() {
		for _, w := range slices.Concat(f.weights, f.carried) {
			if seen[w.planned] || w.copied() && (!r.verify || w.back != nil) {
				continue // known, or copied from file to file
			}
			seen[w.planned] = true
			smallest := w.plan.Least()
			if least = least && smallest >= most; smallest > most {
				w.pieces, err = w.plan.Cut(smallest)
			} else {
				w.pieces, err = w.plan.Cut(most)
			}
			if err != nil {
				return m, false, fmt.Errorf("%s: %w", quote.Plain(w.From.Name), err)
			}
			p, both := w.pieces.At(0), int64(0)
			for i, region := range p.Src {
				if i == len(m.inputs) {
					m.inputs = append(m.inputs, 0)
				}
				m.inputs[i] = max(m.inputs[i], region.Size())
				both += region.Size()
			}
			out := int64(0)
			for _, region := range p.Dst {
				out += region.Size()
			}
			results = max(results, out)
			more := p.Cost().Memory - both - out
			if r.verify {
				if back, err := p.Back(); err == nil {
					more = max(more, back.Cost().Memory-out)
				}
			}
			between = max(between, more)
		}
	}
	each := results
	for _, n := range m.inputs {
		each += n
	}
	copies := int64(1)
	if !r.stream.IsHost() {
		copies = 2 // on the host and on the device
	}
	m.need = copies*int64(depth)*each + between
	m.need += m.need/8 + pieceBytes // pools have blocks of fixed sizes; copies of tensors
	if r.verify {
		m.need += quant.CompareBytes
	}
	return m, least, nil
}

// stages are a pipeline's inputs for the batches.
func (m memory) stages() pipeline.Stages {
	st := pipeline.Stages{Depth: m.depth}
	for _, n := range m.inputs {
		st.Inputs = append(st.Inputs, pipeline.Input{Type: layout.Uint8, Dims: []int64{n}})
	}
	return st
}
