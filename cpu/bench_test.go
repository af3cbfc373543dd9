package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench/benchtest"
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

// BenchmarkCopy runs the cases of package bench.
func BenchmarkCopy(b *testing.B) {
	benchtest.Run(b, func(b testing.TB) device.Device {
		dev, err := cpu.Open()
		require.NoError(b, err)
		return dev
	})
}

func newOperand(b *testing.B, dev device.Device, l layout.Layout, t layout.DType) device.Operand {
	size, err := l.Shape().Bytes(t)
	require.NoError(b, err)
	buf, err := dev.Alloc(size)
	require.NoError(b, err)
	return device.Operand{Buffer: buf, Layout: l, Type: t}
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
