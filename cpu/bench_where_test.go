package cpu_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// BenchmarkWhere times choices of 4 and 64 MB between dense tensors, by a condition for each
// element, for each row, and for each column, and by one for each element between a dense
// tensor and a scalar.
func BenchmarkWhere(b *testing.B) {
	for _, size := range []int64{4 << 20, 64 << 20} {
		for _, of := range []layout.DType{layout.Uint4, layout.Uint8, layout.Float16, layout.Float32, layout.Int64, layout.Complex128} {
			shape := []int64{size * 8 / int64(of.Bits()) / 4096, 4096}
			for _, form := range []struct {
				name       string
				cond, side []int64 // strides
			}{
				{"each", []int64{4096, 1}, []int64{4096, 1}},
				{"rows", []int64{1, 0}, []int64{4096, 1}},
				{"columns", []int64{0, 1}, []int64{4096, 1}},
				{"scalar", []int64{4096, 1}, []int64{0, 0}},
			} {
				b.Run(fmt.Sprintf("%dM/%v/%s", size>>20, of, form.name), func(b *testing.B) {
					dev, q := openQueue(b)
					dense, err := layout.Contiguous(shape...)
					require.NoError(b, err)
					var sides [3]device.Operand
					for i := range sides {
						sides[i] = newOperand(b, dev, dense, of)
						touch(sides[i])
					}
					cond := newOperand(b, dev, dense, layout.Bool)
					touch(cond)
					cond.Layout, err = layout.Strided(shape, form.cond, 0)
					require.NoError(b, err)
					sides[2].Layout, err = layout.Strided(shape, form.side, 0)
					require.NoError(b, err)
					besideMemcpy(b, sides[0].Buffer.Size(), func() error { return q.Where(sides[0], cond, sides[1], sides[2]) })
				})
			}
		}
	}
}

// BenchmarkMap times look-ups of 64 MB.
func BenchmarkMap(b *testing.B) {
	for _, types := range [][2]layout.DType{
		{layout.Uint8, layout.Uint8}, {layout.Uint4, layout.Uint4}, {layout.Uint4, layout.Int8}, {layout.Uint4, layout.Float16},
		{layout.Uint8, layout.Float16}, {layout.Uint8, layout.Float32}, {layout.Uint4, layout.Float32},
	} {
		from, to := types[0], types[1]
		b.Run(from.String()+"-"+to.String(), func(b *testing.B) {
			dev, q := openQueue(b)
			dense, err := layout.Contiguous(int64(64<<20) * 8 / int64(to.Bits()))
			require.NoError(b, err)
			entries, err := layout.Contiguous(1 << from.Bits())
			require.NoError(b, err)
			dst, src, table := newOperand(b, dev, dense, to), newOperand(b, dev, dense, from), newOperand(b, dev, entries, to)
			touch(dst)
			touch(src)
			touch(table)
			besideMemcpy(b, dst.Buffer.Size(), func() error { return q.Map(dst, src, table) })
		})
	}
}

func openQueue(b *testing.B) (device.Device, device.Queue) {
	dev, err := cpu.Open()
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, dev.Close()) })
	q, err := dev.NewQueue()
	require.NoError(b, err)
	return dev, q
}

// touch writes an operand's memory: every third byte is 0.
func touch(o device.Operand) {
	m, _ := cpu.Bytes(o.Buffer)
	for i := range m {
		m[i] = byte(i % 3)
	}
}

// besideMemcpy reports the speed of calls that write so many bytes, by that of memcpy.
func besideMemcpy(b *testing.B, bytes int64, call func() error) {
	memcpy, free, err := bench.Memcpy(bytes, 2)
	require.NoError(b, err)
	defer free()
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
		memcpy(i)
		reference = min(reference, time.Since(t2))
		b.StartTimer()
		ours = min(ours, t1.Sub(t0))
	}
	b.ReportMetric(float64(reference)/float64(ours), "xmemcpy")
}
