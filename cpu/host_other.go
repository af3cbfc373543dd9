//go:build !linux

package cpu

// hostName returns "": unknown.
func hostName() string { return "" }

// hostMemory returns 0: unknown.
func hostMemory() int64 { return 0 }
