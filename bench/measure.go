package bench

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/restride/restride/device"
)

// The least and the most samples of a measurement, and how long a batch of calls
// is, which is one sample: long against what it takes to look at the clock.
const (
	fewest   = 9
	most     = 201
	batchFor = time.Millisecond
	longest  = 4096 // calls in a batch
)

// meter times work on a queue.
type meter struct {
	ctx    context.Context
	q      device.Queue
	clock  bool // the device's events keep time
	budget time.Duration
}

// newMeter looks whether the device keeps time.
func newMeter(ctx context.Context, q device.Queue, budget time.Duration) (*meter, error) {
	m := &meter{ctx: ctx, q: q, clock: true, budget: budget}
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
	if err := m.q.Wait(); err != nil {
		return 0, err
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

// measure returns how long a call takes: after turns calls that warm up, batches
// until the time is over.
func (m *meter) measure(turns int, call func(i int) error) (Timing, error) {
	if _, err := m.batch(turns, call); err != nil {
		return Timing{}, err
	}
	next := turns
	sample := func(n int) (time.Duration, error) {
		first := next
		next += n
		return m.batch(n, func(i int) error { return call(first + i) })
	}
	n, enough := 1, max(min(batchFor, m.budget), 1)
	for { // until a batch is long enough, or long
		d, err := sample(n)
		if err != nil {
			return Timing{}, err
		}
		if d >= enough*9/10 || n == longest {
			break
		}
		n = min(longest, max(n+1, int(math.Ceil(float64(n)*float64(enough)/float64(max(d, 1))))), 16*n)
	}
	var samples []float64
	for start := time.Now(); len(samples) < fewest || len(samples) < most && time.Since(start) < m.budget; {
		d, err := sample(n)
		if err != nil {
			return Timing{}, err
		}
		samples = append(samples, max(float64(d)/float64(n), 1e-3)) // clocks are coarse, and no time is none
	}
	return newTiming(samples, n), nil
}

// hostTime is measure for calls that wait by themselves, by the host's clock.
func (m *meter) hostTime(turns int, call func(i int) error) (Timing, error) {
	plain := *m
	plain.clock = false
	return plain.measure(turns, call)
}
