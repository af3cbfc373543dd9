package main

import (
	"errors"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/jsontext"
	"github.com/restride/restride/quant"
)

// The memory for a source's tensors, in bytes, in addition to the checkpoint's own memory for
// them: structs, entries in maps and in grown slices, lines of tables. TestBugMemoryOfMany
// compares it with the actual memory of processes.
const (
	foundTensor  = 400 // to find weights among the tensors, and for a tensor's line
	foundWeight  = 800 // a weight with its extents, and its line
	plannedBase  = 2 << 10
	plannedMove  = 800
	writtenBytes = 400 // for a tensor in the written header
)

// openSource opens a source, and reserves the memory for the work on its tensors.
func openSource(path string) (*checkpoint.Checkpoint, error) {
	c, err := checkpoint.Open(path)
	if err != nil {
		return nil, err
	}
	if err := budget.TakeFor(budget.Process(), c, "the work on the source's tensors", int64(len(c.Tensors))*foundTensor); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// finding reserves the memory for finding weights.
type finding struct {
	taken int64
	err   error
}

// match is match for as many weights as there is memory for.
func (f *finding) match(match func(string) bool) func(string) bool {
	return func(name string) bool {
		if f.err != nil || !match(name) {
			return false
		}
		f.take("the source's weights", foundWeight)
		return f.err == nil
	}
}

func (f *finding) take(what string, bytes int64) {
	if f.err = budget.Process().Take(what, bytes); f.err == nil {
		f.taken += bytes
	}
}

// end arranges for the memory to be released with the weights, or releases it now if there are
// none.
func (f *finding) end(weights []*quant.Weight) {
	budget.Process().Give(f.taken)
	if f.err == nil && len(weights) > 0 {
		f.err = budget.TakeFor(budget.Process(), weights[0], "the source's weights", f.taken)
	}
}

// charge reserves the memory of a weight, and of its kind's plan.
func (r *repack) charge(w *weight, fresh bool) error {
	bytes := writtenBytes * int64(len(w.views))
	if fresh {
		bytes += plannedBase + plannedMove*int64(w.plan.Cost().Moves)
		if r.verify && w.back == nil { // the way back is as long
			bytes += plannedBase + plannedMove*int64(w.plan.Cost().Moves)
		}
	}
	if r.charged == nil {
		r.charged = budget.Steps(func(bytes int64) error {
			return budget.TakeFor(budget.Process(), r.source, "the plans of weights", bytes)
		})
	}
	return r.charged(bytes)
}

// chargeJSON reserves the memory of a metadata text after decoding.
func chargeJSON(c *checkpoint.Checkpoint, key, text string) error {
	return jsontext.Charge(strings.NewReader(text), budget.Steps(func(bytes int64) error {
		return budget.TakeFor(budget.Process(), c, "the metadata "+key, bytes)
	}))
}
