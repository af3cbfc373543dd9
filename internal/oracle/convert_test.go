package oracle

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/rounding"
	"github.com/restride/restride/layout"
)

// TestConvertTables compares special values, as in ONNX's tables, and the edges of each format
// with numbers written by hand.
func TestConvertTables(t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	var (
		usual  = device.Rounding{}
		loose  = device.Rounding{Unsaturated: true}
		legacy = device.Rounding{Legacy: true}
		down   = device.Rounding{Scale: device.RoundDown}
		near   = device.Rounding{Scale: device.RoundNearest}
		downU  = device.Rounding{Scale: device.RoundDown, Unsaturated: true}
		nearU  = device.Rounding{Scale: device.RoundNearest, Unsaturated: true}
	)
	for _, c := range []struct {
		to   layout.DType
		how  device.Rounding
		v    float64
		want uint64
	}{
		{layout.Float8E4M3FN, usual, 0, 0}, {layout.Float8E4M3FN, usual, zero, 0x80}, {layout.Float8E4M3FN, usual, nan, 0x7f},
		{layout.Float8E4M3FN, usual, inf, 0x7e}, {layout.Float8E4M3FN, usual, -inf, 0xfe}, {layout.Float8E4M3FN, usual, 1e6, 0x7e},
		{layout.Float8E4M3FN, loose, inf, 0x7f}, {layout.Float8E4M3FN, loose, -inf, 0xff}, {layout.Float8E4M3FN, loose, -1e6, 0xff},
		{layout.Float8E4M3FN, loose, 464, 0x7e}, {layout.Float8E4M3FN, loose, 464.1, 0x7f}, {layout.Float8E4M3FN, loose, 448, 0x7e},
		{layout.Float8E4M3FNUZ, usual, 0, 0}, {layout.Float8E4M3FNUZ, usual, zero, 0}, {layout.Float8E4M3FNUZ, usual, nan, 0x80},
		{layout.Float8E4M3FNUZ, usual, inf, 0x7f}, {layout.Float8E4M3FNUZ, usual, -inf, 0xff}, {layout.Float8E4M3FNUZ, usual, -1e-9, 0},
		{layout.Float8E4M3FNUZ, loose, inf, 0x80}, {layout.Float8E4M3FNUZ, loose, -1e6, 0x80},
		{layout.Float8E5M2, usual, nan, 0x7e}, {layout.Float8E5M2, usual, inf, 0x7b}, {layout.Float8E5M2, usual, -1e6, 0xfb},
		{layout.Float8E5M2, loose, inf, 0x7c}, {layout.Float8E5M2, loose, -1e6, 0xfc}, {layout.Float8E5M2, loose, 61439, 0x7b},
		{layout.Float8E5M2, loose, 61440, 0x7c}, {layout.Float8E5M2, loose, -nan, 0xfe},
		{layout.Float8E5M2FNUZ, usual, zero, 0}, {layout.Float8E5M2FNUZ, usual, -inf, 0xff}, {layout.Float8E5M2FNUZ, loose, -inf, 0x80},
		{layout.Float8E8M0, usual, 0, 0}, {layout.Float8E8M0, usual, 1, 127}, {layout.Float8E8M0, usual, -1, 127},
		{layout.Float8E8M0, usual, 1.1, 128}, {layout.Float8E8M0, down, 1.9, 127}, {layout.Float8E8M0, near, 1.5, 128},
		{layout.Float8E8M0, near, 1.49, 127}, {layout.Float8E8M0, usual, inf, 254}, {layout.Float8E8M0, usual, 1e300, 254},
		{layout.Float8E8M0, usual, nan, 255}, {layout.Float8E8M0, nearU, 0, 255}, {layout.Float8E8M0, nearU, inf, 255},
		// The rounded value decides the range.
		{layout.Float8E8M0, nearU, 0x1.2p127, 254}, {layout.Float8E8M0, nearU, 0x1.8p127, 255}, {layout.Float8E8M0, nearU, 0x1p127, 254},
		{layout.Float8E8M0, downU, 0x1.fp127, 254}, {layout.Float8E8M0, downU, 0x1p128, 255}, {layout.Float8E8M0, loose, 0x1.1p127, 255},
		{layout.Float8E8M0, nearU, 0x1.8p-128, 0}, {layout.Float8E8M0, nearU, 0x1.7p-128, 255}, {layout.Float8E8M0, downU, 0x1.fp-128, 255},
		{layout.Float8E8M0, loose, 0x1.1p-128, 0}, {layout.Float8E8M0, loose, 0x1p-128, 255}, {layout.Float8E8M0, loose, 0x1p-127, 0},
		{layout.Float8E8M0, near, 0x1.8p-128, 0}, {layout.Float8E8M0, near, 0x1.8p127, 254}, {layout.Float8E8M0, usual, 5e-324, 0},
		{layout.Float4E2M1, usual, nan, 8}, {layout.Float4E2M1, legacy, nan, 7}, {layout.Float4E2M1, usual, inf, 7},
		{layout.Float4E2M1, loose, -9, 15}, {layout.Float4E2M1, usual, .25, 0}, {layout.Float4E2M1, usual, .75, 2},
		{layout.Float4E2M1, usual, -3.5, 14}, {layout.Float4E2M1, usual, 5, 6}, {layout.Float4E2M1, usual, zero, 8},
		{layout.Float16, usual, 65519.9, 0x7bff}, {layout.Float16, usual, 65520, 0x7c00}, {layout.Float16, usual, -inf, 0xfc00},
		{layout.Float16, usual, 0x1p-25, 0}, {layout.Float16, usual, 0x1.0000000001p-25, 1}, {layout.Float16, usual, nan, 0x7e00},
		{layout.Float16, usual, 1 + 0x1p-11 + 0x1p-40, 0x3c01}, // rounded twice, through float: 0x3c00
		{layout.BFloat16, usual, 0x1.01p0, 0x3f80}, {layout.BFloat16, usual, 0x1.03p0, 0x3f82}, {layout.BFloat16, usual, 3.4e38, 0x7f80},
		{layout.BFloat16, legacy, 0x1.03p0, 0x3f81}, {layout.BFloat16, legacy, -1e39, 0xff7f}, {layout.BFloat16, legacy, inf, 0x7f80},
		{layout.Float32, usual, 1e39, 0x7f800000}, {layout.Float32, usual, 0x1p-149, 1}, {layout.Float64, usual, nan, 0x7ff8 << 48},
		{layout.Bool, usual, zero, 0}, {layout.Bool, usual, nan, 1}, {layout.Bool, usual, 1e-300, 1}, {layout.Bool, usual, -3, 1},
		{layout.Int8, usual, 127.9, 127}, {layout.Int8, usual, 128, 127}, {layout.Int8, usual, -1e9, 0x80}, {layout.Int8, usual, nan, 0},
		{layout.Uint8, usual, -.9, 0}, {layout.Uint8, usual, -1, 0}, {layout.Uint8, usual, 1e3, 255}, {layout.Int64, usual, inf, 1<<63 - 1},
		{layout.Int64, usual, -inf, 1 << 63}, {layout.Uint64, usual, 1e30, 1<<64 - 1}, {layout.Uint64, usual, 0x1p63, 1 << 63},
		{layout.Int4, usual, -9, 7}, {layout.Int4, usual, 8.5, 8}, {layout.Int4, legacy, 8.5, 7}, {layout.Int4, legacy, -9, 8},
		{layout.Uint4, usual, -9, 7}, {layout.Uint4, legacy, -9, 0}, {layout.Uint4, usual, inf, 0}, {layout.Uint4, legacy, inf, 15},
		{layout.Int2, usual, -3, 1}, {layout.Int2, usual, 2.9, 3}, {layout.Int2, usual, -1.5, 2}, {layout.Uint4, usual, 2.5, 2}, {layout.Uint4, usual, 3.5, 4}, {layout.Uint4, usual, 15.5, 0}, {layout.Uint4, legacy, 15.5, 15}, {layout.Int4, usual, -.5, 0}, {layout.Int2, legacy, 2.9, 1}, {layout.Uint2, usual, 1e30, 0},
	} {
		var src [8]byte
		binary.LittleEndian.PutUint64(src[:], math.Float64bits(c.v))
		if got := encode(c.to, decode(layout.Float64, src[:], 0), c.how); got != c.want {
			t.Errorf("%v to %v, %+v: got %#x, want %#x", c.v, c.to, c.how, got, c.want)
		}
	}
	for _, c := range []struct {
		to   layout.DType
		v    int64
		want uint64
	}{
		{layout.Float16, 1<<62 + 1, 0x7c00}, {layout.Float32, 1<<24 + 1, 0x4b800000}, {layout.Float32, 1<<40 + 1<<16 + 1, 0x53800001},
		{layout.BFloat16, -257, 0xc380}, {layout.Float64, 1<<53 + 1, 0x4340000000000000}, {layout.Int8, 200, 200}, {layout.Uint4, -1, 15},
		{layout.Float8E8M0, 3, 129}, {layout.Bool, -4, 1}, {layout.Uint64, -1, 1<<64 - 1}, {layout.Float4E2M1, 100, 7},
	} {
		var src [8]byte
		binary.LittleEndian.PutUint64(src[:], uint64(c.v))
		if got := encode(c.to, decode(layout.Int64, src[:], 0), device.Rounding{}); got != c.want {
			t.Errorf("%d to %v: got %#x, want %#x", c.v, c.to, got, c.want)
		}
	}
}

// TestConvertKeepsValues: values of a type survive a conversion to a type that has them, too,
// and Edge finds values that do not.
func TestConvertKeepsValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, from := range layout.DTypes() {
		if !isNumber(from) {
			continue
		}
		changed := map[string]bool{}
		for range 600 {
			for _, to := range layout.DTypes() {
				if !isNumber(to) {
					continue
				}
				bits := Edge(rng, to, from)
				n := decode(from, bytesOf(from, bits), 0)
				back := decode(to, bytesOf(to, encode(to, n, device.Rounding{})), 0)
				if n != back {
					changed[fmt.Sprint(to)] = true
				}
				wide := to == layout.Float64 && from != layout.Int64 && from != layout.Uint64
				if wide && !n.integer && (n.real != back.real || n.nan != back.nan) {
					t.Fatalf("%v %#x to %v gives %+v, want %+v", from, bits, to, back, n)
				}
			}
		}
		if width := from.Bits(); width >= 16 && len(changed) < 18 {
			t.Errorf("%v: Edge finds values only that stay as they are in %d types", from, 24-len(changed))
		}
	}
}

// TestRoundingFor: options that Rounding.For drops have no effect, and those that it keeps have
// one.
func TestRoundingFor(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, to := range layout.DTypes() {
		if !isNumber(to) {
			continue
		}
		for i := range 2 * 2 * 3 {
			how := device.Rounding{Unsaturated: i&1 != 0, Legacy: i&2 != 0, Scale: device.RoundDirection(i / 4)}
			matters := rounding.For(how, to) == device.Rounding{}
			for range 3000 {
				n := decode(layout.Float32, bytesOf(layout.Float32, Edge(rng, to, layout.Float32)), 0)
				got := encode(to, n, how)
				if want := encode(to, n, rounding.For(how, to)); got != want {
					t.Fatalf("%+v to %v: %#x with %+v, %#x with what is left of it", n, to, got, how, want)
				}
				matters = matters || got != encode(to, n, device.Rounding{})
			}
			if !matters {
				t.Errorf("%v: %+v is as good as none, but %+v is left of it", to, how, rounding.For(how, to))
			}
		}
	}
}

func bytesOf(t layout.DType, bits uint64) []byte {
	if numeric.KindOf(t) == numeric.NoKind {
		panic(t)
	}
	return binary.LittleEndian.AppendUint64(nil, bits)
}
