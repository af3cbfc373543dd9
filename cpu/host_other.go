//go:build !linux

package cpu

// hostName returns "": without a system call per system, nobody tells.
func hostName() string { return "" }

// hostMemory returns 0: unknown.
func hostMemory() int64 { return 0 }
