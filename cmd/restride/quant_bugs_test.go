package main

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
)

// compressedConfig is a configuration of compressed-tensors, with 4 bits and groups of 32.
const compressedConfig = `{"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["re:.*visual.*"], "surprise": 1,
 "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "symmetric": true, "strategy": "group", "group_size": 32, "actorder": "group"}}}}}`

// halves are BF16's or F16's numbers 1, 2, 3 and so on.
func halves(n int, bf16 bool) (b []byte) {
	for i := range n {
		bits := math.Float32bits(float32(i%64 + 1))
		half := uint16(bits >> 16)
		if !bf16 {
			half = uint16((bits>>23-112)<<10 | bits>>13&1023)
		}
		b = binary.LittleEndian.AppendUint16(b, half)
	}
	return b
}

func folder(t *testing.T, config string, fill map[string][]byte, tensors ...*checkpoint.Tensor) (dir string) {
	dir = t.TempDir()
	writeFilled(t, filepath.Join(dir, "model.safetensors"), fill, tensors...)
	if config != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600))
	}
	return dir
}

// repacked converts a folder to a file.
func repacked(t *testing.T, dir, to string, more ...string) (path, out string) {
	path = filepath.Join(t.TempDir(), "out.safetensors")
	if to == "gguf" || strings.HasPrefix(to, "q") {
		path = strings.TrimSuffix(path, "safetensors") + "gguf"
	}
	out, err := restride(append([]string{"repack", dir, "--to", to, "--output", path, "--verify"}, more...)...)
	require.NoError(t, err)
	return path, out
}

// TestBugOrderOfGroups: weight_g_idx of compressed-tensors was not used, and an order made up.
func TestBugOrderOfGroups(t *testing.T) {
	var order []byte
	for k := range 64 {
		order = binary.LittleEndian.AppendUint32(order, uint32(1-k%2))
	}
	dir := folder(t, compressedConfig, map[string][]byte{"w.weight_g_idx": order, "w.weight_scale": halves(16, true)},
		safetensor(t, "w.weight_packed", "I32", 8, 8), safetensor(t, "w.weight_scale", "BF16", 8, 2), safetensor(t, "w.weight_g_idx", "I32", 64))
	path, out := repacked(t, dir, "float32")
	assert.Contains(t, out, "numbers of 1 weights compared")
	assert.Contains(t, out, "not used in config.json: quantization_config.surprise")
	codes := tensorBytes(t, filepath.Join(dir, "model.safetensors"), "w.weight_packed")
	for i, x := range floats(tensorBytes(t, path, "w.weight")) {
		n, k := i/64, i%64
		code := int(codes[(n*64+k)/2]>>(k%2*4)&15) - 8
		require.Equal(t, float32(code*(2*n+1-k%2+1)), x, "row %d, column %d", n, k)
	}
	path, _ = repacked(t, dir, "gptq")
	assert.Equal(t, order, tensorBytes(t, path, "w.g_idx"))
	_, err := restride("repack", dir, "--to", "awq", "--output", filepath.Join(t.TempDir(), "out.safetensors"))
	require.ErrorContains(t, err, "for which it has no place")
}

// TestBugOddWeight: one weight that cannot be opened stopped inspect, and repack of others.
func TestBugOddWeight(t *testing.T) {
	dir := folder(t, gptqConfig, nil, safetensor(t, "a.qweight", "I32", 16, 64), safetensor(t, "a.scales", "F16", 4, 64),
		safetensor(t, "odd.qweight", "I32", 16, 64), safetensor(t, "odd.scales", "F16", 5, 64))
	out, err := restride("inspect", dir)
	require.NoError(t, err)
	assert.Contains(t, out, "1 weights cannot be opened")
	assert.Contains(t, out, "\nodd: ")
	_, err = restride("repack", dir, "--to", "awq", "--output", filepath.Join(t.TempDir(), "out.safetensors"))
	require.ErrorContains(t, err, "--only converts those")
	path, _ := repacked(t, dir, "awq", "--only", "^a")
	assert.NotEmpty(t, tensorBytes(t, path, "odd.qweight"))
}

// TestBugUnquantisedModules: the modules that are not quantised were not named to loaders, and what
// belongs to a model beside its weights stayed behind.
func TestBugUnquantisedModules(t *testing.T) {
	config := strings.Replace(gptqConfig, `"sym": true`, `"sym": true, "dynamic": {"-:.*visual.*": {}}, "limit": Infinity`, 1)
	dir := folder(t, config, nil, safetensor(t, "a.qweight", "I32", 16, 64), safetensor(t, "a.scales", "F16", 4, 64),
		safetensor(t, "lm_head.weight", "F16", 8, 8), safetensor(t, "x.visual.b.weight", "F16", 8, 8))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte("{}"), 0o600))
	for to, want := range map[string]string{
		"compressed-tensors": `"ignore":["re:.*visual.*","lm_head"]`, "awq": `"modules_to_not_convert":["lm_head","x.visual.b"]`,
		"gptq": `"dynamic":{"-:.*visual.*":{},"-:lm_head$":{}}`,
	} {
		output := filepath.Join(t.TempDir(), "out")
		_, err := restride("repack", dir, "--to", to, "--output", output)
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(output, "config.json"))
		require.NoError(t, err)
		assert.Contains(t, strings.Join(strings.Fields(string(text)), ""), want)
		assert.FileExists(t, filepath.Join(output, "tokenizer.json"))
		assert.Equal(t, checkpoint.ValueOf("pt"), metadataOf(t, filepath.Join(output, "model.safetensors"))["format"])
		_, err = restride("inspect", output)
		require.NoError(t, err)
	}
}

// TestBugConfigurations: configurations in other places than config.json, or in a part of it, were
// not found; exceptions of some modules, and numbers as Python writes them, were refused.
func TestBugConfigurations(t *testing.T) {
	quantization := `{"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": true, "dynamic": {"+:.*b.*": {"bits": 8, "group_size": 64}}}`
	for name, config := range map[string]string{
		"config.json": `{"limit": [Infinity, NaN], "quantization_config": ` + quantization + `}`, "quantize_config.json": quantization,
		"text_config": `{"text_config": {"quantization_config": ` + quantization + `}}`,
	} {
		dir := folder(t, "", nil, safetensor(t, "a.qweight", "I32", 8, 64), safetensor(t, "a.scales", "F16", 2, 64),
			safetensor(t, "b.qweight", "I32", 16, 64), safetensor(t, "b.scales", "F16", 1, 64))
		if name == "text_config" {
			name = "config.json"
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(config), 0o600))
		path, _ := repacked(t, dir, "float32")
		assert.Len(t, tensorBytes(t, path, "b.weight"), 4*64*64)
		output := filepath.Join(t.TempDir(), "out")
		_, err := restride("repack", dir, "--to", "packed", "--output", output)
		require.NoError(t, err)
		if text, err := os.ReadFile(filepath.Join(output, "config.json")); err == nil {
			assert.Equal(t, strings.Contains(config, "NaN"), strings.Contains(string(text), "Infinity"))
			assert.NotContains(t, string(text), `"gptq"`)
		}
	}
}

// TestBugFilesOfCheckpoints: files numbered without an index were not opened together, and tensors
// that an index leaves out were left out without a word.
func TestBugFilesOfCheckpoints(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("config.json"), []byte(gptqConfig), 0o600))
	writeTensors(t, at("model-00001-of-00002.safetensors"), safetensor(t, "a.qweight", "I32", 8, 64))
	out, err := restride("inspect", dir)
	require.NoError(t, err)
	assert.Contains(t, out, "files that are not there: model-00002-of-00002.safetensors")
	writeTensors(t, at("model-00002-of-00002.safetensors"), safetensor(t, "a.scales", "F16", 2, 64), safetensor(t, "more", "F16", 2))
	for _, source := range []string{dir, at("model-00002-of-00002.safetensors")} {
		out, err := restride("inspect", source)
		require.NoError(t, err)
		assert.Contains(t, out, "1 weights of format gptq")
	}
	index, err := json.Marshal(map[string]any{"weight_map": map[string]string{"a.qweight": "model-00001-of-00002.safetensors", "a.scales": "model-00002-of-00002.safetensors"}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(at("model.safetensors.index.json"), index, 0o600))
	out, err = restride("inspect", dir)
	require.NoError(t, err)
	assert.Contains(t, out, "tensors that the index leaves out: more")
}

// TestBugLlamaNames: experts one by one, gates among other rows, norms and heads were written to
// GGUF as llama.cpp does not read them, and names that it refuses.
func TestBugLlamaNames(t *testing.T) {
	config := `{"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 1,` + strings.TrimPrefix(gptqConfig, "{")
	layer := "model.layers.0."
	dir := folder(t, config, map[string][]byte{layer + "input_layernorm.weight": halves(64, false)},
		safetensor(t, layer+"self_attn.q_proj.qweight", "I32", 8, 32), safetensor(t, layer+"self_attn.q_proj.scales", "F16", 2, 32),
		safetensor(t, layer+"mlp.experts.0.up_proj.qweight", "I32", 8, 32), safetensor(t, layer+"mlp.experts.0.up_proj.scales", "F16", 2, 32),
		safetensor(t, layer+"mlp.experts.1.up_proj.qweight", "I32", 8, 32), safetensor(t, layer+"mlp.experts.1.up_proj.scales", "F16", 2, 32),
		safetensor(t, layer+"input_layernorm.weight", "F16", 64), safetensor(t, "model.norm.weight", "F32", 64))
	path, out := repacked(t, dir, "gguf")
	assert.Contains(t, out, "numbers of 2 weights compared")
	c, err := checkpoint.Open(path)
	require.NoError(t, err)
	defer c.Close()
	assert.Equal(t, []int64{2, 32, 64}, c.Lookup("blk.0.ffn_up_exps.weight").Dims)
	assert.Equal(t, "F32", c.Lookup("output_norm.weight").Type.Name)
	for i, x := range floats(tensorBytes(t, path, "blk.0.attn_norm.weight")) {
		require.Equal(t, float32(i+1), x)
	}
	// Row 1 of llama.cpp's is row 8 of a head of 16.
	packed, _ := repacked(t, dir, "packed")
	want, got := tensorBytes(t, packed, layer+"self_attn.q_proj.weight")[8*32:9*32], tensorBytes(t, path, "blk.0.attn_q.weight")[2*18:]
	assert.Equal(t, want[0]&15, got[2]&15)
	assert.Equal(t, want[0]>>4, got[3]&15)

	dir = folder(t, "", nil, safetensor(t, strings.Repeat("long.", 12)+"weight", "F16", 8, 32))
	_, err = restride("repack", dir, "--from", "float", "--to", "q8_0", "--output", filepath.Join(t.TempDir(), "out.gguf"))
	require.ErrorContains(t, err, "llama.cpp reads names of at most 63")
}

// TestBugOnlySomeBlocks: where --only named some of the numbers, none could become blocks.
func TestBugOnlySomeBlocks(t *testing.T) {
	dir := folder(t, "", map[string][]byte{"a.weight": halves(256, false), "b.weight": halves(256, false)}, safetensor(t, "a.weight", "F16", 8, 32), safetensor(t, "b.weight", "F16", 8, 32))
	path, _ := repacked(t, dir, "q8_0", "--from", "float", "--only", "^a")
	c, err := checkpoint.Open(path)
	require.NoError(t, err)
	defer c.Close()
	assert.Equal(t, "F16", c.Lookup("b.weight").Type.Name)
}
