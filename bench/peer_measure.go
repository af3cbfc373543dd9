package bench

import (
	"math"
	"time"
)

// How peers are timed: the same for those in Go, here, and in Python, in
// peers/common.py.
const peerSamples = 9 // at least

// footprint is the size, on a processor, from which on caches hold little of what
// takes turns.
const footprint = 256 << 20

// Turns is how many pairs of buffers of so many bytes take turns on a processor, so
// that caches hold little of them: of ours, and of others.
func Turns(bytes int64) int { return turns(bytes, footprint) }

func turns(bytes, footprint int64) int { return int(min(max(footprint/max(bytes, 1), 2), 256)) }

// Measure times calls of a library that wait by themselves: turns of them warm up,
// and i is the number of the call. Samples are taken until the time is over, with
// calls of memcpy between them, if there is one: its median time is the second
// result.
func Measure(budget time.Duration, turns int, call func(i int) error, memcpy func(i int)) (Timing, float64, error) {
	next := 0
	var copies []float64
	beside := func() {
		if memcpy != nil {
			start := time.Now()
			memcpy(len(copies))
			copies = append(copies, max(float64(time.Since(start)), 1))
		}
	}
	sample := func(n int) (float64, error) {
		start := time.Now()
		for range n {
			if err := call(next); err != nil {
				return 0, err
			}
			next++
		}
		return max(float64(time.Since(start)), 1), nil
	}
	if _, err := sample(turns); err != nil {
		return Timing{}, 0, err
	}
	n, enough := 1, float64(max(min(time.Millisecond, budget), 1))
	for { // until a batch is long enough, or long
		took, err := sample(n)
		if err != nil {
			return Timing{}, 0, err
		}
		if took >= .9*enough || n == 4096 {
			break
		}
		n = min(4096, max(n+1, int(math.Ceil(float64(n)*enough/took))), 16*n)
	}
	var samples []float64
	beside()
	since := 0.
	for start := time.Now(); len(samples) < peerSamples || len(samples) < 201 && time.Since(start) < budget; {
		took, err := sample(n)
		if err != nil {
			return Timing{}, 0, err
		}
		samples = append(samples, took/float64(n))
		if since += took; memcpy != nil && since >= copies[len(copies)-1] {
			beside()
			since = 0
		}
	}
	beside()
	if memcpy == nil {
		return newTiming(samples, n), 0, nil
	}
	return newTiming(samples, n), newTiming(copies, 1).Median, nil
}
