package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/gpu/gputest"
)

// BenchmarkTransfer is the time of small synchronous transfers.
func BenchmarkTransfer(b *testing.B) {
	dev := openTest(b)
	q := gputest.Queue(b, dev)
	x, host := gputest.Alloc(b, dev, 4096), make([]byte, 4096)
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
