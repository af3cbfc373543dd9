package quant

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/restride/restride/cpu"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// madeByGGUF are blocks that gguf-py 0.19 makes of the numbers (i*37%64 - 31) / 7, 0 <= i < 32.
var madeByGGUF = map[string]string{
	"q4_0":  "92b8cf379d047be248bf269df36ad148ae15",
	"q8_0":  "9c288518ad40d467fc9124b94be073089d30c457ec7f14a93cd063f88d20b547dc6f",
	"mxfp4": "7fce529d641bd640be639de52ad651be63",
}

// TestNumbersToBlocks: numbers become gguf-py's blocks, at once and by pieces.
func TestNumbersToBlocks(t *testing.T) {
	s, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	tensor.CheckLeaks(t, s)
	for name, want := range madeByGGUF {
		for _, dims := range [][]int64{{4, 64}, {2, 3, 32}} {
			w := only(t, floats, Params{}, []Tensor{{"w.weight", "F32", dims, nil}})
			to, err := Lookup(name)
			require.NoError(t, err)
			plan, err := w.Plan(to)
			require.NoError(t, err)
			assert.Equal(t, strings.ToUpper(name), plan.To.Tensors[0].Type)
			_, err = plan.Back()
			require.ErrorContains(t, err, "do not come back")
			for _, memory := range []int64{1 << 20, plan.Least()} {
				pieces, err := plan.Cut(memory)
				require.NoError(t, err)
				require.Equal(t, memory == 1<<20, pieces.Len == 1)
				for i := range pieces.Len {
					piece := pieces.At(i)
					src := ofNumbers(t, s, piece.Src[0].Size()/4)
					got, err := piece.Run(s, Memory{"w.weight": src})
					require.NoError(t, err)
					b, err := got["w.weight"].Bytes()
					require.NoError(t, err)
					require.Equal(t, strings.Repeat(want, int(src.Count()/128)), hex.EncodeToString(b), "%s %v", name, dims)
					require.NoError(t, src.Release())
					require.NoError(t, got.Release())
				}
			}
		}
	}
}

func ofNumbers(t *testing.T, s *tensor.Stream, count int64) *tensor.Tensor {
	var b []byte
	for i := range int(count) {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i%32*37%64-31)/7))
	}
	x, err := tensor.FromBytes(s, layout.Uint8, b, int64(len(b)))
	require.NoError(t, err)
	return x
}

// TestNumbersRefused: what numbers cannot become.
func TestNumbersRefused(t *testing.T) {
	of := func(typ string, dims ...int64) *Weight {
		return only(t, floats, Params{}, []Tensor{{"w.weight", typ, dims, nil}})
	}
	codes := shown{"", packed, Params{Bits: 4, Group: 128, Scale: "F16"}}.weight(t)
	for _, c := range []struct {
		rule string
		w    *Weight
		to   *Format
	}{
		{"K is 48; a multiple of 32 is wanted", of("F32", 4, 48), q40},
		{"numbers of type F64", of("F64", 4, 64), q80},
		{"numbers become q4_0, q8_0 and mxfp4", of("F16", 4, 64), gptq},
		{"numbers become q4_0, q8_0 and mxfp4", of("F16", 4, 64), gguf},
		{"the weight has numbers already", of("F16", 4, 64), floats16},
		{"it is made of numbers", codes, mxfp4},
	} {
		_, err := c.w.Plan(c.to)
		require.ErrorIs(t, err, layout.ErrUnsupported, c.rule)
		assert.ErrorContains(t, err, c.rule)
	}
}
