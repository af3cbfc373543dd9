//go:build unix

package simd_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fenced returns memory between pages that nobody may touch: n bytes from the
// first one on, or n bytes up to the last one.
func fenced(t *testing.T, n int) (first, last []byte) {
	page := syscall.Getpagesize()
	inner := (n + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, inner+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(m)) })
	require.NoError(t, syscall.Mprotect(m[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(m[page+inner:], syscall.PROT_NONE))
	return m[page:][:n:n], m[page+inner-n : page+inner : page+inner]
}
