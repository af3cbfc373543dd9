package simd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// conditions returns n conditions between inaccessible pages: zeros, and bytes with one bit and
// with several.
func conditions(t *testing.T, n int, atEnd bool) []byte {
	c := fenced(t, n, atEnd)
	for i, x := range c {
		switch x % 4 {
		case 0, 1:
			c[i] = 0
		case 2:
			c[i] = 1 << (x / 4 % 8)
		}
	}
	return c
}

func TestBlend(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		for log, blend := range k.Blend {
			if blend == nil {
				t.Skip("no kernel at this level")
			}
			size := 1 << log
			for lines := range 5 {
				n := max(64*lines, 1)
				for _, atEnd := range []bool{false, true} {
					cond := conditions(t, max(n/size, 1), atEnd)
					a, b := fenced(t, n, atEnd), fenced(t, n, atEnd)
					for i := range b {
						b[i] ^= 0x5a // the noise of a
					}
					for at := range 9 {
						past := at == 8
						got, start := room(64*lines, 7*at, past)
						want := append([]byte{}, got...)
						for i := range 64 * lines {
							want[start+i] = b[i]
							if cond[i/size] != 0 {
								want[start+i] = a[i]
							}
						}
						blend(&got[start], &a[0], &b[0], &cond[0], int64(lines), past)
						if past && k.Fence != nil {
							k.Fence()
						}
						require.Equal(t, want, got, "%d lines of %d bytes an element, to byte %d, past the caches: %v", lines, size, start, past)
					}
				}
			}
		}
	})
}

func TestBlendInPlace(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		for log, blend := range k.Blend {
			if blend == nil {
				t.Skip("no kernel at this level")
			}
			const n = 256
			cond := conditions(t, n>>log, true)
			for _, inA := range []bool{true, false} {
				dst, other := fenced(t, n, true), aligned(n)
				for i := range other {
					other[i] ^= 0x5a
				}
				want := append([]byte{}, dst...)
				a, b := dst, other
				if !inA {
					a, b = other, dst
				}
				for i := range want {
					if (cond[i>>log] != 0) != inA {
						want[i] = other[i]
					}
				}
				blend(&dst[0], &a[0], &b[0], &cond[0], n/64, false)
				require.Equal(t, want, dst, "%d bytes an element, in the place of a: %v", 1<<log, inA)
			}
		}
	})
}
