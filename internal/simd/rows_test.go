package simd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

func TestStream(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Stream == nil {
			t.Skip("no kernel at this level")
		}
		src := noise(2000)
		for _, n := range []int{0, 1, 31, 32, 127, 128, 129, 255, 256, 1000, 1500} {
			for at := range 70 {
				for from := range 3 {
					got, want := noise(1700), noise(1700)
					copy(want[at:], src[from:from+n])
					k.Stream(&got[at], &src[from], int64(n))
					require.Equal(t, want, got, "%d bytes from %d to %d", n, from, at)
				}
			}
		}
	})
}
