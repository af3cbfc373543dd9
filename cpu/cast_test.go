package cpu_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// TestLargeCasts are conversions that several workers share: below a byte, two of
// them may have to write one.
func TestLargeCasts(t *testing.T) { cpu.EachLevel(t, testLargeCasts) }

func testLargeCasts(t *testing.T) {
	dev, err := cpu.Open()
	require.NoError(t, err)
	defer dev.Close()
	for i, name := range []string{
		"convert/float-int4/1001x1003/dst=1003,1@1/src=1,1001@3",
		"convert/int4-int2/1300x1003/dst=1003,1@3/src=1003,1@1",
		"convert/double-uint2/700x1900/dst=1,701@1/src=-1,700@699/how=legacy",
		"convert/uint4-float16/1001x333/dst=333,1@1/src=1,1001@5",
		"convert/float-bfloat16/600x501/dst=501,1@7/src=0,1@3",
		"convert/bfloat16-float/300001/dst=-1@300000/src=1@1",
		"convert/int64-float8e4m3fn/300001/dst=3@0/src=1@1/how=unsaturated",
		"convert/float16-int8/70x9x600/dst=1,70,630@0/src=1200,84000,2@0",
	} {
		if cpu.Elsewhere(i) {
			continue
		}
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		require.NoError(t, oracle.Check(dev, c, 5))
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
