package cuda

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
)

// copies returns two copies of a small matrix that share a source.
func copies(tb testing.TB, dev *Device) (dsts [2]device.Operand, src device.Operand) {
	src = floats(alloc(tb, dev, 256), []int64{8, 8}, []int64{1, 8})
	for i := range dsts {
		dsts[i] = floats(alloc(tb, dev, 256), []int64{8, 8}, []int64{8, 1})
	}
	return dsts, src
}

// BenchmarkOverhead is what this module takes of a copy: the driver's functions
// are replaced by one of the C library that does nothing. LaunchAlone is one call
// of that function with a launch's arguments.
func BenchmarkOverhead(b *testing.B) {
	lib, err := dl.Open("libc.so.6")
	if err != nil {
		b.Skip(err)
	}
	nothing, err := lib.Lookup("pthread_equal") // 0, as the first two arguments differ
	if err != nil {
		b.Skip(err)
	}
	dev := openTest(b)
	q := queueOf(b, dev)
	dsts, src := copies(b, dev)
	require.NoError(b, q.Copy(dsts[0], src))
	require.NoError(b, q.Wait())

	l := dev.g.drv.(*libcuda)
	launch, get := l.launchKernel, l.ctxGet
	l.launchKernel, l.ctxGet = nothing, nothing
	defer func() { l.launchKernel, l.ctxGet = launch, get }()
	b.Run("Copy", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if err := q.Copy(dsts[i&1], src); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("LaunchAlone", func(b *testing.B) {
		var params unsafe.Pointer
		f := new(frame)
		b.ReportAllocs()
		for range b.N {
			if err := l.launch(f, 2, 1, 256, 0, &params); err != nil {
				b.Fatal(err)
			}
		}
	})
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
