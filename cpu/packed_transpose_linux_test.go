package cpu_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// packedTranspose makes a transpose of elements of 2 or 4 bits: matrices whose extents and
// pitches are near those that vectors, bytes and lines are made of.
func packedTranspose(t *testing.T, rng *rand.Rand) oracle.Case {
	typ := []layout.DType{layout.Uint2, layout.Uint4}[rng.IntN(2)]
	around := func(most int64) int64 {
		n := 16 + rng.Int64N(most)
		if rng.IntN(2) == 0 {
			n = max(16, n&^31+rng.Int64N(3)*int64(rng.IntN(2)))
		}
		return n
	}
	dims := []int64{1 + rng.Int64N(3)*int64(rng.IntN(2)), around(400), around(1200)}
	strides := func(outer, inner int) []int64 {
		pitch := dims[inner]
		switch rng.IntN(4) {
		case 0:
			pitch += rng.Int64N(6)
		case 1:
			pitch = (pitch + 127) &^ 127
		case 2:
			pitch = (pitch + 255) &^ 255
		}
		s := make([]int64, 3)
		s[inner], s[outer] = 1, pitch
		s[0] = pitch*dims[outer] + 2*rng.Int64N(3)
		return s
	}
	side := func(s []int64) layout.Layout {
		offset := []int64{0, 0, 4, 128, rng.Int64N(9)}[rng.IntN(5)]
		for i := range s {
			if rng.IntN(8) == 0 {
				offset += (dims[i] - 1) * s[i]
				s[i] = -s[i]
			}
		}
		l, err := layout.Strided(dims, s, offset)
		require.NoError(t, err)
		return l
	}
	return oracle.Case{Op: oracle.OpCopy, DstType: typ, SrcType: typ, Dst: side(strides(1, 2)), Src: side(strides(2, 1))}
}
