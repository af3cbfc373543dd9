package planner

import (
	"fmt"

	"github.com/restride/restride/layout"
)

// ErrRounds: a work-item's loops would go round more often than Target.MostRounds allows.
var ErrRounds = fmt.Errorf("%w: too many rounds", layout.ErrUnsupported)

// checkRounds checks how often the loops of a work-item go round whose extents are the
// problem's. Half of what the device does is left for the others, which are short.
func (t Target) checkRounds(rounds int64) error {
	if most := t.MostRounds / 2; most > 0 && rounds > most {
		return fmt.Errorf("%w of loops: %d, of %d that the device is asked for", ErrRounds, rounds, most)
	}
	return nil
}

// HalveReduce returns the axis on which a put that reduces, and is of too many rounds, is to
// be cut into halves, of which one is queued after the other: the order of what goes to one
// place remains. It returns -1 if there is none.
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
