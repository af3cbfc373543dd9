package bench

import (
	"context"
	"time"
)

// How peers in Go are timed, in a process of their own. Those in Python do the same:
// see peers/peer.py.

// slow is a call of which there is no time for many: a pass has two samples. It is
// also the longest that calls warm up.
const slow = 300 * time.Millisecond

// Measure takes the samples of a pass, in nanoseconds a call, of a library whose
// calls wait by themselves: turns of them warm up, and i is the number of the call.
// A sample is of batch calls; 0: as many as it takes, which is the second result.
func Measure(budget time.Duration, batch, turns int, call func(i int) error) ([]float64, int, error) {
	m := &meter{ctx: context.Background(), budget: budget, fewest: fewest}
	calls := 0
	for start := time.Now(); calls < turns && time.Since(start) < slow; calls++ {
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
