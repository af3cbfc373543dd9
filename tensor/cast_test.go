package tensor_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func TestCast(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			x := keep(t)(tensor.FromSlice(s, []float32{1.9, -2.5, 300, float32(math.NaN()), 0, -1e30}, 2, 3))
			turned := keep(t)(x.Transpose())
			y := keep(t)(turned.Cast(layout.Int8, device.Rounding{}))
			require.Equal(t, tensor.Verdict{Kind: tensor.Copy, Bytes: 6, Kernel: "convert"}, y.Verdict())
			require.Equal(t, layout.Shape{3, 2}, y.Shape())
			require.True(t, new(y.Layout()).IsContiguous())
			got, err := tensor.Values[int8](y)
			require.NoError(t, err)
			require.Equal(t, []int8{1, 0, -2, 0, 127, -128}, got)

			// What a rounding says gets to the device.
			for _, c := range []struct {
				how  device.Rounding
				want byte
			}{{device.Rounding{}, 0x7e}, {device.Rounding{Unsaturated: true}, 0x7f}} {
				z := keep(t)(keep(t)(x.Slice(1, 2, 3, 1)).Cast(layout.Float8E4M3FN, c.how)) // 300 and -1e30
				b, err := z.Bytes()
				require.NoError(t, err)
				require.Equal(t, []byte{0x79, c.want | 0x80}, b)
			}

			same := keep(t)(turned.Cast(layout.Float32, device.Rounding{}))
			require.Equal(t, tensor.View, same.Verdict().Kind)
			require.Equal(t, turned.Layout(), same.Layout())

			s.ForbidCopies(true) // a cast is no silent copy
			keep(t)(turned.Cast(layout.Bool, device.Rounding{}))
			s.ForbidCopies(false)
			empty := keep(t)(tensor.Empty(s, layout.Int4, 3, 0))
			require.Zero(t, keep(t)(empty.Cast(layout.Float64, device.Rounding{})).Count())

			_, err = x.Cast(layout.Complex64, device.Rounding{})
			require.ErrorIs(t, err, device.ErrUnsupported)
			require.ErrorContains(t, err, "Cast of float[2,3]: to complex64: complex numbers are not cast")
			_, err = x.Cast(99, device.Rounding{})
			require.ErrorIs(t, err, device.ErrInvalid)
			_, err = x.Cast(layout.Float8E8M0, device.Rounding{Scale: 7})
			require.ErrorIs(t, err, device.ErrInvalid)
			gone := keep(t)(x.Alias())
			require.NoError(t, gone.Release())
			_, err = gone.Cast(layout.Int8, device.Rounding{})
			require.ErrorIs(t, err, tensor.ErrReleased)
		})
	}
}

// TestFloat4: Cast goes by value, Pack and Unpack by bits.
func TestFloat4(t *testing.T) {
	s := openCPU(t)
	x := keep(t)(tensor.FromBytes(s, layout.Float4E2M1, []byte{0x71, 0x0e}, 3)) // .5, 6, -4
	values, err := tensor.Values[float32](keep(t)(x.Cast(layout.Float32, device.Rounding{})))
	require.NoError(t, err)
	require.Equal(t, []float32{.5, 6, -4}, values)
	bits := keep(t)(x.Unpack())
	got, err := tensor.Values[uint8](bits)
	require.NoError(t, err)
	require.Equal(t, []uint8{1, 7, 14}, got)
	back, err := keep(t)(bits.Pack(layout.Float4E2M1)).Bytes()
	require.NoError(t, err)
	require.Equal(t, []byte{0x71, 0x0e}, back)
}

// Floats were truncated to integers below a byte.
func TestBugFloatsToNarrowIntegersRound(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			x := keep(t)(tensor.FromSlice(open(t), []float64{-2.5, -1.5, -.625, -.5, .5, .625, 1.5, 2.5, 3.5, 6.625, 7.5, 15.5}, 12))
			for to, want := range map[layout.DType][]int64{
				layout.Int4:  {-2, -2, -1, 0, 0, 1, 2, 2, 4, 7, -8, 0},
				layout.Uint4: {14, 14, 15, 0, 0, 1, 2, 2, 4, 7, 8, 0},
				layout.Int2:  {-2, -2, -1, 0, 0, 1, -2, -2, 0, -1, 0, 0},
				layout.Uint2: {2, 2, 3, 0, 0, 1, 2, 2, 0, 3, 0, 0},
			} {
				for _, from := range []layout.DType{layout.Float64, layout.Float32, layout.Float16, layout.BFloat16} {
					narrow := keep(t)(keep(t)(x.Cast(from, device.Rounding{})).Cast(to, device.Rounding{}))
					got, err := tensor.Values[int64](keep(t)(narrow.Cast(layout.Int64, device.Rounding{})))
					require.NoError(t, err)
					require.Equal(t, want, got, "%v to %v", from, to)
				}
			}
		})
	}
}

func TestCastToText(t *testing.T) {
	s := openCPU(t)
	check := func(x *tensor.Tensor, want ...string) {
		t.Helper()
		y := keep(t)(x.Cast(layout.String, device.Rounding{}))
		require.Equal(t, tensor.Copy, y.Verdict().Kind)
		got, err := tensor.Values[string](y)
		require.NoError(t, err)
		require.Equal(t, want, got)
		// It reads back as it was.
		if x.DType() != layout.Bool {
			back, err := keep(t)(y.Cast(x.DType(), device.Rounding{})).Bytes()
			require.NoError(t, err)
			was, err := x.Bytes()
			require.NoError(t, err)
			require.Equal(t, was, back)
		}
	}
	inf := math.Inf(1)
	check(keep(t)(tensor.FromSlice(s, []float32{.064147495, 314.15926, 1e10, 1e-7, -2, 0})), "0.064147495", "314.15927", "10000000000.0", "0.0000001", "-2.0", "0.0")
	check(keep(t)(tensor.FromSlice(s, []float64{math.Pi, inf, -inf, math.NaN(), 0x1p-30})), "3.141592653589793", "INF", "-INF", "NaN", "0.0000000009313225746154785")
	check(keep(t)(tensor.FromSlice(s, []int64{math.MinInt64, -1, math.MaxInt64})), "-9223372036854775808", "-1", "9223372036854775807")
	check(keep(t)(tensor.FromSlice(s, []uint64{1 << 63, math.MaxUint64})), "9223372036854775808", "18446744073709551615")
	check(keep(t)(tensor.FromSlice(s, []bool{true, false})), "True", "False")
	check(keep(t)(tensor.FromBytes(s, layout.Float16, []byte{0x2e, 0x66, 0xff, 0x7b, 0xcd, 0x3c}, 3)), "1582.0", "65500.0", "1.2")
	x := keep(t)(tensor.FromBytes(s, layout.Int4, []byte{0xf7, 0x18}, 4))
	check(keep(t)(x.Slice(0, -1, -9, -2)), "1", "-1")

	words := keep(t)(tensor.FromSlice(s, []string{"a", "b"}))
	require.Equal(t, tensor.View, keep(t)(words.Cast(layout.String, device.Rounding{})).Verdict().Kind)
}

func TestCastFromText(t *testing.T) {
	s := openCPU(t)
	words := keep(t)(tensor.FromSlice(s, []string{"3.14", "1e-5", "1E8", "nan", "+Inf", "-INF", "inf", "-7", "+2", ".5"}, 5, 2))
	y := keep(t)(keep(t)(words.Transpose()).Cast(layout.Float32, device.Rounding{}))
	require.Equal(t, layout.Shape{2, 5}, y.Shape())
	got, err := tensor.Values[float32](y)
	require.NoError(t, err)
	inf := float32(math.Inf(1))
	require.True(t, got[6] != got[6])
	got[6] = 0
	require.Equal(t, []float32{3.14, 1e8, inf, inf, 2, 1e-5, 0, -inf, -7, .5}, got)

	for _, c := range []struct {
		word string
		to   layout.DType
		want []byte
	}{
		{"100.5", layout.Int8, []byte{100}}, {"300", layout.Uint8, []byte{44}}, {"-1", layout.Uint64, []byte{255, 255, 255, 255, 255, 255, 255, 255}},
		{"-3", layout.Int4, []byte{13}},
		{"1e40", layout.Float32, []byte{0, 0, 0x80, 0x7f}}, {"2.5", layout.Float16, []byte{0, 0x41}}, {"1e9", layout.Float8E4M3FN, []byte{0x7e}},
		{"0", layout.Bool, []byte{0}}, {"TRUE", layout.Bool, []byte{1}}, {"false", layout.Bool, []byte{0}}, {"-.5", layout.Bool, []byte{1}},
	} {
		b, err := keep(t)(keep(t)(tensor.FromSlice(s, []string{c.word})).Cast(c.to, device.Rounding{})).Bytes()
		require.NoError(t, err)
		require.Equal(t, c.want, b, "%s to %v", c.word, c.to)
	}
	for _, word := range []string{"Hello World!", "", "0x10", "1_000", "infinity", "--1", "1e", "+", "e5", "12a", " 1"} {
		for _, to := range []layout.DType{layout.Float32, layout.Float16, layout.Int8, layout.Uint64, layout.Bool} {
			_, err := keep(t)(tensor.FromSlice(s, []string{"1", word})).Cast(to, device.Rounding{})
			require.ErrorIs(t, err, device.ErrInvalid, "%q to %v", word, to)
			require.ErrorContains(t, err, "Cast of string[2]: string 1, ")
		}
	}
	fake := openFake(t)
	x := keep(t)(tensor.FromSlice(fake, []float32{1}))
	_, err = x.Cast(layout.String, device.Rounding{})
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "strings are cast on the cpu device only")
}

// TestTextToIntegersIsOneRule: "-1" and "-1.0" gave different numbers as uint64,
// and uint32 others than uint64.
func TestTextToIntegersIsOneRule(t *testing.T) {
	s := openCPU(t)
	integers := []layout.DType{
		layout.Int2, layout.Int4, layout.Int8, layout.Int16, layout.Int32, layout.Int64,
		layout.Uint2, layout.Uint4, layout.Uint8, layout.Uint16, layout.Uint32, layout.Uint64,
	}
	for want, words := range map[uint64][]string{
		math.MaxUint64:    {"-1", "-1.0", "-1e0", "-1.9", "-.1E+1", "18446744073709551615", "18446744073709551615.9", "1844674407370955161.5e1"},
		1 << 63:           {"9223372036854775808", "-9223372036854775808", "-9223372036854775808.5", "9223372036854775808e0"},
		1<<53 + 1:         {"9007199254740993", "9007199254740993.5", "90071992547409935e-1", "+0009007199254740993."},
		100000000000000e5: {"1e19", "10000000000000000000", "0.00001e24", "1000000000000000000000e-2"},
		0:                 {"0", "-0", "-0.9", "0e9999999999", "1e-9999999999", "-.0", "0.99999999999999999999"},
		300:               {"300", "+300.7", "3e2"},
	} {
		for _, to := range integers {
			for _, word := range words {
				b, err := keep(t)(keep(t)(tensor.FromSlice(s, []string{word})).Cast(to, device.Rounding{})).Bytes()
				require.NoError(t, err, "%q to %v", word, to)
				require.Equal(t, want<<(64-to.Bits())>>(64-to.Bits()), binary.LittleEndian.Uint64(append(b, make([]byte, 8)...)), "%q to %v", word, to)
			}
		}
	}
	for _, word := range []string{"18446744073709551616", "-9223372036854775809", "1e20", "-1e19", "1e40", "1e9999999999", "NaN", "INF", "-inf"} {
		for _, to := range integers {
			_, err := keep(t)(tensor.FromSlice(s, []string{word})).Cast(to, device.Rounding{})
			require.ErrorIs(t, err, device.ErrInvalid, "%q to %v", word, to)
		}
	}
}
