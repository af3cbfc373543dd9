package simd_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// Rows lie in any order, up to the fence, and bytes beyond the columns do not change.
func TestPacked(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		for width, kernels := range map[int]simd.Packer{2: k.Packed2, 4: k.Packed4} {
			for _, f := range []struct {
				name      string
				transpose simd.StreamFunc
				width     int
				align     int
				ns        []int
			}{
				{"wide", kernels.Wide, int(kernels.Width), 1, []int{16, 17, 31, 32, 50}},
				{"narrow", kernels.Narrow, 16, 1, []int{16, 17, 31, 32, 50}},
				{"stream", kernels.Stream, 64, 64, []int{16, 17, 31, 32, 150}},
				{"staged", kernels.Staged, 64, 64, []int{64, 65, 100, 128, 150}},
			} {
				t.Run(fmt.Sprintf("%d-%s", width, f.name), func(t *testing.T) {
					if f.transpose == nil {
						t.Skip("no kernel at this level")
					}
					for _, n := range f.ns {
						for blocks := 1; blocks < 3; blocks++ {
							testPacked(t, f.transpose, width, f.width, f.align, n, blocks)
						}
					}
				})
			}
		}
	})
}

func testPacked(t *testing.T, transpose simd.StreamFunc, width, unit, align, n, blocks int) {
	per := 8 / width
	m := blocks * unit * per
	stride := (m/per + 3 + align - 1) / align * align
	const room = 128 << 10
	src := fenced(t, room, n%2 == 0)
	bytes := (m-1)*(n+1) + n
	if n%2 == 0 {
		src = src[room-bytes:]
	}
	tab := make([]int64, m)
	for k := range tab {
		tab[k] = int64(k * 7 % m * (n + 1))
	}
	got, want := aligned(128+n*per*stride), aligned(128+n*per*stride)
	for i := range n * per {
		for k := range m {
			v := src[int(tab[k])+i/per] >> (i % per * width) & (1<<width - 1)
			b := &want[64+i*stride+k/per]
			*b = *b&^((1<<width-1)<<(k%per*width)) | v<<(k%per*width)
		}
	}
	work := aligned(simd.PackedWork)
	transpose(&got[64], int64(stride), &src[0], &tab[0], int64(m), int64(n), &src[0], &tab[0], &work[0])
	require.Equal(t, want, got, "%d rows of %d", m, n)
	transpose(&got[64], int64(stride), &src[0], &tab[0], int64(m), int64(n), nil, nil, &work[0])
	require.Equal(t, want, got, "%d rows of %d, without fetching", m, n)
}
