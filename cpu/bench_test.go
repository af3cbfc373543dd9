package cpu_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/benchtest"
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

// BenchmarkMedium times copies about as large as it takes for workers to pay: run it
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

// BenchmarkCast reports how long an element takes of types that are common, in the
// rows of a 4 Mi array.
func BenchmarkCast(b *testing.B) {
	for _, c := range []struct{ dst, src layout.DType }{
		{layout.Float16, layout.Float32}, {layout.Float32, layout.Float16}, {layout.BFloat16, layout.Float32},
		{layout.Float32, layout.BFloat16}, {layout.Float32, layout.Uint8}, {layout.Int8, layout.Float32},
		{layout.Float16, layout.Int4}, {layout.Float8E4M3FN, layout.Float32}, {layout.Int4, layout.Float32}, {layout.Int64, layout.Int32},
	} {
		b.Run(c.src.String()+"-"+c.dst.String(), func(b *testing.B) {
			dev, err := cpu.Open()
			require.NoError(b, err)
			defer dev.Close()
			q, err := dev.NewQueue()
			require.NoError(b, err)
			const n = 4 << 20
			l, err := layout.Contiguous(2048, n/2048)
			require.NoError(b, err)
			dst, src := newOperand(b, dev, l, c.dst), newOperand(b, dev, l, c.src)
			best := time.Hour
			for b.Loop() {
				start := time.Now()
				require.NoError(b, q.Convert(dst, src, device.Rounding{}))
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(best.Nanoseconds())/n, "best-ns/element")
		})
	}
}

// BenchmarkBits reports how long an element takes that lies below a byte and is not
// next to its neighbours, or whose conversion is none of package bench's cases: of
// 64 Mi.
func BenchmarkBits(b *testing.B) {
	const n = 64 << 20
	for _, c := range []struct {
		name     string
		dst, src layout.DType
		step     int64
	}{
		{"every-second", layout.Int4, layout.Int4, 2},
		{"every-third", layout.Int4, layout.Int4, 3},
		{"every-second", layout.Int2, layout.Int2, 2},
		{"every-second", layout.Int8, layout.Int4, 2},
		{"fill", layout.Int4, layout.Int4, 0},
	} {
		b.Run(c.name+"/"+c.src.String()+"-"+c.dst.String(), func(b *testing.B) {
			dev, err := cpu.Open()
			require.NoError(b, err)
			defer dev.Close()
			q, err := dev.NewQueue()
			require.NoError(b, err)
			dense, err := layout.Contiguous(n)
			require.NoError(b, err)
			wide, err := layout.Contiguous(n*max(c.step, 1) + 1)
			require.NoError(b, err)
			src := newOperand(b, dev, wide, c.src)
			dst := newOperand(b, dev, dense, c.dst)
			if c.step == 0 { // from an odd element on
				dst = newOperand(b, dev, wide, c.dst)
				dst.Layout, err = wide.Slice(0, 1, n+1, 1)
			} else {
				src.Layout, err = wide.Slice(0, 0, n*c.step, c.step)
			}
			require.NoError(b, err)
			best := time.Hour
			for b.Loop() {
				start := time.Now()
				if c.step == 0 {
					err = q.Fill(dst, []byte{5})
				} else if c.dst == c.src {
					err = q.Copy(dst, src)
				} else {
					err = q.Convert(dst, src, device.Rounding{})
				}
				require.NoError(b, err)
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(best.Nanoseconds())*1000/n, "best-ps/element")
		})
	}
}

// taken is a take of rows of a table, or of elements, for benchmarks.
type taken struct {
	typ             layout.DType
	table, n, width int64 // rows in the table, rows taken, their elements
	each            bool  // an index for each element, not for each row
	sorted          bool  // indices grow
	at              layout.DType
}

// BenchmarkTake reports, as BenchmarkCases does, how fast takes are: of rows of a table
// that a core's caches hold or that none do, and of single elements.
func BenchmarkTake(b *testing.B) {
	const out = 32 << 20
	for _, table := range []int64{1, 64, 256} {
		for _, row := range []int64{4, 16, 64, 256, 1 << 10, 4 << 10} {
			for _, sorted := range []bool{false, true} {
				name := fmt.Sprintf("rows/%dB/table-%dM/sorted=%v", row, table, sorted)
				b.Run(name, taken{layout.Float32, table << 20 / row, out / row, row / 4, false, sorted, layout.Int64}.bench)
			}
		}
	}
	b.Run("rows/100B", taken{layout.Float32, 1 << 18, 1 << 18, 25, false, false, layout.Int64}.bench)
	b.Run("rows/int4-64B", taken{layout.Int4, 1 << 18, 1 << 19, 128, false, false, layout.Int32}.bench)
	b.Run("elements-along-rows", taken{layout.Float32, 2048, 4096, 2048, true, false, layout.Int64}.bench)
	b.Run("by-int32", taken{layout.Float32, 1 << 20, 1 << 22, 1, false, false, layout.Int32}.bench)
}

// BenchmarkSmallTake times takes of 16 rows of a float, and of 64.
func BenchmarkSmallTake(b *testing.B) {
	for _, width := range []int64{1, 64} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			call, _ := taken{layout.Float32, 1000, 16, width, false, false, layout.Int64}.ready(b)
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// ready returns the call, and how many bytes it writes.
func (f taken) ready(b *testing.B) (call func() error, bytes int64) {
	dev, err := cpu.Open()
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, dev.Close()) })
	q, err := dev.NewQueue()
	require.NoError(b, err)
	shape := []int64{f.n, f.width}
	dense, err := layout.Contiguous(shape...)
	require.NoError(b, err)
	table, err := layout.Contiguous(f.table, f.width)
	require.NoError(b, err)
	dst, src := newOperand(b, dev, dense, f.typ), newOperand(b, dev, table, f.typ)
	src.Layout, err = layout.Strided(shape, []int64{0, 1}, 0)
	require.NoError(b, err)
	places := dense
	if !f.each {
		places, err = layout.Contiguous(f.n)
		require.NoError(b, err)
	}
	at := newOperand(b, dev, places, f.at)
	at.Layout = dense
	if !f.each {
		at.Layout, err = layout.Strided(shape, []int64{1, 0}, 0)
		require.NoError(b, err)
	}
	for _, o := range []device.Operand{dst, src} {
		m, _ := cpu.Bytes(o.Buffer)
		clear(m) // first touch
	}
	f.index(at.Buffer)
	by := []layout.Index{{Extent: f.table, Stride: f.width}}
	return func() error { return q.Take(dst, src, at, by...) }, dst.Buffer.Size()
}

func (f taken) bench(b *testing.B) {
	call, bytes := f.ready(b)
	besideMemcpy(b, bytes, call)
}

// index writes indices that count from both ends, random ones, or in order from one.
func (f taken) index(to device.Buffer) {
	m, _ := cpu.Bytes(to)
	size := f.at.Bits() / 8
	rng := rand.New(rand.NewPCG(1, 1))
	all := make([]int64, len(m)/size)
	for i := range all {
		if all[i] = rng.Int64N(2*f.table) - f.table; f.sorted {
			all[i] = rng.Int64N(f.table)
		}
	}
	if f.sorted {
		slices.Sort(all)
	}
	for i, index := range all {
		if size == 8 {
			binary.LittleEndian.PutUint64(m[8*i:], uint64(index))
		} else {
			binary.LittleEndian.PutUint32(m[4*i:], uint32(index))
		}
	}
}
