package quant

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDescribeModules: configurations of several formats say which weight has which.
func TestDescribeModules(t *testing.T) {
	for text, want := range map[string]map[string]string{
		`{"quant_method":"gptq","bits":4,"group_size":32,"dynamic":{"+:.*b.*":{"bits":8},"-:.*c.*":{}}}`:                                            {"a": "gptq 4", "b": "gptq 8"},
		`{"bits":4,"group_size":64,"x":{"bits":8,"group_size":32},"y":{"mode":"mxfp4"},"z":false}`:                                                  {"a": "mlx 4", "x": "mlx 8", "y": "mlx-mxfp4 4"},
		`{"quant_method":"fp8","weight_block_size":[128,128]}`:                                                                                      {"a": "fp8 0"},
		`{"quant_method":"bitsandbytes","load_in_8bit":true}`:                                                                                       {"a": "llm-int8 0"},
		`{"quant_method":"auto-round","packing_format":"auto_round:auto_gptq","bits":4,"group_size":32,"sym":true,"extra_config":{"b":{"bits":2}}}`: {"a": "gptq 4", "b": "gptq 2"},
		`{"quant_algo":"MIXED_PRECISION","quantized_layers":{"a":{"quant_algo":"NVFP4"},"b*":{"quant_algo":"FP8"}}}`:                                {"a": "nvfp4 0", "b1": "fp8 0"},
		`{"quant_method":"compressed-tensors","format":"mixed-precision","config_groups":{"0":{"format":"pack-quantized","targets":["Linear"],"weights":{"num_bits":4,"type":"int","strategy":"channel"}},
		  "1":{"format":"int-quantized","targets":["re:.*down.*"],"weights":{"num_bits":8,"type":"int","strategy":"channel"}}}}`: {"a": "compressed-tensors 4", "x.down": "compressed-tensors-int8 8"},
	} {
		for _, outer := range []string{`{"quantization_config":` + text + `}`, `{"text_config":{"quantization_config":` + text + `}}`} {
			d, err := Describe(json.RawMessage(outer), nil)
			require.NoError(t, err, text)
			assert.Empty(t, d.Unused, text)
			for module, is := range want {
				f, p := d.Of(module)
				require.NotNil(t, f, text)
				assert.Equal(t, is, f.Name+" "+string(rune('0'+p.Bits)), "%s: %s", text, module)
			}
		}
	}
	d, err := Describe(nil, json.RawMessage(`{"w_bit":4,"q_group_size":64,"zero_point":true,"oddity":1}`))
	require.NoError(t, err)
	assert.Equal(t, awq, d.Format)
	assert.Equal(t, []string{"the configuration.oddity"}, d.Unused)
}

// TestBugBlocksAcrossRows: a weight of bitsandbytes whose blocks cross rows was refused.
func TestBugBlocksAcrossRows(t *testing.T) {
	state := `{"quant_type":"nf4","blocksize":64,"dtype":"bfloat16","shape":[4,96]}`
	w, err := opened(t, bitsandbytes, Params{Group: -1}, Tensor{"w.weight", "U8", []int64{192, 1}, nil}, Tensor{"w.weight.absmax", "F32", []int64{6}, nil}, text("w.weight.quant_state.bitsandbytes__nf4", state))
	require.NoError(t, err)
	p, err := w.Plan(floats32)
	require.NoError(t, err)
	assert.Equal(t, []int64{4, 96}, p.To.Tensors[0].Dims)
	_, err = w.Plan(packed)
	require.ErrorContains(t, err, "they become numbers")
}

// TestBugBesideWeights: tensors beside a weight that nothing uses are named: those of modules in it
// were not.
func TestBugBesideWeights(t *testing.T) {
	w, err := opened(t, gptq, Params{Bits: 4, Group: 32}, tensorOf("w.qweight", "I32", 8, 64), tensorOf("w.scales", "F16", 2, 64))
	require.NoError(t, err)
	assert.Empty(t, w.Beside)
	all, _, _ := FindEach(gptq, func(_, _ string) (Params, bool) { return Params{Bits: 4, Group: 32}, true }, []Tensor{
		tensorOf("w.qweight", "I32", 8, 64), tensorOf("w.scales", "F16", 2, 64), tensorOf("w.bias", "F16", 64), tensorOf("w.oddity", "F16", 64), tensorOf("w.lora_A.weight", "F16", 64),
		tensorOf("w.inner.qweight", "I32", 8, 64), tensorOf("w.inner.scales", "F16", 2, 64), tensorOf("w.inner.bias", "F16", 64),
	})
	require.Len(t, all, 2)
	var names []string
	for _, x := range all[0].Beside {
		names = append(names, x.Name)
	}
	assert.Equal(t, []string{"w.lora_A.weight", "w.oddity"}, names)
	assert.Empty(t, all[1].Beside)
}
