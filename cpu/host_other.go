//go:build !linux

package cpu

// hostName returns "": unknown.
func hostName() string { return "" }
