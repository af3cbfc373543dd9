//go:build !linux

package simd_test

import "testing"

// fenced returns n bytes of noise.
func fenced(_ *testing.T, n int, _ bool) []byte { return noise(n) }
