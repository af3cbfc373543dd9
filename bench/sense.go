package bench

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/report"
)

// sense reads the device's sensors while it copies, since an idle device's clocks are
// meaningless. each is the time of a copy, in nanoseconds.
func (r *runner) sense(p plain, each float64) error {
	if r.dev.Info().Kind == device.CPU {
		if err := r.senseCPU(p); err != nil {
			return err
		}
	}
	s, ok := device.As[device.Sensors](r.dev)
	if !ok {
		return nil
	}
	s.Readings() // the first may load a library, for longer than all the copies
	const busyFor, mostCopies = 20 * time.Millisecond, 256
	for i := range int(min(max(float64(busyFor)/each, 1), mostCopies)) {
		dst, src := p.pair(i)
		if err := r.q.Copy(dense(dst), dense(src)); err != nil {
			return err
		}
	}
	said := s.Readings()
	r.now.MHz, r.now.MemoryMHz, r.now.Celsius, r.now.Watts = said.MHz, said.MemoryMHz, said.Celsius, said.Watts
	r.now.HeldBack = said.HeldBack
	return r.q.Wait()
}

// senseCPU reads the processor's clock while cores copy.
func (r *runner) senseCPU(p plain) error {
	var read atomic.Bool
	copied := make(chan error, 1)
	go func() {
		var err error
		for i := 0; err == nil && !read.Load(); i++ {
			dst, src := p.pair(i)
			err = errors.Join(r.q.Copy(dense(dst), dense(src)), r.q.Wait())
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

// ticks are times of the host's processors since its start, in Linux's unit. Systems that do
// not report them have zero ticks.
type ticks struct{ all, steal, busy, own float64 }

func ticksNow() ticks { return ticksOf(word("/proc/stat"), word("/proc/self/stat")) }

// ticksOf parses Linux's lines: of all processors user, nice, system, idle, iowait, irq,
// softirq and steal; of a process, user and system are the 12th and 13th after its name.
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

// without moves the begin so that the time between two moments does not count.
func (t ticks) without(from, to ticks) ticks {
	t.all += to.all - from.all
	t.steal += to.steal - from.steal
	t.busy += to.busy - from.busy
	t.own += to.own - from.own
	return t
}

// fewestTicks are enough for percentages.
const fewestTicks = 100

// since sets a pass's Steal and Others from the ticks at its begin and now.
func since(r *report.Reading, begin, now ticks) {
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
