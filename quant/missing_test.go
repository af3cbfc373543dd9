package quant

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// content4 is a tensor of I32 with the same word everywhere.
func content4(name string, word uint32, dims ...int64) Tensor {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	one := []byte{byte(word), byte(word >> 8), byte(word >> 16), byte(word >> 24)}
	return content(name, "I32", bytes.Repeat(one, int(n)), dims...)
}

func described(t *testing.T, text string) *Description {
	d, err := Describe(json.RawMessage(`{"quantization_config":`+text+`}`), nil)
	require.NoError(t, err, text)
	return d
}

// TestBugMissingScales: FP8 whose scales are in a file that is not there was read as plain numbers.
func TestBugMissingScales(t *testing.T) {
	weight := tensorOf("w.weight", "F8_E4M3", 256, 256)
	for _, text := range []string{
		`{"quant_method":"fp8","weight_block_size":[128,128]}`, `{"quant_method":"fbgemm_fp8"}`, `{"quant_method":"modelopt","quant_algo":"FP8"}`,
		`{"quant_algo":"MIXED_PRECISION","quantized_layers":{"w":{"quant_algo":"FP8"}}}`,
		`{"quant_method":"compressed-tensors","format":"float-quantized","config_groups":{"g":{"weights":{"num_bits":8,"type":"float","strategy":"channel"}}}}`,
	} {
		d := described(t, text)
		_, _, err := d.Find([]Tensor{weight})
		require.ErrorContains(t, err, `there is no tensor of scales beside "w.weight"`, text)
		if d.Params.Rows == 0 {
			all, _, err := d.Find([]Tensor{weight, tensorOf("w.weight_scale", "F32")})
			require.NoError(t, err, text)
			assert.False(t, all[0].Params.Scaled)
			continue
		}
		_, _, err = d.Find([]Tensor{weight, tensorOf("w.weight_scale_inv", "F32", 1, 1)})
		require.ErrorContains(t, err, "scales of shape [1,1] for numbers of shape [256,256] in blocks of 128 by 128")
		_, _, err = d.Find([]Tensor{weight, tensorOf("w.weight_scale_inv", "F32", 2, 2)})
		require.NoError(t, err)
	}
	_, err := opened(t, fp8, Params{Group: -1}, weight)
	require.NoError(t, err)
}

// TestBugMissingZeros: zero points that were not there became half of the range, and those of a
// symmetric weight were passed over.
func TestBugMissingZeros(t *testing.T) {
	all := []Tensor{tensorOf("w.qweight", "I32", 8, 64), tensorOf("w.scales", "F16", 2, 64)}
	p := Params{Bits: 4, Group: 32, Zeros: true, ZeroLess: true}
	_, err := opened(t, gptq, p, all...)
	require.ErrorContains(t, err, "w has no tensor of zero points, and is described as not symmetric")
	p.Zeros = false
	for word, fits := range map[uint32]bool{0: false, 0x77777777: true, 0x88888888: false, 0x77777771: false} {
		w, err := opened(t, gptq, p, append(all, content4("w.qzeros", word, 2, 8))...)
		require.NoError(t, err)
		require.Equal(t, !fits, w.ZerosIgnored, "%x", word)
	}
	assert.Equal(t, []uint32{0x24924924, 0x49249249, 0x92492492}, middles(Params{Bits: 3}))
	w, err := opened(t, awq, Params{Bits: 4, Group: 32}, tensorOf("w.qweight", "I32", 64, 8), tensorOf("w.scales", "F16", 2, 64), content4("w.qzeros", 0, 2, 8))
	require.NoError(t, err)
	require.True(t, w.ZerosIgnored)
	gemv := []Tensor{tensorOf("w.qweight", "I32", 64, 8), tensorOf("w.scales", "F16", 64, 32)}
	for word, fits := range map[uint32]bool{0x88: true, 0x87: false} { // the rest of a row is padding
		w, err := opened(t, awqGEMV, Params{Bits: 4, Group: 32}, append(gemv, content4("w.qzeros", word, 64, 4))...)
		require.NoError(t, err)
		assert.Equal(t, !fits, w.ZerosIgnored, "%x", word)
	}
}
