//go:build !race

package cpu

// RaceEnabled tells whether the race detector watches.
const RaceEnabled = false
