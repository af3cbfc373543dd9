package simd_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fenced returns n bytes of noise between inaccessible pages: directly behind the first, or
// directly before the second.
func fenced(t *testing.T, n int, atEnd bool) []byte {
	page := os.Getpagesize()
	size := (n + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(m)) })
	require.NoError(t, syscall.Mprotect(m[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(m[page+size:], syscall.PROT_NONE))
	b := m[page : page+n : page+n]
	if atEnd {
		b = m[page+size-n : page+size : page+size]
	}
	copy(b, noise(n))
	return b
}
