package fraction

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// TestCast has values computed by hand, from the text of ONNX's Cast.
func TestCast(t *testing.T) {
	float := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	loose, old := device.Rounding{Unsaturated: true}, device.Rounding{Legacy: true}
	for _, c := range []struct {
		to, from layout.DType
		in, want uint64
		how      device.Rounding
	}{
		{layout.Float8E4M3FN, layout.Float32, float(464), 0x7e, loose}, // halfway to 480, which is NaN: ties to even
		{layout.Float8E4M3FN, layout.Float32, float(464.1), 0x7f, loose},
		{layout.Float8E4M3FN, layout.Float32, float(-1e9), 0xfe, device.Rounding{}},
		{layout.Float8E5M2, layout.Float32, float(61440), 0x7c, loose}, // halfway to 2^16
		{layout.Float8E5M2, layout.Float32, float(61439), 0x7b, loose},
		{layout.Float8E4M3FNUZ, layout.Float32, float(-1e-9), 0, device.Rounding{}}, // there is no -0
		{layout.Float16, layout.Float64, math.Float64bits(0x1p-25), 0, device.Rounding{}},
		{layout.Float16, layout.Float64, math.Float64bits(0x1.0000001p-25), 1, device.Rounding{}},
		{layout.Float16, layout.Float32, float(65520), 0x7c00, device.Rounding{}},
		{layout.Float32, layout.Uint64, 1<<24 + 1, float(1 << 24), device.Rounding{}},
		{layout.BFloat16, layout.Float32, 0x3f80ffff, 0x3f81, device.Rounding{}},
		{layout.BFloat16, layout.Float32, 0x3f80ffff, 0x3f80, old},
		{layout.BFloat16, layout.Float32, float(math.MaxFloat32), 0x7f7f, old},
		{layout.Int8, layout.Float32, float(-200.5), 0x80, device.Rounding{}},
		{layout.Int8, layout.Int32, 300, 44, device.Rounding{}},
		{layout.Int4, layout.Float32, float(9.9), 10, device.Rounding{}}, // -6: the low bits of 10
		{layout.Int4, layout.Float32, float(-2.5), 14, device.Rounding{}},
		{layout.Uint2, layout.Float32, float(1.5), 2, device.Rounding{}},
		{layout.Uint2, layout.Float32, float(3.5), 0, device.Rounding{}}, // of 4
		{layout.Uint2, layout.Float32, float(3.5), 3, old},
		{layout.Int4, layout.Float32, float(9.9), 7, old},
		{layout.Uint8, layout.Float32, float(float32(math.NaN())), 0, device.Rounding{}},
		{layout.Bool, layout.Float32, float(float32(math.NaN())), 1, device.Rounding{}},
		{layout.Float4E2M1, layout.Float32, float(2.5), 4, device.Rounding{}}, // to 2, which is even
		{layout.Float8E8M0, layout.Float32, float(1.5), 128, device.Rounding{Scale: device.RoundNearest}},
		{layout.Float8E8M0, layout.Float32, float(1.5), 127, device.Rounding{Scale: device.RoundDown}},
		{layout.Float8E8M0, layout.Float32, float(math.MaxFloat32), 255, loose},
		{layout.Float8E8M0, layout.Float32, float(math.MaxFloat32), 254, device.Rounding{Unsaturated: true, Scale: device.RoundDown}},
		{layout.Float8E8M0, layout.Float32, 0, 0, device.Rounding{}},
	} {
		require.Equalf(t, c.want, Cast(c.to, c.from, c.in, c.how), "%v %#x to %v, %+v", c.from, c.in, c.to, c.how)
	}
}
