package bench

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/restride/restride/device"
)

// Passes is how often a run comes by everything that it measures. A burst of
// samples agrees with itself and not with the burst of a minute later: what a
// second run finds is said by how far apart the passes are. Six are the fewest
// of which benchstat gives a range.
const Passes = 6

// The least and the most samples of a pass, and how long a batch of calls is,
// which is one sample: long against what it takes to look at the clock.
const (
	fewest   = 3
	most     = 40
	batchFor = time.Millisecond
	longest  = 4096 // calls in a batch
)

// meter times work on a queue.
type meter struct {
	ctx    context.Context
	q      device.Queue  // nil: calls wait by themselves
	clock  bool          // the device's events keep time
	budget time.Duration // of a pass
	fewest int           // samples of it
}

// newMeter looks whether the device keeps time.
func newMeter(ctx context.Context, q device.Queue, budget time.Duration) (*meter, error) {
	m := &meter{ctx: ctx, q: q, clock: true, budget: budget, fewest: fewest}
	_, err := m.batch(1, func(int) error { return nil })
	if errors.Is(err, errNoClock) {
		m.clock, err = false, nil
	}
	return m, err
}

var errNoClock = errors.New("the device keeps no time")

// batch makes n calls, which queue work, and returns how long all of it took.
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
	start := time.Now()
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
	return time.Since(start), nil
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

// series are the samples of one thing, of all passes.
type series struct {
	batch  int // calls of a sample; 0: not known yet
	passes []Timing
}

// pass adds the samples of one.
func (m *meter) pass(s *series, turns int, call func(i int) error) error {
	samples, batch, err := m.sample(s.batch, turns, call)
	if err != nil {
		return err
	}
	s.batch = batch
	s.add(samples)
	return nil
}

// sample takes samples of a call, in nanoseconds, until the time is over, after
// turns calls that warm up, or as many of these as there is as much time for. A sample
// is of batch calls; 0: as many as it takes, which is the second result.
func (m *meter) sample(batch, turns int, call func(i int) error) ([]float64, int, error) {
	next := 0
	run := func(n int) (time.Duration, error) {
		first := next
		next += n
		return m.batch(n, func(i int) error { return call(first + i) })
	}
	if turns > 0 {
		d, err := run(1)
		if rest := min(turns-1, int(m.budget/max(d, 1))); err == nil && rest > 0 {
			_, err = run(rest)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	enough := max(min(batchFor, m.budget), 1)
	for n := 1; batch == 0; { // until a batch is long enough, or long
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
		now = append(now, max(float64(d)/float64(batch), instant)) // clocks are coarse, and no time is none
	}
	return now, batch, nil
}

// add adds the samples of a pass.
func (s *series) add(samples []float64) { s.passes = append(s.passes, newTiming(samples, s.batch)) }

// timing is what the samples say so far.
func (s *series) timing() Timing { return summary(s.passes) }

// byHost is the meter with the host's clock, for calls that wait by themselves.
func (m *meter) byHost() *meter {
	plain := *m
	plain.clock = false
	return &plain
}
