package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
)

// copies returns two copies of a small matrix that share a source.
func copies(tb testing.TB, dev *Device) (dsts [2]device.Operand, src device.Operand) {
	src = floats(alloc(tb, dev, 256), []int64{8, 8}, []int64{1, 8})
	for i := range dsts {
		dsts[i] = floats(alloc(tb, dev, 256), []int64{8, 8}, []int64{8, 1})
	}
	return dsts, src
}

// BenchmarkTransfer is the time of small transfers that are waited for.
func BenchmarkTransfer(b *testing.B) {
	dev := openTest(b)
	q := queueOf(b, dev)
	x, host := alloc(b, dev, 4096), make([]byte, 4096)
	b.Run("WriteNoWait", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, q.Write(x, 0, host))
		}
	})
	b.Run("Read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, q.Read(host, x, 0))
		}
	})
}
