package cpu_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// BenchmarkDequantize dequantizes blocks of 32 codes, with a scale and a zero point each,
// beside a copy of as many bytes as it writes.
func BenchmarkDequantize(b *testing.B) {
	dev, err := cpu.Open()
	require.NoError(b, err)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(b, err)
	const blocks, size = 1 << 18, 32
	of := func(t layout.DType, strides ...int64) device.Operand {
		n := int64(blocks)
		if strides[1] != 0 {
			n *= size
		}
		buffer, err := dev.Alloc(n*int64(t.Bits())/8 + 1)
		require.NoError(b, err)
		l, err := layout.Strided([]int64{blocks, size}, strides, 0)
		require.NoError(b, err)
		require.NoError(b, q.Write(buffer, 0, make([]byte, buffer.Size())))
		return device.Operand{Buffer: buffer, Layout: l, Type: t}
	}
	for _, to := range []layout.DType{layout.Float16, layout.Float32} {
		dst, other := of(to, size, 1), of(to, size, 1)
		bytes := dst.Layout.Count() * int64(to.Bits()) / 8
		b.Run(fmt.Sprintf("copy/%v", to), func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				require.NoError(b, q.Copy(dst, other))
			}
		})
		for _, from := range []layout.DType{layout.Uint4, layout.Uint8, layout.Float4E2M1} {
			src, scale, zero := of(from, size, 1), of(layout.Float16, 1, 0), of(from, 1, 0)
			for name, by := range map[string]device.Scaling{"scale": {Scale: scale}, "zero": {Scale: scale, Zero: zero}} {
				b.Run(fmt.Sprintf("%v/%v/%s", from, to, name), func(b *testing.B) {
					b.SetBytes(bytes)
					for b.Loop() {
						require.NoError(b, q.Dequantize(dst, src, by))
					}
				})
			}
		}
	}
}
