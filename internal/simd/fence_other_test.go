//go:build !unix

package simd_test

import "testing"

// fenced returns memory with no fence.
func fenced(_ *testing.T, n int) (first, last []byte) { return make([]byte, n), make([]byte, n) }
