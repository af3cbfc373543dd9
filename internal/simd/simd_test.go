package simd_test

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// each runs a test at every level of this processor, whichever is the best.
func each(t *testing.T, test func(*testing.T, *simd.Kernels)) {
	for _, l := range simd.Levels() {
		t.Run(l.String(), func(t *testing.T) { test(t, simd.Of(l)) })
	}
}

// noise returns n random bytes, the same for the same n.
func noise(n int) []byte {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func TestBest(t *testing.T) {
	t.Setenv(simd.Variable, "")
	k, err := simd.Best()
	require.NoError(t, err)
	levels := simd.Levels()
	require.Equal(t, levels[len(levels)-1], k.Level)
	t.Setenv(simd.Variable, "go")
	k, err = simd.Best()
	require.NoError(t, err)
	require.Equal(t, simd.None, k.Level)
	t.Setenv(simd.Variable, "avx9")
	k, err = simd.Best()
	require.ErrorContains(t, err, `RESTRIDE_SIMD="avx9"`)
	require.Equal(t, levels[len(levels)-1], k.Level)
}

// aligned returns n random bytes that start on a line of the caches.
func aligned(n int) []byte {
	b := make([]byte, n+63)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & 63
	b = b[skip : skip+n : skip+n]
	copy(b, noise(n))
	return b
}
