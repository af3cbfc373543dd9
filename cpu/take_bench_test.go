package cpu_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// BenchmarkTake reports, as BenchmarkCopy does, how fast takes are by random
// indices: of rows of a table, and of single elements.
func BenchmarkTake(b *testing.B) {
	for _, f := range []struct {
		name              string
		typ               layout.DType
		table, n, width   int64 // rows in the table, rows taken, their elements
		eachElement, wide bool
	}{
		{"rows-3K", layout.Float32, 8192, 16384, 768, false, true},
		{"rows-64B", layout.Float32, 1 << 18, 1 << 19, 16, false, true},
		{"rows-int4-64B", layout.Int4, 1 << 18, 1 << 19, 128, false, false},
		{"elements-along-rows", layout.Float32, 2048, 4096, 2048, true, true},
		{"single-floats", layout.Float32, 1 << 20, 1 << 22, 1, false, true},
		{"single-floats-by-int32", layout.Float32, 1 << 20, 1 << 22, 1, false, false},
	} {
		b.Run(f.name, func(b *testing.B) {
			dev, err := cpu.Open()
			require.NoError(b, err)
			defer dev.Close()
			q, err := dev.NewQueue()
			require.NoError(b, err)
			shape := []int64{f.n, f.width}
			dense, err := layout.Contiguous(shape...)
			require.NoError(b, err)
			table, err := layout.Contiguous(f.table, f.width)
			require.NoError(b, err)
			dst, src := newOperand(b, dev, dense, f.typ), newOperand(b, dev, table, f.typ)
			atType, size := layout.Int32, int64(4)
			if f.wide {
				atType, size = layout.Int64, 8
			}
			at := newOperand(b, dev, dense, atType)
			src.Layout, err = layout.Strided(shape, []int64{0, 1}, 0)
			require.NoError(b, err)
			if !f.eachElement {
				at.Layout, err = layout.Strided(shape, []int64{1, 0}, 0)
				require.NoError(b, err)
			}
			for _, o := range []device.Operand{dst, src} {
				m, _ := cpu.Bytes(o.Buffer)
				clear(m) // first touch
			}
			indices, _ := cpu.Bytes(at.Buffer)
			rng := rand.New(rand.NewPCG(1, 1))
			for i := int64(0); i < int64(len(indices)); i += size {
				index := uint64(rng.Int64N(2*f.table) - f.table)
				if f.wide {
					binary.LittleEndian.PutUint64(indices[i:], index)
				} else {
					binary.LittleEndian.PutUint32(indices[i:], uint32(index))
				}
			}
			by := []device.Index{{Extent: f.table, Stride: f.width}}
			plain, err := bench.NewMemcpy(dst.Buffer.Size())
			require.NoError(b, err)
			defer plain.Close()
			b.SetBytes(dst.Buffer.Size())
			b.ReportAllocs()
			ours, reference := time.Duration(1<<62), time.Duration(1<<62)
			for i := 0; b.Loop(); i++ {
				t0 := time.Now()
				if err := q.Take(dst, src, at, by...); err != nil {
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
		})
	}
}
