package planner

import (
	"fmt"

	"github.com/restride/restride/layout"
)

// ErrRounds: a work-item's loops need more rounds than Target.MostRounds allows.
var ErrRounds = fmt.Errorf("%w: too many rounds", layout.ErrUnsupported)

// checkRounds checks the rounds of those of a work-item's loops whose extents depend on the
// problem. Half of the device's limit is reserved for the other loops, which are short.
func (t Target) checkRounds(rounds int64) error {
	if most := t.MostRounds / 2; most > 0 && rounds > most {
		return fmt.Errorf("%w of loops: %d, of %d that the device is asked for", ErrRounds, rounds, most)
	}
	return nil
}

// HalveReduce returns the axis along which to halve a reducing put that needs too many rounds.
// Queueing one half after the other preserves the order of reductions at each place. It returns -1
// if there is no such axis.
func HalveReduce(dst, src layout.Layout, by []layout.Index) int {
	p := problem{}
	p.walk(src, dst, src.Offset(), dst.Offset(), 8, 1)
	first := -1
	for i, apart := range apart(p.axes, by) {
		if p.axes[i].N < 2 {
			continue
		}
		if !apart {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}
