//go:build !linux

package file

// Boot identifies the time since the system was started; "": unknown.
func Boot() string { return "" }
