package cpu_test

import (
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
