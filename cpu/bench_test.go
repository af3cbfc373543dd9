package cpu_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// view makes a layout from a contiguous one; what is wrong panics.
type view func(layout.Layout) (layout.Layout, error)

func permute(perm ...int) view {
	return func(l layout.Layout) (layout.Layout, error) { return l.Permute(perm...) }
}

func slice(axis int, start, end, step int64) view {
	return func(l layout.Layout) (layout.Layout, error) { return l.Slice(axis, start, end, step) }
}

// figures are six cases that other libraries have been measured on, a to f, and
// some more.
var figures = []struct {
	name string
	typ  layout.DType
	dims []int64
	src  view
}{
	{"a-transpose", layout.Float32, []int64{4096, 4096}, permute(1, 0)},
	{"b-nchw-nhwc", layout.Float32, []int64{32, 64, 112, 112}, permute(0, 2, 3, 1)},
	{"c-heads", layout.Float32, []int64{8, 512, 16, 64}, permute(0, 2, 1, 3)},
	{"d-every-second", layout.Float32, []int64{4096, 8192}, slice(1, 0, 8192, 2)},
	{"e-reversed", layout.Float32, []int64{4096, 4096}, slice(1, -1, -4097, -1)},
	{"f-shuffle", layout.Float32, []int64{16, 20, 24, 12, 14, 13}, permute(5, 2, 1, 3, 0, 4)},
	{"transpose-8", layout.Uint8, []int64{8192, 8192}, permute(1, 0)},
	{"transpose-16", layout.Float16, []int64{4096, 8192}, permute(1, 0)},
	{"transpose-64", layout.Float64, []int64{4096, 2048}, permute(1, 0)},
	{"transpose-128", layout.Complex128, []int64{2048, 2048}, permute(1, 0)},
	{"transpose-int4", layout.Int4, []int64{8192, 16384}, permute(1, 0)},
	{"transpose-int2", layout.Int2, []int64{16384, 16384}, permute(1, 0)},
	{"odd-nibbles", layout.Int4, []int64{1<<27 + 1}, slice(0, 1, 1<<27+1, 1)},
	{"nhwc-nchw-rgb", layout.Uint8, []int64{64, 512, 512, 3}, permute(0, 3, 1, 2)},
	{"nchw-nhwc-rgb", layout.Float32, []int64{32, 3, 512, 512}, permute(0, 2, 3, 1)},
	{"expand-rows", layout.Float32, []int64{1, 4096}, func(l layout.Layout) (layout.Layout, error) { return l.Expand(4096, 4096) }},
	{"expand-cols", layout.Float32, []int64{4096, 1}, func(l layout.Layout) (layout.Layout, error) { return l.Expand(4096, 4096) }},
}

// BenchmarkCopy reports, beside the time, how fast a copy is in terms of a
// memcpy of the same bytes by two goroutines, timed in turn with it: the best
// time of each, since neither can be faster than it is but for the neighbours.
func BenchmarkCopy(b *testing.B) {
	for _, f := range figures {
		b.Run(f.name, func(b *testing.B) {
			dev, err := cpu.Open()
			require.NoError(b, err)
			defer dev.Close()
			q, err := dev.NewQueue()
			require.NoError(b, err)
			full, err := layout.Contiguous(f.dims...)
			require.NoError(b, err)
			srcLayout, err := f.src(full)
			require.NoError(b, err)
			dstLayout, err := layout.Contiguous(srcLayout.Shape()...)
			require.NoError(b, err)
			src := newOperand(b, dev, full, f.typ)
			src.Layout = srcLayout
			dst := newOperand(b, dev, dstLayout, f.typ)
			plain := newOperand(b, dev, dstLayout, f.typ)

			size := dst.Buffer.Size()
			b.SetBytes(size)
			ours, reference := time.Duration(1<<62), time.Duration(1<<62)
			to, _ := cpu.Bytes(dst.Buffer)
			from, _ := cpu.Bytes(plain.Buffer)
			clear(to) // first touch
			clear(from)
			s, _ := cpu.Bytes(src.Buffer)
			clear(s)
			for b.Loop() {
				t0 := time.Now()
				if err := q.Copy(dst, src); err != nil {
					b.Fatal(err)
				}
				t1 := time.Now()
				b.StopTimer()
				t2 := time.Now()
				memcpy2(to, from)
				reference = min(reference, time.Since(t2))
				b.StartTimer()
				ours = min(ours, t1.Sub(t0))
			}
			b.ReportMetric(float64(reference)/float64(ours), "xmemcpy")
		})
	}
}

func newOperand(b *testing.B, dev device.Device, l layout.Layout, t layout.DType) device.Operand {
	size, err := l.Shape().Bytes(t)
	require.NoError(b, err)
	buf, err := dev.Alloc(size)
	require.NoError(b, err)
	return device.Operand{Buffer: buf, Layout: l, Type: t}
}

// memcpy2 is the reference: the bytes in two halves, a goroutine each.
func memcpy2(dst, src []byte) {
	var wait sync.WaitGroup
	half := len(src) / 2
	wait.Go(func() { copy(dst[:half], src) })
	copy(dst[half:], src[half:])
	wait.Wait()
}

// BenchmarkSmall times calls that move 4 KiB: what a call costs.
func BenchmarkSmall(b *testing.B) {
	dev, err := cpu.Open()
	require.NoError(b, err)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(b, err)
	for _, f := range []struct {
		name string
		dims []int64
		src  view
	}{
		{"contiguous-16B", []int64{4}, slice(0, 0, 4, 1)},
		{"contiguous-4K", []int64{8, 128}, slice(0, 0, 8, 1)},
		{"transpose-4x4", []int64{4, 4}, permute(1, 0)},
		{"transpose-32x32", []int64{32, 32}, permute(1, 0)},
		{"heads-4x8x16", []int64{2, 4, 8, 16}, permute(0, 2, 1, 3)},
		{"every-second-512", []int64{1024}, slice(0, 0, 1024, 2)},
	} {
		b.Run(f.name, func(b *testing.B) {
			full, err := layout.Contiguous(f.dims...)
			require.NoError(b, err)
			srcLayout, err := f.src(full)
			require.NoError(b, err)
			dstLayout, err := layout.Contiguous(srcLayout.Shape()...)
			require.NoError(b, err)
			src := newOperand(b, dev, full, layout.Float32)
			src.Layout = srcLayout
			dst := newOperand(b, dev, dstLayout, layout.Float32)
			b.ReportAllocs()
			for b.Loop() {
				if err := q.Copy(dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
