//go:build !unix

package main

import "os"

// endings are the signals that end a run.
func endings() []os.Signal { return []os.Signal{os.Interrupt} }
