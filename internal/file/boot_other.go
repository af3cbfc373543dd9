//go:build !linux

package file

// Boot names the time since the system was started; "": the system does not say.
func Boot() string { return "" }
