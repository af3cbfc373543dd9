package simd_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// ahead is the largest prefetch distance of the tests.
const ahead = 5

// places returns offsets of n rows in the given number of bytes, including the first and the
// last place, followed by entries that a kernel may read but not use.
func places(rng *rand.Rand, n, size, room int) []int64 {
	offsets := make([]int64, n+ahead)
	for i := range offsets {
		offsets[i] = rng.Int64N(int64(room-size) + 1)
	}
	offsets[rng.IntN(n)] = 0
	offsets[rng.IntN(n)] = int64(room - size)
	for i := range ahead {
		offsets[n+i] = int64(-1) << (62 - 10*i)
	}
	return offsets
}

// Rows of all sizes from anywhere between inaccessible pages, to rows with guard bytes between
// them.
func TestTake(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Take == nil {
			t.Skip("no kernel at this level")
		}
		rng := rand.New(rand.NewPCG(1, 1))
		var sizes []int
		for size := 1; size <= 200; size++ {
			sizes = append(sizes, size)
		}
		for _, size := range append(sizes, 255, 256, 257, 1000, 1024) {
			src := fenced(t, 4*size+rng.IntN(100), size%2 == 0)
			for n := 1; n <= 11; n++ {
				step := size + rng.IntN(9)*(n%3)
				dst := fenced(t, (n-1)*step+size, n%2 == 0)
				want := append([]byte{}, dst...)
				offsets := places(rng, n, size, len(src))
				for i, at := range offsets[:n] {
					copy(want[i*step:][:size], src[at:])
				}
				k.Take(&dst[0], &src[0], &offsets[0], int64(step), int64(size), int64(n), int64(n%(ahead+1)), false)
				require.Equal(t, want, dst, "%d rows of %d bytes", n, size)
			}
		}
		got := noise(100)
		k.Take(&got[0], &got[50], new(int64), 8, 8, 0, 0, false)
		require.Equal(t, noise(100), got, "no rows")
	})
}

func TestTakePastCaches(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Take == nil {
			t.Skip("no kernel at this level")
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for _, size := range []int{64, 128, 192, 256, 1024} {
			src := fenced(t, 5*size+13, true)
			for n := 1; n <= 9; n++ {
				step := size + 64*(n%3)
				dst := fenced(t, (n-1)*step+size, true)
				require.Zero(t, len(dst)%64)
				want := append([]byte{}, dst...)
				offsets := places(rng, n, size, len(src))
				for i, at := range offsets[:n] {
					copy(want[i*step:][:size], src[at:])
				}
				k.Take(&dst[0], &src[0], &offsets[0], int64(step), int64(size), int64(n), int64(n%ahead), true)
				require.Equal(t, want, dst, "%d rows of %d bytes", n, size)
			}
		}
	})
}

// Indices at the ends of every extent that kernels accept, and one beyond these.
func TestOffsets(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Offsets64 == nil {
			t.Skip("no kernel at this level")
		}
		rng := rand.New(rand.NewPCG(1, 3))
		for _, bits := range []int{32, 64} {
			kernel := map[int]func(to *int64, at *byte, n, extent, stride int64) int64{32: k.Offsets32, 64: k.Offsets64}[bits]
			for _, extent := range []int64{1, 2, 7, 1 << 20, math.MaxInt32} {
				for _, stride := range []int64{0, 1, 4096, math.MaxInt32, -1, -math.MaxInt32} {
					for n := 0; n <= 40; n += 8 {
						for _, wrong := range []int64{0, extent, -extent - 1, math.MinInt32, math.MaxInt32, math.MinInt64, math.MaxInt64, 1 << 32, -1 << 32} {
							inRange := wrong >= -extent && wrong < extent
							if n == 0 && !inRange || bits == 32 && int64(int32(wrong)) != wrong {
								continue
							}
							name := fmt.Sprintf("%d of %d bits in %d by %d, and %d", n, bits, extent, stride, wrong)
							checkOffsets(t, rng, kernel, bits, n, extent, stride, wrong, inRange, name)
						}
					}
				}
			}
		}
	})
}

func checkOffsets(t *testing.T, rng *rand.Rand, kernel func(to *int64, at *byte, n, extent, stride int64) int64, bits, n int, extent, stride, wrong int64, inRange bool, name string) {
	at, to, want := make([]byte, 0, n*bits/8+1), make([]int64, n+1), make([]int64, n+1)
	bad := rng.IntN(max(n, 1))
	for i := range n {
		index := []int64{-extent, -1, 0, extent - 1, rng.Int64N(2*extent) - extent}[rng.IntN(5)]
		if i == bad {
			index = wrong
		}
		if bits == 32 {
			at = binary.LittleEndian.AppendUint32(at, uint32(index))
		} else {
			at = binary.LittleEndian.AppendUint64(at, uint64(index))
		}
		if index < 0 {
			index += extent
		}
		to[i] = rng.Int64N(1000)
		want[i] = to[i] + index*stride
	}
	got := kernel(&to[0], &at[:1][0], int64(n), extent, stride)
	if inRange {
		require.Zero(t, got, name)
		require.Equal(t, want, to, name)
	} else {
		require.NotZero(t, got, name)
		require.Zero(t, to[n], name)
	}
}

// Prefetched addresses need not be memory: they are not read.
func TestFetch(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Fetch == nil {
			t.Skip("no kernel at this level")
		}
		b := fenced(t, 100, true)
		for _, size := range []int64{-5, 0, 1, 64, 100, 1 << 20} {
			k.Fetch(&b[0], 4*size, size)
		}
	})
}
