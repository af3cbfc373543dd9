package oracle

import (
	"math/rand/v2"

	"github.com/restride/restride/layout"
)

// Where calls move for each element of dst, whose layout is d, with its position and the
// position of its source: in a, or if other is set in b. cond is the condition's bytes, at c.
func Where(d, a, b, c layout.Layout, cond []byte, move func(p, q int64, other bool)) {
	number := int64(0)
	walk(d, a, func(p, q int64) {
		at := index(d, number)
		number++
		if cond[c.At(at...)] != 0 {
			move(p, q, false)
		} else {
			move(p, b.At(at...), true)
		}
	})
}

// sizeB is Sizes for a where's b.
func (c Case) sizeB() int64 {
	if c.Op != OpWhere {
		return 0
	}
	return slots(c.B, c.DstType)
}

// conditions makes conditions from random bytes, which are hardly ever false: half, most, few
// or all of them true.
func conditions(rng *rand.Rand, cond []byte) {
	share := []float64{0, .1, .5, .5, .9, 1}[rng.IntN(6)]
	for i := range cond {
		if rng.Float64() < share {
			cond[i] = 0
		}
	}
}
