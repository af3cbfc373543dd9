//go:build !windows

package clock

import "time"

var start = time.Now()

// Now reads the clock. Only differences have a meaning.
func Now() time.Duration { return time.Since(start) }
