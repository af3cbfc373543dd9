package cpu_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Rows at the ends of a table, of indices and of a result that each lie between pages
// that nobody may touch.
func TestTakesAtEdgesOfMemory(t *testing.T) { cpu.EachLevel(t, testTakesAtEdges) }

func testTakesAtEdges(t *testing.T) {
	const most = 1 << 20
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	a, b, c := newFence(t, most), newFence(t, most), newFence(t, most)
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 21))
		cpu.StreamFrom(t, []int64{1, 4 << 20}[rng.IntN(2)])
		n, table, size := 1+rng.Int64N(300), 1+rng.Int64N(20), 1+rng.Int64N(150)
		if rng.IntN(4) == 0 {
			size = 64 * (1 + rng.Int64N(20))
		}
		gap := rng.Int64N(3) * rng.Int64N(70)
		to, from, at := a.cut(rng, (n-1)*(size+gap)+size), b.cut(rng, table*size), c.cut(rng, 4*n)
		want, kept := append([]byte{}, to...), append([]byte{}, from...)
		for i := range n {
			index := rng.Int64N(2*table) - table
			for k := range 4 {
				at[4*i+int64(k)] = byte(index >> (8 * k))
			}
			copy(want[i*(size+gap):][:size], from[(index+table)%table*size:])
		}
		operand := func(m []byte, t layout.DType, strides ...int64) device.Operand {
			l, err := layout.Strided([]int64{n, size}, strides, 0)
			if err != nil {
				panic(err) // it is within memory
			}
			return device.Operand{Buffer: cpu.Wrap(m), Layout: l, Type: t}
		}
		require.NoError(t, q.Take(operand(to, layout.Uint8, size+gap, 1), operand(from, layout.Uint8, 0, 1), operand(at, layout.Int32, 1, 0),
			layout.Index{Extent: table, Stride: size}), "seed %d", seed)
		if string(want) != string(to) {
			t.Fatalf("seed %d: %d rows of %d bytes, %d apart", seed, n, size, gap)
		}
		require.True(t, string(kept) == string(from), "seed %d: the source has changed", seed)
	}
}
