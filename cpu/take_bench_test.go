package cpu_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

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
	by := []device.Index{{Extent: f.table, Stride: f.width}}
	return func() error { return q.Take(dst, src, at, by...) }, dst.Buffer.Size()
}

func (f taken) bench(b *testing.B) {
	call, bytes := f.ready(b)
	plain, err := bench.NewMemcpy(bytes, 2)
	require.NoError(b, err)
	defer plain.Close()
	b.SetBytes(bytes)
	b.ReportAllocs()
	ours, reference := time.Duration(1<<62), time.Duration(1<<62)
	for i := 0; b.Loop(); i++ {
		t0 := time.Now()
		if err := call(); err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		b.StopTimer()
		t2 := time.Now()
		plain.Run(i)
		reference = min(reference, time.Since(t2))
		b.StartTimer()
		ours = min(ours, t1.Sub(t0))
	}
	b.ReportMetric(float64(reference)/float64(ours), "xmemcpy")
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
