package report

import (
	"fmt"
	"slices"
)

// Reading is the state of the machine in a pass, as far as it reports it. Sensors are read
// while dense copies run; the rest covers the whole pass.
type Reading struct {
	MHz       int     `json:"mhz,omitempty"`        // the clock of the device's cores; of processors, the fastest core's
	MemoryMHz int     `json:"memory_mhz,omitempty"` // and of its memory
	Celsius   int     `json:"celsius,omitempty"`
	Watts     float64 `json:"watts,omitempty"`
	// HeldBack are the reasons why the device's clocks were lower than possible: empty, not
	// nil, if there was none.
	HeldBack []string `json:"held_back,omitzero"`
	// Steal and Others are the parts of the host processors' time that other guests of
	// the machine and other processes took. (Linux)
	Steal  *float64 `json:"steal,omitempty"`
	Others *float64 `json:"others,omitempty"`
}

// check returns the reason why a reading is impossible.
func (r *Reading) check() error {
	switch {
	case r.MHz < 0 || r.MemoryMHz < 0 || r.Celsius < 0 || bad(r.Watts):
		return fmt.Errorf("%d and %d MHz, %d °C, %v W: none may be negative", r.MHz, r.MemoryMHz, r.Celsius, r.Watts)
	case r.Steal != nil && !(*r.Steal >= 0 && *r.Steal <= 1) || r.Others != nil && !(*r.Others >= 0 && *r.Others <= 1):
		return fmt.Errorf("others took %v and %v of the processors: want parts of 1", deref(r.Steal), deref(r.Others))
	case slices.Contains(r.HeldBack, ""):
		return fmt.Errorf("it was held back by %q", r.HeldBack)
	}
	return checkTexts(r.HeldBack...)
}

func deref(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}
