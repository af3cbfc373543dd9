// Package race says whether the race detector is on: tests do less under it.
package race
