package simd_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/simd"
)

// Rows lie anywhere, in any order, and bytes beyond those of the columns are not
// touched.
func TestTurn(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Place == nil {
			t.Skip("no kernels at this level")
		}
		for log, turns := range k.Turn {
			size := 1 << log
			for _, f := range []struct {
				name  string
				turn  simd.Turn
				width int
				align int
			}{
				{"wide", turns.Wide, int(turns.Width), 1},
				{"stream", turns.Stream, 64, 64},
				{"narrow", turns.Narrow, 16, 1},
			} {
				t.Run(fmt.Sprintf("%d-%s", 8*size, f.name), func(t *testing.T) { testTurn(t, f.turn, size, f.width, f.align) })
			}
		}
	})
}

func testTurn(t *testing.T, turn simd.Turn, size, width, align int) {
	block, least := width/size, 16/size
	for n := least; n < 5*least+2; n++ {
		for _, m := range []int{block, 2 * block} {
			for at := range 3 {
				stride := m*size + 3
				at += 64
				if align > 1 {
					stride, at = (m*size+2*align-1)&^(align-1), 64
				}
				src := noise(m*(n*size+5) + 7)
				tab := make([]int64, m)
				for k := range tab {
					tab[k] = int64((k*7%m)*(n*size+5) + k%5)
				}
				got, want := aligned(64+at+n*stride), aligned(64+at+n*stride)
				for i := range n {
					for k := range m {
						copy(want[at+i*stride+k*size:][:size], src[int(tab[k])+i*size:])
					}
				}
				turn(&got[at], int64(stride), &src[0], &tab[0], int64(m), int64(n))
				require.Equal(t, want, got, "%d rows of %d", m, n)
			}
		}
	}
}

func TestPlace(t *testing.T) {
	each(t, func(t *testing.T, k *simd.Kernels) {
		if k.Place == nil {
			t.Skip("no kernel at this level")
		}
		for run := 1; run < 300; run++ {
			for at := range 64 {
				tab := []int64{int64(at), int64(at + 3*run + 13), int64(at + run + 5)}
				src := noise(3 * (run + 1))
				got, want := aligned(4*run+200), aligned(4*run+200)
				for i, to := range tab {
					copy(want[64+to:][:run], src[i*(run+1):])
				}
				k.Place(&got[64], &tab[0], &src[0], int64(run+1), int64(run), 3)
				require.Equal(t, want, got, "rows of %d at %d", run, at)
			}
		}
	})
}
