package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// A copy of even nibbles of a buffer to odd ones, in another order: workers read
// bytes that others were writing, as the race detector sees.
func TestBugWorkersReadBytesThatOthersWrite(t *testing.T) {
	const rows = 117353
	dev, err := cpu.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.Close()) }()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	b, err := dev.Alloc(rows*15 + 200)
	require.NoError(t, err)
	m, ok := cpu.Bytes(b)
	require.True(t, ok)
	for i := range m {
		m[i] = byte(i*7+i>>8) & 0x0f
	}
	nibbles := func(offset int64, strides ...int64) device.Operand {
		l, err := layout.Strided([]int64{rows, 5, 3}, strides, offset)
		require.NoError(t, err)
		return device.Operand{Buffer: b, Layout: l, Type: layout.Int4}
	}
	require.NoError(t, q.Copy(nibbles(309, 30, 6, 2), nibbles(0, 6, 6*rows, 2)))
	for i := range rows {
		for j := range 5 {
			for k := range 3 {
				got, want := m[(309+30*i+6*j+2*k)/2]>>4, m[(6*i+6*rows*j+2*k)/2]&0x0f
				if got != want {
					t.Fatalf("element %d, %d, %d is %d, not %d", i, j, k, got, want)
				}
			}
		}
	}
	require.NoError(t, b.Free())
}
