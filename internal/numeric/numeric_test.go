package numeric

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
)

// TestDecodeOracle compares every bit pattern of the types of up to 16 bits with the values of
// onnx and ml_dtypes; testdata/generate.py describes the file.
func TestDecodeOracle(t *testing.T) {
	f, err := os.Open("testdata/decoded.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	all, err := io.ReadAll(z)
	require.NoError(t, err)

	for _, dtype := range []layout.DType{
		layout.Float16, layout.BFloat16, layout.Float8E4M3FN, layout.Float8E4M3FNUZ,
		layout.Float8E5M2, layout.Float8E5M2FNUZ, layout.Float8E8M0, layout.Float4E2M1,
		layout.Uint4, layout.Int4, layout.Uint2, layout.Int2,
		layout.Uint8, layout.Int8, layout.Uint16, layout.Int16,
	} {
		packed := allPatterns(dtype)
		n := len(packed) * 8 / dtype.Bits()
		require.GreaterOrEqual(t, len(all), 8*n)
		planes := all[:8*n]
		all = all[8*n:]
		for i := range n {
			var want uint64
			for k := range 8 {
				want |= uint64(planes[k*n+i]) << (8 * k)
			}
			var got float64
			switch KindOf(dtype) {
			case FloatKind:
				got = Float(dtype, packed, int64(i))
			case IntKind:
				got = float64(Int(dtype, packed, int64(i)))
			case UintKind:
				got = float64(Uint(dtype, packed, int64(i)))
			}
			require.Equalf(t, want, math.Float64bits(got), "%v, element %d: got %v, want %v", dtype, i, got, math.Float64frombits(want))
		}
	}
	require.Empty(t, all)
}

func allPatterns(t layout.DType) []byte {
	if t.Bits() == 16 {
		out := make([]byte, 0, 2<<16)
		for i := range 1 << 16 {
			out = binary.LittleEndian.AppendUint16(out, uint16(i))
		}
		return out
	}
	out := make([]byte, 256)
	for i := range out {
		out[i] = byte(i)
	}
	return out
}

func TestDecodeWide(t *testing.T) {
	floats := []float64{0, math.Copysign(0, -1), 1, -1.5, math.Pi, 1e-310, math.SmallestNonzeroFloat64,
		math.MaxFloat64, math.Inf(1), math.Inf(-1), 0x1p-1022, math.MaxFloat32, 0x1p-149, 3e-41}
	var f64, f32 []byte
	for _, v := range floats {
		f64 = binary.LittleEndian.AppendUint64(f64, math.Float64bits(v))
		f32 = binary.LittleEndian.AppendUint32(f32, math.Float32bits(float32(v)))
	}
	for i, v := range floats {
		require.Equal(t, math.Float64bits(v), math.Float64bits(Float(layout.Float64, f64, int64(i))))
		require.Equal(t, math.Float64bits(float64(float32(v))), math.Float64bits(Float(layout.Float32, f32, int64(i))))
	}
	require.Equal(t, complex(-1.5, math.Pi), Complex(layout.Complex128, f64[8:], 1))
	require.Equal(t, complex(1, -1.5), Complex(layout.Complex64, f32, 1))
	nan := binary.LittleEndian.AppendUint32(nil, 0xffc12345)
	require.True(t, math.IsNaN(Float(layout.Float32, nan, 0)))

	ones := []byte{255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0, 0, 0, 0, 0, 128}
	require.Equal(t, int64(-1), Int(layout.Int64, ones, 0))
	require.Equal(t, int64(math.MinInt64+1), Int(layout.Int64, ones, 1))
	require.Equal(t, uint64(math.MaxUint64), Uint(layout.Uint64, ones, 0))
	require.Equal(t, int64(math.MinInt32), Int(layout.Int32, ones, 3))
	require.Equal(t, uint64(1<<31), Uint(layout.Uint32, ones, 3))
	require.Equal(t, uint64(1), Uint(layout.Bool, ones, 8))
}

func TestKinds(t *testing.T) {
	counts := map[Kind]int{}
	for _, dtype := range layout.DTypes() {
		k := KindOf(dtype)
		counts[k]++
		f, ok := FloatFormatOf(dtype)
		require.Equal(t, k == FloatKind, ok, "%v", dtype)
		if ok {
			sign := 1
			if f.Unsigned {
				sign = 0
			}
			require.Equal(t, dtype.Bits(), sign+f.Exponent+f.Mantissa, "%v", dtype)
		}
	}
	require.Equal(t, map[Kind]int{BoolKind: 1, IntKind: 6, UintKind: 6, FloatKind: 10, ComplexKind: 2, StringKind: 1}, counts)
	require.Equal(t, NoKind, KindOf(layout.Invalid))
	require.Panics(t, func() { Bits(make([]byte, 16), 128, 0) })
	require.Panics(t, func() { Bits(nil, 4, 0) })
}
