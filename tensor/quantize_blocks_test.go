package tensor_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestQuantizeBlocks compares with what gguf-py 0.19 makes of the same numbers.
func TestQuantizeBlocks(t *testing.T) {
	var block []float32
	for i := range 32 {
		block = append(block, float32(i*37%64-31)/7)
	}
	zeros := make([]float32, 32)
	for _, c := range []struct {
		to, scale    layout.DType
		scales, want string // of ggml's blocks, whose codes of 4 bits are 16 apart
	}{
		{layout.Uint4, layout.Float16, "92b8", "cf379d047be248bf269df36ad148ae15"},
		{layout.Uint4, layout.Float16, "0080", "88888888888888888888888888888888"},
		{layout.Int8, layout.Float16, "9c28", "8518ad40d467fc9124b94be073089d30c457ec7f14a93cd063f88d20b547dc6f"},
		{layout.Int8, layout.Float16, "0000", "0000000000000000000000000000000000000000000000000000000000000000"},
		{layout.Float4E2M1, layout.Float8E8M0, "7f", "ce529d641bd640be639de52ad651be63"},
		{layout.Float4E2M1, layout.Float8E8M0, "00", "00000000000000000000000000000000"},
	} {
		for name, open := range streams {
			t.Run(name, func(t *testing.T) {
				s := open(t)
				keep := keep(t)
				numbers := block
				if c.want[:4] == "8888" || c.want[:4] == "0000" {
					numbers = zeros
				}
				x := keep(tensor.FromSlice(s, append(append([]float32(nil), numbers...), numbers[:5]...), 37))
				codes, scales, err := x.QuantizeBlocks(c.to, c.scale, 32)
				require.NoError(t, err)
				keep(codes, nil)
				keep(scales, nil)
				require.Equal(t, layout.Shape{37}, codes.Shape())
				require.Equal(t, layout.Shape{2}, scales.Shape())
				got, err := scales.Bytes()
				require.NoError(t, err)
				require.Equal(t, c.scales, hex.EncodeToString(got[:len(got)/2]))
				got, err = codes.Bytes()
				require.NoError(t, err)
				if c.to != layout.Int8 { // in ggml's order
					some := make([]byte, 16)
					for i := range some {
						some[i] = got[i/2]>>(i%2*4)&15 | got[8+i/2]>>(i%2*4)<<4
					}
					got = some
				}
				require.Equal(t, c.want, hex.EncodeToString(got[:min(32, len(got))]))
			})
		}
	}
}

func TestQuantizeBlocksErrors(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			keep := keep(t)
			x := keep(tensor.New(s, layout.Float32, 2, 6))
			for rule, call := range map[string]func() (*tensor.Tensor, *tensor.Tensor, error){
				"blocks of 0 elements": func() (*tensor.Tensor, *tensor.Tensor, error) {
					return x.QuantizeBlocks(layout.Int8, layout.Float16, 0)
				},
				"an axis is wanted": func() (*tensor.Tensor, *tensor.Tensor, error) {
					return keep(tensor.New(s, layout.Float32)).QuantizeBlocks(layout.Int8, layout.Float16, 4)
				},
				"codes of type int4": func() (*tensor.Tensor, *tensor.Tensor, error) {
					return x.QuantizeBlocks(layout.Int4, layout.Float16, 4)
				},
				"it is found as float16, bfloat16 or float": func() (*tensor.Tensor, *tensor.Tensor, error) {
					return x.QuantizeBlocks(layout.Int8, layout.Float8E8M0, 4)
				},
				"floats of up to 32 bits": func() (*tensor.Tensor, *tensor.Tensor, error) {
					return keep(tensor.New(s, layout.Float64, 8)).QuantizeBlocks(layout.Int8, layout.Float16, 4)
				},
			} {
				_, _, err := call()
				require.ErrorIs(t, err, device.ErrInvalid, rule)
				require.ErrorContains(t, err, rule)
			}
		})
	}
}
