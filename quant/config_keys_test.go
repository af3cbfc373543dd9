package quant

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBugInnerKeys: keys of inner objects that nothing uses were not named.
func TestBugInnerKeys(t *testing.T) {
	for text, unused := range map[string]string{
		`{"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"g":{"mystery":1,"weights":{"num_bits":4,"type":"int","strategy":"channel"}}}}`: "config_groups.g.mystery",
		`{"quant_algo":"MIXED_PRECISION","quantized_layers":{"a":{"quant_algo":"NVFP4","mystery":1}}}`:                                                                   "quantized_layers.a.mystery",
		`{"bits":4,"group_size":64,"x":{"bits":8,"mystery":1}}`:                                                                                                          "x.mystery",
		`{"bits":4,"group_size":64,"mystery":{"a":1}}`:                                                                                                                   "mystery",
		`{"quant_method":"hqq","quant_config":{"weight_quant_params":{"nbits":4,"mystery":1}}}`:                                                                          "quant_config.weight_quant_params.mystery",
	} {
		assert.Equal(t, []string{"quantization_config." + unused}, described(t, text).Unused, text)
	}
	d, err := Describe(nil, json.RawMessage(`{"producer":{"name":"x"},"quantization":{"quant_algo":"FP8","mystery":1},"more":1}`))
	require.NoError(t, err)
	assert.Equal(t, []string{"the configuration.more", "the configuration.quantization.mystery"}, d.Unused)
	for text, rule := range map[string]string{
		`{"quant_method":"hqq","quant_config":{"a":{"weight_quant_params":{"nbits":"x"}},"b":{"weight_quant_params":{"nbits":4}}}}`:                            "a.weight_quant_params.nbits: ",
		`{"quant_algo":"MIXED_PRECISION","quantized_layers":{"a":{"quant_algo":"NVFP4","group_size":32}}}`:                                                     "NVFP4 in groups of 32",
		`{"quant_method":"compressed-tensors","format":"float-quantized","config_groups":{"g":{"weights":{"num_bits":8,"type":"float","strategy":"block"}}}}`:  "block_structure has 0 numbers",
		`{"quant_method":"compressed-tensors","format":"nvfp4-pack-quantized","config_groups":{"g":{"weights":{"num_bits":4,"type":"float","group_size":8}}}}`: "nvfp4-pack-quantized",
		`{"bits":4,"group_size":64,"x":{"bits":"x"}}`: "x.bits: ",
	} {
		_, err := Describe(json.RawMessage(`{"quantization_config":`+text+`}`), nil)
		require.ErrorContains(t, err, rule)
	}
}

// TestBugGroupsOfFP8: groups that a configuration names were not used: three groups of 32 were read as
// four of 24.
func TestBugGroupsOfFP8(t *testing.T) {
	d := described(t, `{"quant_method":"compressed-tensors","format":"float-quantized","config_groups":{"g":{"weights":{"num_bits":8,"type":"float","strategy":"group","group_size":32}}}}`)
	weight := tensorOf("w.weight", "F8_E4M3", 64, 96)
	_, _, err := d.Find([]Tensor{weight, tensorOf("w.weight_scale", "BF16", 64, 4)})
	require.ErrorContains(t, err, "scales of shape [64,4] for numbers of shape [64,96] in blocks of 1 by 32")
	all, _, err := d.Find([]Tensor{weight, tensorOf("w.weight_scale", "BF16", 64, 3)})
	require.NoError(t, err)
	assert.EqualValues(t, 32, all[0].Params.Group)
}

// TestBugExpressionsOfAutoRound: regular expressions were read as names.
func TestBugExpressionsOfAutoRound(t *testing.T) {
	d := described(t, `{"quant_method":"auto-round","packing_format":"auto_round:auto_gptq","bits":4,"group_size":32,"sym":true,"extra_config":{".*q_proj":{"bits":8},"a.q_proj":{"bits":2},"k_proj$":{"bits":16}}}`)
	for name, bits := range map[string]int64{"a.q_proj": 2, "b.q_proj": 8, "b.up_proj": 4} {
		_, p := d.Of(name)
		assert.Equal(t, bits, p.Bits, name)
	}
	assert.True(t, d.Modules.match("a.k_proj"))
	assert.False(t, d.Modules.match("a.k_proj2"))
}
