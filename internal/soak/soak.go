// Package soak says whether tests run at length, as in make soak: sweeps of more cases, which
// find rare errors.
package soak

import "os"

// Enabled reports whether the environment variable RESTRIDE_SOAK is set.
func Enabled() bool { return os.Getenv("RESTRIDE_SOAK") != "" }
