package adversary

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/restride/restride/quant"
)

// configure chooses the flags that describe the source.
func (t *weightsTry) configure(w madeWeight) {
	rng := t.Rand
	t.flags = nil
	if coin(rng, 2) {
		name := w.format.Name
		if coin(rng, 10) {
			name = pick(rng, quant.Formats()...).Name
		}
		t.flags = append(t.flags, "--from", name)
	}
	if len(t.flags) > 0 && !coin(rng, 3) && w.params.Type == "" || coin(rng, 12) {
		bits := w.params.Bits
		if coin(rng, 8) {
			bits = pick[int64](rng, 1, 2, 3, 4, 5, 8, 16)
		}
		t.flags = append(t.flags, "--bits", fmt.Sprint(bits))
	}
	if coin(rng, 16) {
		group := w.params.Group
		if group == 0 || coin(rng, 4) {
			group = pick[int64](rng, -1, 16, 32, 64, 128)
		}
		t.flags = append(t.flags, "--group", fmt.Sprint(group))
	}
}

// writeConfig writes config.json, or returns a file's metadata, or neither: a description of a
// weight, true or not.
func (t *weightsTry) writeConfig(dir string, w madeWeight) (metadata map[string]string, err error) {
	rng := t.Rand
	metadata = map[string]string{}
	if coin(rng, 3) {
		metadata["format"] = "pt"
	}
	said, err := json.Marshal((&quant.Weight{Format: w.format, Params: w.params}).Config())
	if err != nil {
		return nil, err
	}
	switch rng.IntN(20) {
	case 0, 1:
		said = changedJSON(rng, said)
	case 2:
		said = []byte(pick(rng, hostileValues...))
	case 3:
		said = []byte(pick(rng, configurations...))
	}
	if coin(rng, 10) && json.Valid(said) {
		metadata["restride.weights"] = recordOf(t, w)
	}
	switch rng.IntN(6) {
	case 0: // no description
		return metadata, nil
	case 1:
		metadata["quantization_config"] = string(said)
		return metadata, nil
	}
	if coin(rng, 8) { // a file of its own, or beside config.json
		name := pick(rng, "quantize_config.json", "quant_config.json", "hf_quant_config.json")
		if name == "hf_quant_config.json" && coin(rng, 2) {
			said = fmt.Appendf(nil, `{"producer": {"name": "modelopt"}, "quantization": %s}`, said)
		}
		t.said = append(t.said, name+": "+string(said))
		if err := os.WriteFile(filepath.Join(dir, name), said, 0o600); err != nil || coin(rng, 2) {
			return metadata, err
		}
	}
	text := fmt.Appendf(nil, `{"hidden_size": 64, %s "quantization_config": %s}`, pick(rng, "", "", `"model_type": "llama", "num_attention_heads": 4,`, `"limit": [Infinity, -Infinity, NaN],`), said)
	switch rng.IntN(12) {
	case 0:
		text = fmt.Appendf(nil, `{"text_config": {"model_type": "mixtral", "quantization_config": %s}}`, said)
	case 1:
		text = fmt.Appendf(nil, `{"quantization": %s}`, said)
	case 2:
		text = fmt.Appendf(nil, `{"compression_config": %s, "text_config": {"quantization_config": %s}}`, said, pick(rng, configurations...))
	}
	switch rng.IntN(20) {
	case 0:
		text = []byte(pick(rng, "null", "[]", `"x"`, "3", "{}", "", "{", "true", `{"quantization_config": null}`, "[[1]]"))
	case 1:
		text = changedJSON(rng, text)
	}
	t.said = append(t.said, "config.json: "+string(text))
	return metadata, os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600)
}

// configurations are foreign configurations.
var configurations = []string{
	`{"quant_method":"gptq","bits":4,"group_size":32,"desc_act":true,"sym":true}`, `{"quant_method":"gptq","bits":4,"group_size":32,"sym":false}`,
	`{"quant_method":"gptq","bits":8}`, `{"quant_method":"awq","bits":4}`, `{"quant_method":"awq","bits":4,"version":"gemv","group_size":64}`,
	`{"quant_method":"hqq"}`, `{"quant_method":"bitsandbytes","load_in_4bit":true}`, `{"quant_method":"mxfp4"}`, `{"quant_method":"auto-round","bits":4}`,
	`{"quant_method":"modelopt","quant_algo":"NVFP4"}`, `{"quant_method":"packed","bits":4,"group_size":64}`, `{"quant_method":"marlin","bits":4,"group_size":32}`,
	`{"quant_method":"gptq","bits":4,"group_size":32,"dynamic":{"+:.*w.*":{"bits":8},"-:layer1.*":{},"x":{"bits":16}}}`,
	`{"quant_method":"auto-round","packing_format":"auto_round:auto_gptq","bits":4,"group_size":32,"extra_config":{"w":{"bits":8}}}`,
	`{"bits":4,"group_size":64}`, `{"bits":4,"group_size":64,"mode":"affine","w":{"bits":8,"group_size":32},"layer1":false}`, `{"group_size":32,"bits":4,"mode":"mxfp4"}`,
	`{"quant_method":"fp8","weight_block_size":[64,64],"modules_to_not_convert":["lm_head"]}`, `{"quant_method":"bitsandbytes","load_in_8bit":true}`,
	`{"quant_method":"compressed-tensors","format":"mixed-precision","ignore":["re:.*head"],"config_groups":{"a":{"format":"int-quantized","targets":["w"],"weights":{"num_bits":8,"type":"int","strategy":"channel"}},"b":{"format":"float-quantized","targets":["re:layer.*"],"weights":{"num_bits":8,"type":"float","strategy":"block","block_structure":[64,64]}}}}`,
	`{"quant_method":"hqq","quant_config":{"weight_quant_params":{"nbits":4,"group_size":64}},"skip_modules":["lm_head"]}`, `{"w_bit":4,"q_group_size":32,"zero_point":true}`,
	`{"quant_algo":"MIXED_PRECISION","quantized_layers":{"w":{"quant_algo":"NVFP4"},"layer1":{"quant_algo":"FP8"}}}`,
	`{"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"g":{"weights":{"num_bits":4,"type":"int","strategy":"group","group_size":32}}}}`,
	`{"quant_method":"kv-nhd","bits":16}`, `{"quant_method":"tiles128x4","bits":8}`, `{"quant_method":"q4_0","bits":4}`,
}

// recordOf is metadata in repack's form, true or not.
func recordOf(t *weightsTry, w madeWeight) string {
	record := map[string]any{"weights": []any{map[string]any{
		"format": w.format.Name, "bits": max(1, w.params.Bits), "group_size": w.params.Group, "zero_point": w.params.Zeros, "codes": []string{w.tensors[0].Name},
	}}}
	if coin(t.Rand, 2) {
		record["format"] = w.format.Name
	}
	text, err := json.Marshal(record)
	if err != nil {
		return "{"
	}
	if coin(t.Rand, 4) {
		text = changedJSON(t.Rand, text)
	}
	return string(text)
}
