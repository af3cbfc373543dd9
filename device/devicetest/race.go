//go:build race

package devicetest

// raced reports that the race detector is at work, which makes the sweeps ten
// times slower and finds nothing more in them.
const raced = true
