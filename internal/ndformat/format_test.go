package ndformat

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
)

type oracleCase struct {
	DType  string       `json:"dtype"`
	Shape  layout.Shape `json:"shape"`
	Packed string       `json:"packed"`
	Strs   []string     `json:"strs"`
	Want   string       `json:"want"`
}

// TestNumpyOracle compares with numpy's str of the same arrays (see testdata/generate.py).
// RESTRIDE_NDFORMAT_CASES names another file of such cases, to compare more than are stored
// here.
func TestNumpyOracle(t *testing.T) {
	path := os.Getenv("RESTRIDE_NDFORMAT_CASES")
	if path == "" {
		path = "testdata/numpy.json"
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var cases []oracleCase
	require.NoError(t, json.Unmarshal(data, &cases))
	require.NotEmpty(t, cases)
	for i, c := range cases {
		dtype, err := layout.ParseDType(c.DType)
		require.NoError(t, err)
		packed, err := hex.DecodeString(c.Packed)
		require.NoError(t, err)
		got := Format(dtype, c.Shape, packed, c.Strs)
		require.Equalf(t, c.Want, got, "case %d, %v%v:\n%s\nnumpy:\n%s", i, dtype, c.Shape, got, c.Want)
	}
}

func TestBFloat16(t *testing.T) {
	for _, c := range []struct {
		want   string
		shape  layout.Shape
		values []float32
	}{
		{"[0.1 0.2 0.3]", layout.Shape{3}, []float32{0.1, 0.2, 0.3}},
		{"[ 1.   -2.5   3.14]", layout.Shape{3}, []float32{1, -2.5, 3.140625}},
		{"[99.5  1. ]", layout.Shape{2}, []float32{99.5, 1}},
		{"[1.e+02 1.e+00]", layout.Shape{2}, []float32{100, 1}},
		{"[nan inf]", layout.Shape{2}, []float32{float32(math.NaN()), float32(math.Inf(1))}},
		{"[[9.18e-41]\n [3.39e+38]]", layout.Shape{2, 1}, []float32{1e-40, 3.3895314e38}},
		{"1.0", layout.Shape{}, []float32{1}},
		{"0.1", layout.Shape{}, []float32{0.1}},
		{"1.5e+02", layout.Shape{}, []float32{150}},
	} {
		var packed []byte
		for _, v := range c.values {
			packed = binary.LittleEndian.AppendUint16(packed, uint16((math.Float32bits(v)+0x8000)>>16))
		}
		require.Equal(t, c.want, Format(layout.BFloat16, c.shape, packed, nil))
	}
}

// TestShortest: the digits of every bfloat16 and float16 identify it.
func TestShortest(t *testing.T) {
	for _, g := range []grid{gridOf(layout.BFloat16), gridOf(layout.Float16)} {
		for m := range uint64(1) << g.mantissa {
			for _, unit := range []int{g.least, g.least + 1, g.least + 7, -9, -1, 0, 3} {
				if m < 1<<(g.mantissa-1) && unit != g.least || m == 0 {
					continue
				}
				v := math.Ldexp(float64(m), unit)
				d := g.decimal(v, 1, unlimited)
				read := parse(t, d)
				require.Equal(t, v, math.Ldexp(math.RoundToEven(math.Ldexp(read, -unit)), unit), "%v", d)
				if n := len(d.digits); n > 1 { // no shorter one does
					for _, shorter := range []decimal{{digits: d.digits[:n-1], exp: d.exp}, bumped(d, n-1)} {
						read := parse(t, shorter)
						below := v - math.Ldexp(1, unit-1)
						if m == 1<<(g.mantissa-1) && unit > g.least {
							below = v - math.Ldexp(1, unit-2)
						}
						require.False(t, read > below && read < v+math.Ldexp(1, unit-1), "%v for %v", shorter, v)
					}
				}
			}
		}
	}
}

func bumped(d decimal, n int) decimal {
	digits, exp := increment([]byte(d.digits[:n]), d.exp)
	return decimal{digits: string(digits), exp: exp}
}

func parse(t *testing.T, d decimal) float64 {
	var v float64
	whole, frac, exp := d.scientific()
	require.NoError(t, json.Unmarshal([]byte(whole+"."+frac+"0e"+exponent(exp, 2)), &v))
	return v
}

func TestEdges(t *testing.T) {
	require.Equal(t, `['\xff' 'a\xc3']`, Format(layout.String, layout.Shape{2}, nil, []string{"\xff", "a\xc3"}))
	require.Equal(t, layout.Shape{1000}, Kept(layout.Shape{1000}))
	require.Equal(t, layout.Shape{6, 1, 6}, Kept(layout.Shape{7, 1, 1000}))
	require.Equal(t, layout.Shape{6, 6}, Kept(layout.Shape{1 << 40, 1 << 40}))
	require.Equal(t, "[1 1 1 ... 1 1 1]", Format(layout.Uint4, layout.Shape{1 << 62}, []byte{0x11, 0x11, 0x11}, nil))
	require.Contains(t, Format(layout.Int8, layout.Shape{-1}, nil, nil), "negative")
}
