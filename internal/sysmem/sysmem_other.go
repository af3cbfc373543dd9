//go:build !linux && !windows && !darwin

package sysmem

func read() figures { return figures{} }
