package cpu_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

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
