package simd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// Rows begin at any bits, in any order, and end directly before the fence.
func TestAlignRows(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.AlignRows == nil {
			t.Skip("no kernel at this level")
		}
		for _, n := range []int{1, 17, 32, 33, 64, 100} {
			wide := (n + 31) / 32 * 32
			for m := 1; m < 9; m += 3 {
				at := make([]int64, m)
				for i := range at {
					at[i] = int64((m - 1 - i) * (8*n + 9 + i%3))
				}
				src := fenced(t, int(at[0]/8)+wide+1, n%2 == 0)
				step := wide + 7
				got := noise(64 + m*step)
				want := append([]byte{}, got...)
				for i := range at {
					for b := range wide {
						want[i*step+b] = bitsAt(src, int(at[i])+8*b, 8)
					}
				}
				k.AlignRows(&got[0], int64(step), &src[0], &at[0], int64(n), int64(m))
				require.Equal(t, want, got, "%d rows of %d bytes", m, n)
			}
		}
	})
}

// Rows are placed at any bits, and the other bits of their bytes do not change.
func TestPlaceRows(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.PlaceRows == nil {
			t.Skip("no kernel at this level")
		}
		for n := 65; n < 2200; n++ {
			past := n >= 1100 || n%5 == 0
			const m = 16
			bytes := (n + 7) / 8
			step := bytes + 3
			src := noise(1 + m*step)
			at := make([]int64, m)
			for i := range at {
				at[i] = int64(i*5%m)*int64(n+i%3+1) + int64(n%8)
			}
			room := (m*(n+3)+15)/8 + 1
			got := fenced(t, room, n%2 == 0)
			want := append([]byte{}, got...)
			for i := range at {
				for b := range n {
					to := int(at[i]) + b
					want[to/8] = want[to/8]&^(1<<(to%8)) | bitsAt(src[1:], i*step*8+b, 1)<<(to%8)
				}
			}
			k.PlaceRows(&got[0], &at[0], &src[1], int64(step), int64(n), m, past)
			require.Equal(t, want, got, "rows of %d bits", n)
		}
	})
}
