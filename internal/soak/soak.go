// Package soak says whether tests run at length, as make soak has them: sweeps of
// more cases, which find what a day's work seldom breaks.
package soak

import "os"

// Enabled reports whether the environment variable RESTRIDE_SOAK is set.
func Enabled() bool { return os.Getenv("RESTRIDE_SOAK") != "" }
