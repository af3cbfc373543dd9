package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/report"
	"github.com/restride/restride/internal/clock"
)

// Passes is the number of measurements of every figure in a run. Passes differ like two runs,
// which samples of one burst do not. Six are the fewest for which benchstat gives a range.
const Passes = 6

const (
	fewest   = 3                // samples of a pass
	most     = 40               // samples of a pass
	batchFor = time.Millisecond // of a batch, which is a sample: long compared with reading the clock
	steps    = 100              // of the host's clock in a batch, at least
	longest  = 4096             // calls in a batch
	instant  = 1e-3             // nanoseconds, the least time that reports accept
)

// meter times work on a queue.
type meter struct {
	ctx    context.Context
	q      device.Queue  // nil: calls wait themselves
	clock  bool          // by the device's events; false: the host's
	budget time.Duration // of a pass
	fewest int           // samples of it
}

// tick is the step of the host's clock.
var tick = sync.OnceValue(clock.Tick)

// newMeter finds out whether the device measures time.
func newMeter(ctx context.Context, q device.Queue, budget time.Duration) (*meter, error) {
	if tick() > time.Millisecond {
		return nil, fmt.Errorf("the system's clock advances by %v at a time: that is too much to measure by", tick())
	}
	m := &meter{ctx: ctx, q: q, clock: true, budget: budget, fewest: fewest}
	_, err := m.batch(1, func(int) error { return nil })
	if errors.Is(err, errNoClock) {
		m.clock, err = false, nil
	}
	return m, err
}

var errNoClock = errors.New("the device keeps no time")

// batch makes n calls, which queue work, and returns their total time.
func (m *meter) batch(n int, call func(i int) error) (time.Duration, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	if m.clock {
		return m.onDevice(n, call)
	}
	return m.onHost(n, call)
}

func (m *meter) onHost(n int, call func(i int) error) (time.Duration, error) {
	start := clock.Now()
	for i := range n {
		if err := call(i); err != nil {
			return 0, err
		}
	}
	if m.q != nil {
		if err := m.q.Wait(); err != nil {
			return 0, err
		}
	}
	return clock.Since(start), nil
}

func (m *meter) onDevice(n int, call func(i int) error) (time.Duration, error) {
	from, err := m.q.Record()
	if err != nil {
		return 0, err
	}
	for i := range n {
		if err := call(i); err != nil {
			return 0, err
		}
	}
	to, err := m.q.Record()
	if err != nil {
		return 0, err
	}
	if err := errors.Join(m.q.Wait(), from.Wait(), to.Wait()); err != nil {
		return 0, err
	}
	timed, ok := to.(device.TimedEvent)
	if !ok {
		return 0, errNoClock
	}
	d, err := timed.Since(from)
	if errors.Is(err, device.ErrUnsupported) {
		return 0, errNoClock
	}
	return d, err
}

// series are the passes of one figure.
type series struct {
	batch  int // calls of a sample; 0: not known yet
	passes []report.Timing
}

// add adds the samples of a pass.
func (s *series) add(samples []float64) {
	s.passes = append(s.passes, report.NewTiming(samples, s.batch))
}

// timing is the timing of all passes so far.
func (s *series) timing() report.Timing { return report.Summary(s.passes) }

// pass adds a pass.
func (m *meter) pass(s *series, rotation int, call func(i int) error) error {
	samples, batch, err := m.sample(s.batch, rotation, call)
	if err != nil {
		return err
	}
	s.batch = batch
	s.add(samples)
	return nil
}

// sample takes samples of a call, in nanoseconds, for the time budget. Before, calls warm
// up: one for each set of buffers, within the same budget. A sample is of batch calls; 0:
// of as many as fill batchFor, which is the second result.
func (m *meter) sample(batch, rotation int, call func(i int) error) ([]float64, int, error) {
	next := 0
	run := func(n int) (time.Duration, error) {
		first := next
		next += n
		return m.batch(n, func(i int) error { return call(first + i) })
	}
	if rotation > 0 {
		d, err := run(1)
		if rest := min(rotation-1, int(m.budget/max(d, 1))); err == nil && rest > 0 {
			_, err = run(rest)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	enough := max(min(batchFor, m.budget), steps*tick(), 1)
	for n := 1; batch == 0; { // until a batch is long enough, or has the most calls
		d, err := run(n)
		if err != nil {
			return nil, 0, err
		}
		if d >= enough*9/10 || n == longest {
			batch = n
		}
		n = min(longest, max(n+1, int(math.Ceil(float64(n)*float64(enough)/float64(max(d, 1))))), 16*n)
	}
	var now []float64
	for start := time.Now(); len(now) < m.fewest || len(now) < most && time.Since(start) < m.budget; {
		d, err := run(batch)
		if err != nil {
			return nil, 0, err
		}
		now = append(now, max(float64(d)/float64(batch), instant)) // clocks are coarse
	}
	return now, batch, nil
}

// byHost is the meter with the host's clock, for calls that wait themselves.
func (m *meter) byHost() *meter {
	plain := *m
	plain.clock = false
	return &plain
}

// slow is the time of a call from which on a pass has two samples, and the limit of the
// warm-up.
const slow = 300 * time.Millisecond

// Measure takes the samples of a pass, in nanoseconds a call, for peers in Go (those in
// Python do the same: see peers/peer.py). A call, the i-th, returns when its work is done;
// one for each set of buffers warms up. A sample is of batch calls; 0: of as many as fill
// a millisecond, which is the second result.
func Measure(budget time.Duration, batch, rotation int, call func(i int) error) ([]float64, int, error) {
	m := &meter{ctx: context.Background(), budget: budget, fewest: fewest}
	calls := 0
	for start := time.Now(); calls < rotation && time.Since(start) < slow; calls++ {
		took, err := m.onHost(1, func(int) error { return call(calls) })
		if err != nil {
			return nil, 0, err
		}
		if calls == 0 && took > slow {
			m.fewest = 2
		}
	}
	return m.sample(batch, 0, func(i int) error { return call(calls + i) })
}
