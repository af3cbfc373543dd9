package cpu_test

import (
	"fmt"
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

// BenchmarkCases runs the cases of package bench.
func BenchmarkCases(b *testing.B) {
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

// BenchmarkSmall times calls that move 4 KiB at most: what a call costs. One like
// an earlier one has its plan; "new" are calls of more forms than a queue keeps.
func BenchmarkSmall(b *testing.B) {
	dev, err := cpu.Open()
	require.NoError(b, err)
	defer dev.Close()
	for _, f := range []struct {
		name     string
		dims     []int64
		src      view
		dst, typ layout.DType
	}{
		{"contiguous-16B", []int64{4}, permute(0), layout.Float32, layout.Float32},
		{"contiguous-4K", []int64{8, 128}, permute(0, 1), layout.Float32, layout.Float32},
		{"transpose-4x4", []int64{4, 4}, permute(1, 0), layout.Float32, layout.Float32},
		{"transpose-32x32", []int64{32, 32}, permute(1, 0), layout.Float32, layout.Float32},
		{"heads-4x8x16", []int64{2, 4, 8, 16}, permute(0, 2, 1, 3), layout.Float32, layout.Float32},
		{"every-second-512", []int64{1024}, slice(0, 0, 1024, 2), layout.Float32, layout.Float32},
		{"every-second-64", []int64{128}, slice(0, 0, 128, 2), layout.Float32, layout.Float32},
		{"reverse-1024", []int64{1024}, slice(0, 1023, -1025, -1), layout.Float32, layout.Float32},
		{"int4-odd-64", []int64{128}, slice(0, 1, 65, 1), layout.Int4, layout.Int4},
		{"int4-odd-4K", []int64{8193}, slice(0, 1, 8193, 1), layout.Int4, layout.Int4},
		{"half-to-float-16", []int64{16}, permute(0), layout.Float32, layout.Float16},
		{"half-to-float-1024", []int64{1024}, permute(0), layout.Float32, layout.Float16},
		{"fill-16B", []int64{4}, nil, layout.Float32, layout.Float32},
		{"fill-4K", []int64{1024}, nil, layout.Float32, layout.Float32},
	} {
		// A new form is one with another stride on an axis of extent 1, which
		// changes nothing else.
		var dsts, srcs []device.Operand
		for extra := range int64(200) {
			full, err := layout.Contiguous(f.dims...)
			require.NoError(b, err)
			from := full
			if f.src != nil {
				from, err = f.src(full)
				require.NoError(b, err)
			}
			to, err := layout.Contiguous(from.Shape()...)
			require.NoError(b, err)
			one := func(l layout.Layout) layout.Layout {
				l, err := layout.Strided(append(l.Shape(), 1), append(l.Strides(), 1000+extra), l.Offset())
				require.NoError(b, err)
				return l
			}
			if extra == 0 {
				srcs, dsts = append(srcs, newOperand(b, dev, full, f.typ)), append(dsts, newOperand(b, dev, to, f.dst))
				srcs[0].Layout = from
				continue
			}
			srcs = append(srcs, device.Operand{Buffer: srcs[0].Buffer, Layout: one(from), Type: f.typ})
			dsts = append(dsts, device.Operand{Buffer: dsts[0].Buffer, Layout: one(to), Type: f.dst})
		}
		run := func(b *testing.B, forms int) {
			q, err := dev.NewQueue()
			require.NoError(b, err)
			pattern := []byte{1, 2, 3, 4}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				switch {
				case f.src == nil:
					err = q.Fill(dsts[i], pattern)
				case f.dst != f.typ:
					err = q.Convert(dsts[i], srcs[i], device.Rounding{})
				default:
					err = q.Copy(dsts[i], srcs[i])
				}
				if err != nil {
					b.Fatal(err)
				}
				if i++; i == forms {
					i = 0
				}
			}
		}
		b.Run(f.name, func(b *testing.B) { run(b, 1) })
		b.Run(f.name+"/new", func(b *testing.B) { run(b, len(dsts)) })
	}
}

// BenchmarkMedium times copies about as large as it takes for helpers to pay: run it
// with -cpu 1,2.
func BenchmarkMedium(b *testing.B) {
	dev, err := cpu.Open()
	require.NoError(b, err)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(b, err)
	for _, f := range []struct {
		name string
		src  view
	}{{"dense", permute(0, 1)}, {"transpose", permute(1, 0)}} {
		for _, side := range []int64{128, 256, 362, 512, 724, 1024} {
			b.Run(fmt.Sprintf("%s-%dK", f.name, side*side*4>>10), func(b *testing.B) {
				full, err := layout.Contiguous(side, side)
				require.NoError(b, err)
				dst, src := newOperand(b, dev, full, layout.Float32), newOperand(b, dev, full, layout.Float32)
				src.Layout, err = f.src(full)
				require.NoError(b, err)
				b.SetBytes(side * side * 4)
				for b.Loop() {
					if err := q.Copy(dst, src); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
