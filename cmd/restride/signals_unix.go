//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// endings are the signals that end a run as an interrupt does: peers are in their own process
// groups, and nothing else would end them. A hangup that nohup ignores stays ignored.
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}
