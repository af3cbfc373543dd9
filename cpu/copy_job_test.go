package cpu

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
)

// Machines that read words at any address never need narrow: try it here.
func TestNarrow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	src, err := layout.Strided(layout.Shape{5, 6, 7}, []int64{-42, 1, 6}, 4*42)
	require.NoError(t, err)
	dst, err := layout.Strided(layout.Shape{5, 6, 7}, []int64{50, 8, 1}, 3)
	require.NoError(t, err)
	for _, limit := range []int{8, 16, 32} {
		from, want, got := make([]byte, 4000), make([]byte, 4000), make([]byte, 4000)
		for i := range from {
			from[i] = byte(rng.Uint32())
		}
		d, s := dst, src
		layout.Simplify(&d, &s)
		execute(unsafe.Pointer(&want[0]), unsafe.Pointer(&from[0]), &d, &s, 64, false)
		d, s, bits := narrow(d, s, 64, limit)
		require.Equal(t, limit, bits)
		execute(unsafe.Pointer(&got[0]), unsafe.Pointer(&from[0]), &d, &s, bits, false)
		require.Equal(t, want, got)
	}
}
