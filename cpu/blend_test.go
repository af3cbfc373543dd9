package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// A choice of elements that fill Go memory to its end made a pointer behind it, which the
// race detector's check of pointers refuses.
func TestBugWhereBehindTheEndOfMemory(t *testing.T) {
	dev, err := cpu.Open()
	require.NoError(t, err)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	defer q.Close()
	const n = 16 // a size of Go's allocator, as is twice that
	for _, of := range []layout.DType{layout.Uint8, layout.Uint16} {
		l, err := layout.Contiguous(n)
		require.NoError(t, err)
		operand := func(of layout.DType, b byte) (device.Operand, []byte) {
			raw := make([]byte, n*of.Bits()/8)
			for i := range raw {
				raw[i] = b
			}
			return device.Operand{Buffer: cpu.Wrap(raw), Layout: l, Type: of}, raw
		}
		dst, got := operand(of, 0)
		cond, _ := operand(layout.Bool, 1)
		a, want := operand(of, 7)
		b, _ := operand(of, 9)
		require.NoError(t, q.Where(dst, cond, a, b))
		require.Equal(t, want, got)
	}
}

// Rows of whole pieces and less, from elements anywhere in a line, through the caches and
// past them, with sides that are dense, that have gaps, and that repeat an element.
func TestWhereRows(t *testing.T) { cpu.EachLevel(t, testWhereRows) }

func testWhereRows(t *testing.T) {
	cpu.StreamFrom(t, 16<<10)
	dev, err := cpu.Open()
	require.NoError(t, err)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	defer q.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	operand := func(of layout.DType, n, step, offset int64) (device.Operand, []byte) {
		raw := make([]byte, ((n+offset)*max(step, 1)+1)*int64(of.Bits())/8)
		for i := range raw {
			raw[i] = byte(rng.Uint32())
			if of == layout.Bool && i%3 > 0 {
				raw[i] = 0
			}
		}
		l, err := layout.Strided([]int64{n}, []int64{step}, offset)
		require.NoError(t, err)
		return device.Operand{Buffer: cpu.Wrap(raw), Layout: l, Type: of}, raw
	}
	for _, of := range []layout.DType{layout.Uint8, layout.Float16, layout.Float32, layout.Int64, layout.Complex128} {
		size := int64(of.Bits() / 8)
		for _, n := range []int64{1, 65, 500, 4100, 20001} {
			for _, steps := range [][4]int64{{1, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 0, 0, 2}, {2, 1, 0, 1}, {1, 3, 2, 1}} {
				dst, got := operand(of, n, steps[0], rng.Int64N(70))
				a, as := operand(of, n, steps[1], rng.Int64N(70))
				b, bs := operand(of, n, steps[2], rng.Int64N(70))
				cond, conds := operand(layout.Bool, n, steps[3], rng.Int64N(70))
				want := append([]byte{}, got...)
				for i := range n {
					src, at := bs, b.Layout.Offset()+i*steps[2]
					if conds[cond.Layout.Offset()+i*steps[3]] != 0 {
						src, at = as, a.Layout.Offset()+i*steps[1]
					}
					copy(want[(dst.Layout.Offset()+i*steps[0])*size:][:size], src[at*size:])
				}
				require.NoError(t, q.Where(dst, cond, a, b))
				// Not Equal, which would print them.
				require.True(t, string(want) == string(got), fmt.Sprintf("%v: %v or %v by %v", dst, a, b, cond))
			}
		}
	}
}
