package opencl

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/gpu/gputest"
)

// BenchmarkEnqueue compares the cost of queueing a small copy with the cost of its driver calls
// alone: the difference is the cost of this package and internal/gpu. Queues are waited for
// once in a while, outside of the timed part.
func BenchmarkEnqueue(b *testing.B) {
	dev := openTest(b, Options{})
	q := gputest.Queue(b, dev)
	dsts, src := gputest.Copies(b, dev)
	const batch = 64
	wait := func(b *testing.B, i int) {
		if i%batch == 0 {
			b.StopTimer()
			require.NoError(b, q.Wait())
			b.StartTimer()
		}
	}
	for _, c := range []struct {
		name    string
		buffers int
	}{{"SameBuffers", 1}, {"OtherBuffers", 2}} {
		b.Run(c.name+"/Copy", func(b *testing.B) {
			require.NoError(b, q.Copy(dsts[0], src))
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				wait(b, i)
				if err := q.Copy(dsts[i%c.buffers], src); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/DriverAlone", func(b *testing.B) {
			require.NoError(b, q.Copy(dsts[0], src))
			var k *kernel // the only one
			for _, k = range q.Stream().(*stream).kernels {
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				wait(b, i)
				if c.buffers > 1 {
					k.values[0] = uint64(handleOf(dsts[i%2].Buffer))
					k.set[1], k.set[3] = 0, address(&k.values[0])
					dl.Call(clSetKernelArg.addr, k.set[:]...)
				}
				dl.Call(clEnqueueNDRangeKernel.addr, k.run[:]...)
			}
			runtime.KeepAlive(k)
			k.known[0] = false
		})
	}
	require.NoError(b, q.Wait())
}

// BenchmarkOverhead is the cost of a copy in Go (this package, internal/gpu and purego): the
// driver's functions are replaced by a function of the C library that does nothing. DriverCalls
// is that function called alone, as often.
func BenchmarkOverhead(b *testing.B) {
	lib, err := dl.Open("libc.so.6")
	if err != nil {
		b.Skip(err)
	}
	nothing, err := lib.Lookup("pthread_equal") // 0, as the first two arguments differ
	if err != nil {
		b.Skip(err)
	}
	dev := openTest(b, Options{})
	q := gputest.Queue(b, dev)
	dsts, src := gputest.Copies(b, dev)
	require.NoError(b, q.Copy(dsts[0], src))
	require.NoError(b, q.Wait())
	run, set := clEnqueueNDRangeKernel.addr, clSetKernelArg.addr
	clEnqueueNDRangeKernel.addr, clSetKernelArg.addr = nothing, nothing
	defer func() { clEnqueueNDRangeKernel.addr, clSetKernelArg.addr = run, set }()
	for buffers, name := range []string{"SameBuffers", "OtherBuffers"} {
		b.Run(name+"/Copy", func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if err := q.Copy(dsts[i&buffers], src); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/DriverCalls", func(b *testing.B) {
			var args [9]uintptr
			list := args[:]
			for range b.N {
				dl.Call(nothing, list...)
				if buffers > 0 {
					dl.Call(nothing, list[:4]...)
				}
			}
		})
	}
}

// BenchmarkTakes is a few takes, which report indices out of range late, and a wait.
func BenchmarkTakes(b *testing.B) {
	dev := openTest(b, Options{})
	q := gputest.Queue(b, dev)
	dst, src, at := gputest.Alloc(b, dev, 64), gputest.Alloc(b, dev, 64), gputest.Alloc(b, dev, 64)
	require.NoError(b, q.Write(at, 0, make([]byte, 64)))
	d, s, a, by := gputest.Take(dst, src, at)
	for _, n := range []int{1, 16, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				for range n {
					if err := q.Take(d, s, a, by); err != nil {
						b.Fatal(err)
					}
				}
				if err := q.Wait(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAllocFree never waits: blocks are reused while work continues.
func BenchmarkAllocFree(b *testing.B) {
	dev := openTest(b, Options{})
	q := gputest.Queue(b, dev)
	b.Run("Unused", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x := gputest.Alloc(b, dev, 4096)
			require.NoError(b, x.Free())
		}
	})
	b.Run("Filled", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x := gputest.Alloc(b, dev, 4096)
			require.NoError(b, q.Fill(gputest.Matrix(x, []int64{1024}, []int64{1}), []byte{1, 2, 3, 4}))
			require.NoError(b, x.Free())
		}
	})
}

// BenchmarkTransfer is the time of synchronous transfers.
func BenchmarkTransfer(b *testing.B) {
	dev := openTest(b, Options{})
	q := gputest.Queue(b, dev)
	for _, n := range []int{64, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20} {
		host := make([]byte, n)
		x := gputest.Alloc(b, dev, int64(n))
		run := func(name string, f func() error) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					require.NoError(b, f())
				}
			})
		}
		run("Write", func() error { _ = q.Write(x, 0, host); return q.Wait() })
		run("WriteNoWait", func() error { return q.Write(x, 0, host) })
		run("Read", func() error { return q.Read(host, x, 0) })
		require.NoError(b, x.Free())
	}
}

// BenchmarkMatrix moves 64 MiB.
func BenchmarkMatrix(b *testing.B) {
	const n = 4096
	dev := openTest(b, Options{})
	q := gputest.Queue(b, dev)
	dense := []int64{n, 1}
	var xy [2]device.Operand
	for i := range xy {
		buf := gputest.Alloc(b, dev, n*n*4)
		xy[i] = gputest.Matrix(buf, []int64{n, n}, dense)
		require.NoError(b, q.Fill(xy[i], []byte{1, 2, 3, 4})) // memory that was never written has no pages
	}
	for name, strides := range map[string][]int64{"Contiguous": {n, 1}, "Transpose": {1, n}} {
		src := gputest.Matrix(xy[0].Buffer, []int64{n, n}, strides)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(n * n * 4)
			best := time.Hour
			for b.Loop() {
				start := time.Now()
				require.NoError(b, q.Copy(xy[1], src))
				require.NoError(b, q.Wait())
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(best.Microseconds()), "best-µs")
		})
	}
}
