package cpu_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// BenchmarkStreams times streams of codes of 3, 5 and 6 bits that become bytes, and bytes
// that become streams: the time of a dense copy of as many bytes, read and written, to
// theirs.
func BenchmarkStreams(b *testing.B) {
	dev, err := cpu.Open()
	require.NoError(b, err)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(b, err)
	const codes = 1 << 26
	for _, width := range []int64{3, 5, 6} {
		packed, err := layout.Contiguous(codes, width)
		require.NoError(b, err)
		low, err := layout.Strided(layout.Shape{codes, width}, []int64{8, 1}, 0)
		require.NoError(b, err)
		bytes, err := layout.Contiguous(codes * (8 + width) / 16)
		require.NoError(b, err)
		buffer := func(size int64) device.Buffer {
			buf, err := dev.Alloc(size)
			require.NoError(b, err)
			require.NoError(b, q.Fill(device.Operand{Buffer: buf, Layout: must(layout.Contiguous(size)), Type: layout.Uint8}, []byte{0}))
			return buf
		}
		wide, narrow := buffer(codes), buffer(codes)
		of := func(buf device.Buffer, l layout.Layout, t layout.DType) device.Operand {
			return device.Operand{Buffer: buf, Layout: l, Type: t}
		}
		for _, c := range []struct {
			name     string
			dst, src device.Operand
		}{
			{"to-bytes", of(wide, low, layout.Bit), of(narrow, packed, layout.Bit)},
			{"from-bytes", of(narrow, packed, layout.Bit), of(wide, low, layout.Bit)},
		} {
			b.Run(fmt.Sprint(c.name, "/", width), func(b *testing.B) {
				var plain, ours time.Duration
				for b.Loop() {
					start := time.Now()
					require.NoError(b, q.Copy(of(wide, bytes, layout.Uint8), of(narrow, bytes, layout.Uint8)))
					middle := time.Now()
					require.NoError(b, q.Copy(c.dst, c.src))
					plain, ours = plain+middle.Sub(start), ours+time.Since(middle)
				}
				b.ReportMetric(float64(plain)/float64(ours), "of-copy")
			})
		}
	}
}

func must(l layout.Layout, err error) layout.Layout {
	if err != nil {
		panic(err)
	}
	return l
}
