package bench

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/restride/restride/device"
)

// Reading is what the machine did in a pass, as far as it tells: what is missing was
// not told. Sensors are read while dense copies run, the rest is of the whole pass.
type Reading struct {
	MHz       int     `json:"mhz,omitempty"`        // the clock of the device's cores; of processors, the fastest core's
	MemoryMHz int     `json:"memory_mhz,omitempty"` // and of its memory
	Celsius   int     `json:"celsius,omitempty"`
	Watts     float64 `json:"watts,omitempty"`
	// HeldBack says why the device's clocks were lower than they might be. It is empty
	// where nothing held them back.
	HeldBack []string `json:"held_back,omitzero"`
	// Steal is the part of the host's processors' time that other guests of the same
	// machine took, Others what other processes did. (Linux)
	Steal  *float64 `json:"steal,omitempty"`
	Others *float64 `json:"others,omitempty"`
}

// sense reads the device's sensors while it copies: the clocks of an idle one say
// nothing. each is how long a copy takes, in nanoseconds.
func (r *runner) sense(p plain, each float64) error {
	if r.dev.Info().Kind == device.CPU {
		if err := r.senseCPU(p); err != nil {
			return err
		}
	}
	s, ok := r.dev.(device.Sensors)
	if !ok {
		return nil
	}
	s.Readings() // the first may have a library to load, for as long as all the copies take
	const busyFor, mostCopies = 20 * time.Millisecond, 256
	for i := range int(min(max(float64(busyFor)/each, 1), mostCopies)) {
		dst, src := p.turn(i)
		if err := r.q.Copy(Dense(dst), Dense(src)); err != nil {
			return err
		}
	}
	said := s.Readings()
	r.now.MHz, r.now.MemoryMHz, r.now.Celsius, r.now.Watts = said.MHz, said.MemoryMHz, said.Celsius, said.Watts
	r.now.HeldBack = said.HeldBack
	return r.q.Wait()
}

// senseCPU reads the processor's clock. That of cores which do not copy says nothing.
func (r *runner) senseCPU(p plain) error {
	var read atomic.Bool
	copied := make(chan error, 1)
	go func() {
		var err error
		for i := 0; err == nil && !read.Load(); i++ {
			dst, src := p.turn(i)
			err = errors.Join(r.q.Copy(Dense(dst), Dense(src)), r.q.Wait())
		}
		copied <- err
	}()
	const busyFor = 5 * time.Millisecond
	time.Sleep(busyFor)
	if all := clocks(word("/proc/cpuinfo")); len(all) > 0 {
		r.now.MHz = int(slices.Max(all))
	}
	read.Store(true)
	return <-copied
}

// ticks are how long the host's processors did something since it was started, in
// units of Linux's. The zero ticks are of a system that does not tell.
type ticks struct{ all, steal, busy, own float64 }

func ticksNow() ticks { return ticksOf(word("/proc/stat"), word("/proc/self/stat")) }

// ticksOf reads them out of Linux's lines: for all processors user, nice, system,
// idle, iowait, irq, softirq and steal; of a process, after its name, the 12th and 13th
// are user and system.
func ticksOf(stat, self string) ticks {
	first, _, _ := strings.Cut(stat, "\n")
	all := strings.Fields(first)
	own := strings.Fields(self[strings.LastIndex(self, ")")+1:])
	if len(all) < 9 || all[0] != "cpu" || len(own) < 13 {
		return ticks{}
	}
	var bad error
	number := func(text string) float64 {
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			bad = err
		}
		return float64(n)
	}
	t := ticks{steal: number(all[8]), own: number(own[11]) + number(own[12])}
	for i, text := range all[1:9] {
		n := number(text)
		t.all += n
		if i != 3 && i != 4 && i != 7 {
			t.busy += n
		}
	}
	if bad != nil {
		return ticks{}
	}
	return t
}

// without is a begin after which what happened between two moments does not count.
func (t ticks) without(from, to ticks) ticks {
	t.all += to.all - from.all
	t.steal += to.steal - from.steal
	t.busy += to.busy - from.busy
	t.own += to.own - from.own
	return t
}

// fewestTicks are what a percent is to be of.
const fewestTicks = 100

// since sets what follows from the ticks at a pass's begin and now.
func (r *Reading) since(begin, now ticks) {
	all := now.all - begin.all
	if begin.all == 0 || all < fewestTicks {
		return
	}
	part := func(n float64) *float64 {
		p := min(max(n/all, 0), 1)
		return &p
	}
	r.Steal, r.Others = part(now.steal-begin.steal), part(now.busy-begin.busy-(now.own-begin.own))
}

// check reports what no machine does.
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
