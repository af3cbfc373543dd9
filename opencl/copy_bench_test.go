package opencl_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// view makes a layout from a contiguous one.
type view func(layout.Layout) (layout.Layout, error)

func permute(perm ...int) view {
	return func(l layout.Layout) (layout.Layout, error) { return l.Permute(perm...) }
}

func slice(axis int, start, end, step int64) view {
	return func(l layout.Layout) (layout.Layout, error) { return l.Slice(axis, start, end, step) }
}

func expand(dims ...int64) view {
	return func(l layout.Layout) (layout.Layout, error) { return l.Expand(dims...) }
}

// TestLargeCopies has copies that are large enough to go past a CPU's caches,
// with rows that begin and end within cache lines.
func TestLargeCopies(t *testing.T) {
	dev, err := device.Open("opencl")
	devicetest.Require(t, "opencl", err)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	for _, name := range []string{
		"copy/uint8/2000003/dst=1@1/src=1@2",
		"copy/float/1000003/dst=1@1/src=-1@1000002",
		"copy/float16/1000x1001/dst=1003,1@1/src=1,0@2",
		"copy/uint8/1501x1499/dst=1499,1@1/src=1,1501@3",
		"copy/float16/1111x999/dst=1001,1@1/src=1,1111@3",
		"copy/float/777x1024/dst=1024,1@3/src=1,777@1",
		"copy/float/777x1024/dst=1024,1@0/src=-1,777@776",
		"copy/double/555x777/dst=777,1@1/src=1,555@0",
		"copy/complex128/333x555/dst=555,1@1/src=1,333@3",
		"copy/float/13x6x5x3x16x34/dst=48960,8160,1632,544,34,1@0/src=1,1326,7956,442,39780,13@0",
		"copy/uint8/700x1000x3/dst=3001,3,1@1/src=1000,1,700000@1",
		"copy/float/300x1000x3/dst=3000,3,1@1/src=4000,4,1@1",
		"copy/float/400x1000/dst=3000,2@1/src=2000,2@0",
	} {
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		require.NoError(t, oracle.CheckOn(dev, q, c, 1))
	}
}

// BenchmarkCopy reports, beside the time, how fast a copy is in terms of the
// plainest one of as many bytes, timed in turn with it: for CPUs a memcpy by two
// goroutines in huge pages, for others the device's own copy of one dense
// buffer. It is the best time of each, since neither can be faster than it is
// but for the neighbours.
func BenchmarkCopy(b *testing.B) {
	for _, f := range []struct {
		name string
		typ  layout.DType
		dims []int64
		src  view
	}{
		{"contiguous", layout.Float32, []int64{32 << 20}, permute(0)},
		{"a-transpose", layout.Float32, []int64{4096, 4096}, permute(1, 0)},
		{"b-nchw-nhwc", layout.Float32, []int64{32, 64, 112, 112}, permute(0, 2, 3, 1)},
		{"c-heads", layout.Float32, []int64{8, 512, 16, 64}, permute(0, 2, 1, 3)},
		{"d-every-second", layout.Float32, []int64{4096, 8192}, slice(1, 0, 8192, 2)},
		{"e-reversed", layout.Float32, []int64{4096, 4096}, slice(1, -1, -4097, -1)},
		{"f-shuffle", layout.Float32, []int64{16, 20, 24, 12, 14, 13}, permute(5, 2, 1, 3, 0, 4)},
		{"transpose-4", layout.Int4, []int64{4096, 4096}, permute(1, 0)},
		{"transpose-8", layout.Uint8, []int64{8192, 8192}, permute(1, 0)},
		{"transpose-16", layout.Float16, []int64{4096, 8192}, permute(1, 0)},
		{"transpose-64", layout.Float64, []int64{4096, 2048}, permute(1, 0)},
		{"transpose-128", layout.Complex128, []int64{2048, 2048}, permute(1, 0)},
		{"odd-nibbles", layout.Int4, []int64{1<<27 + 1}, slice(0, 1, 1<<27+1, 1)},
		{"rgb-nhwc-nchw-8", layout.Uint8, []int64{64, 512, 512, 3}, permute(0, 3, 1, 2)},
		{"rgb-nchw-nhwc-8", layout.Uint8, []int64{64, 3, 512, 512}, permute(0, 2, 3, 1)},
		{"rgb-nhwc-nchw-32", layout.Float32, []int64{32, 512, 512, 3}, permute(0, 3, 1, 2)},
		{"rgb-nchw-nhwc-32", layout.Float32, []int64{32, 3, 512, 512}, permute(0, 2, 3, 1)},
		{"expand-rows", layout.Float32, []int64{1, 4096}, expand(4096, 4096)},
		{"expand-cols", layout.Float32, []int64{4096, 1}, expand(4096, 4096)},
		{"short-rows", layout.Float32, []int64{4 << 20, 4}, slice(1, 0, 3, 1)},
	} {
		b.Run(f.name, func(b *testing.B) {
			dev, err := device.Open("opencl")
			if err != nil {
				b.Skip(err)
			}
			defer dev.Close()
			q, err := dev.NewQueue()
			require.NoError(b, err)
			full, err := layout.Contiguous(f.dims...)
			require.NoError(b, err)
			srcLayout, err := f.src(full)
			require.NoError(b, err)
			dstLayout, err := layout.Contiguous(srcLayout.Shape()...)
			require.NoError(b, err)
			src, dst := room(b, dev, full, f.typ), room(b, dev, dstLayout, f.typ)
			src.Layout = srcLayout
			size := dst.Buffer.Size()

			copyOn := func(dst, src device.Operand) func() {
				return func() {
					require.NoError(b, q.Copy(dst, src))
					require.NoError(b, q.Wait())
				}
			}
			ours := copyOn(dst, src)
			plain := copyOn(dst, room(b, dev, dstLayout, f.typ))
			if dev.Info().Kind == device.CPU {
				host, err := cpu.Open() // its memory is in huge pages
				require.NoError(b, err)
				defer host.Close()
				plain = memcpy2(b, room(b, host, dstLayout, f.typ), room(b, host, dstLayout, f.typ))
			}
			ours() // compiles
			plain()
			b.SetBytes(size)
			best, reference := time.Duration(1<<62), time.Duration(1<<62)
			for b.Loop() {
				t0 := time.Now()
				ours()
				best = min(best, time.Since(t0))
				b.StopTimer()
				t0 = time.Now()
				plain()
				reference = min(reference, time.Since(t0))
				b.StartTimer()
			}
			b.ReportMetric(float64(reference)/float64(best), "xmemcpy")
		})
	}
}

// room returns a dense operand of zeros.
func room(b *testing.B, dev device.Device, l layout.Layout, t layout.DType) device.Operand {
	size, err := l.Shape().Bytes(t)
	require.NoError(b, err)
	buf, err := dev.Alloc(size)
	require.NoError(b, err)
	o := device.Operand{Buffer: buf, Layout: l, Type: t}
	q, err := dev.NewQueue()
	require.NoError(b, err)
	defer q.Close()
	require.NoError(b, q.Fill(o, make([]byte, (t.Bits()+7)/8)))
	require.NoError(b, q.Wait())
	return o
}

// memcpy2 copies in two halves, a goroutine each.
func memcpy2(b *testing.B, dst, src device.Operand) func() {
	to, ok := cpu.Bytes(dst.Buffer)
	require.True(b, ok)
	from, ok := cpu.Bytes(src.Buffer)
	require.True(b, ok)
	half := len(from) / 2
	return func() {
		var wait sync.WaitGroup
		wait.Go(func() { copy(to[:half], from) })
		copy(to[half:], from[half:])
		wait.Wait()
	}
}
