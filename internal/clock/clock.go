// Package clock reads a clock that is fine enough to time single calls. Go's own is, except on
// Windows, where it advances by half a millisecond and more.
package clock

import "time"

// Since returns the time from an earlier reading of Now.
func Since(earlier time.Duration) time.Duration { return Now() - earlier }

// Tick returns the least step of the clock that it finds within 20 ms; at least 1 ns.
func Tick() time.Duration {
	least := 20 * time.Millisecond
	for began := Now(); Since(began) < 20*time.Millisecond && least > time.Microsecond; {
		from := Now()
		to := Now()
		for to == from {
			to = Now()
		}
		least = min(least, to-from)
	}
	return max(least, 1)
}
