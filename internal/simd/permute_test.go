//go:build unix

package simd_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// Blocks of all sizes that gather from all over, at the ends of memory on either side. Nothing
// but the blocks may change.
func TestPermute(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Permute == nil {
			t.Skip("no kernel at this level")
		}
		const room = 4096
		first, last := fenced(t, room, false), fenced(t, room, true)
		copy(first, noise(room))
		copy(last, noise(room))
		to := fenced(t, room, true)
		terms := map[int64]bool{}
		for seed := range uint64(3000) {
			rng := rand.New(rand.NewPCG(seed, 3))
			near := 1 + rng.Int64N(k.PermuteWidth)
			far := near + rng.Int64N(1+rng.Int64N(1000))
			from := make([]int64, near)
			for i := range from {
				from[i] = rng.Int64N(far)
			}
			for i := range from { // a block's place is where its first byte comes from
				from[near-1-int64(i)] -= from[0]
			}
			var p simd.Permutation
			if !k.PlanPermute(&p, from) {
				continue
			}
			terms[p.Terms()] = true
			lo, hi := from[0], from[0]
			for _, at := range from {
				lo, hi = min(lo, at), max(hi, at)
			}
			n := 1 + rng.Int64N(4)
			dStep, sStep := near+rng.Int64N(2)*rng.Int64N(40), rng.Int64N(100)
			reach, span := (n-1)*dStep+near, (n-1)*sStep+hi+1-lo
			for _, src := range [][]byte{first[:span], last[room-span:]} {
				got := to[room-reach:]
				for i := range got {
					got[i] = byte(i * 11)
				}
				want := append([]byte{}, got...)
				for block := range n {
					for i, at := range from {
						want[block*dStep+int64(i)] = src[block*sStep-lo+at]
					}
				}
				k.Permute(&got[0], &src[-lo], dStep, sStep, n, &p)
				if string(want) != string(got) {
					require.Equal(t, want, got, "seed %d: %d blocks of %v", seed, n, from)
				}
			}
		}
		require.Len(t, terms, 8, "all kernels")
	})
}

// Halves of bytes, at every length, next to inaccessible memory.
func TestPairNibbles(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.PairNibbles == nil {
			t.Skip("no kernel at this level")
		}
		const room = 300
		first, last, low := fenced(t, room, true), fenced(t, room, true), fenced(t, room, true)
		copy(last, noise(room+1))
		for n := k.PairWidth; n <= room; n++ {
			x, y, high := first[room-n:], last[room-n:], make([]byte, n+1)
			k.PairNibbles(&low[room-n], &high[0], &x[0], &y[0], n)
			for i := range n {
				require.Equal(t, x[i]&15|y[i]<<4, low[room-n+i], "%d of %d", i, n)
				require.Equal(t, x[i]>>4|y[i]&^15, high[i], "%d of %d", i, n)
			}
			k.SwapNibbles(&high[0], &x[0], n)
			for i := range n {
				require.Equal(t, x[i]>>4|x[i]<<4, high[i], "%d of %d", i, n)
			}
			require.Zero(t, high[n])
		}
	})
}
