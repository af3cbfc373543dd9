package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
)

// llamaFolder is a model of a configuration, with a GPTQ weight.
func llamaFolder(t *testing.T, config string, fill map[string][]byte, more ...string) string {
	all := "model.layers.0."
	tensors := append(gptqWeight(t, all+"mlp.up_proj", 32), gptqWeight(t, all+"self_attn.k_proj", 16)...)
	for _, m := range more {
		name, typ, _ := strings.Cut(m, " ")
		tensors = append(tensors, safetensor(t, name, typ, 32, 64))
	}
	return folder(t, "{"+config+strings.TrimPrefix(gptqConfig, "{"), fill, tensors...)
}

// gptqWeight is a weight of so many rows of 64.
func gptqWeight(t *testing.T, name string, rows int64) []*checkpoint.Tensor {
	return []*checkpoint.Tensor{safetensor(t, name+".qweight", "I32", 8, rows), safetensor(t, name+".scales", "F16", 2, rows)}
}

// TestBugHeadsOfNumbers: rows of a q_proj that is not quantised stayed in Transformers' order.
func TestBugHeadsOfNumbers(t *testing.T) {
	const q = "model.layers.0.self_attn.q_proj.weight"
	dir := llamaFolder(t, `"model_type": "llama", "num_attention_heads": 4.0, "num_key_value_heads": 2,`, map[string][]byte{q: halves(32*64, true)}, q+" BF16")
	path, _ := repacked(t, dir, "gguf")
	in, out := tensorBytes(t, filepath.Join(dir, "model.safetensors"), q), tensorBytes(t, path, "blk.0.attn_q.weight")
	require.Len(t, out, len(in))
	for n := range 32 {
		from := n/8*8 + n%2*4 + n%8/2
		assert.Equal(t, in[from*128:][:128], out[n*128:][:128], "row %d", n)
	}
}

// TestBugUnknownHeads: without a number of heads, or with one that is not whole, rows of k_proj
// stayed in Transformers' order.
func TestBugUnknownHeads(t *testing.T) {
	want := tensorOf(t, `"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 2,`)
	for _, same := range []string{
		`"model_type": "llama", "num_attention_heads": 2,`, `"model_type": "llama", "num_attention_heads": 2.0, "num_key_value_heads": null,`,
		`"architectures": ["LlamaForCausalLM"], "num_attention_heads": 2,`, `"model_type": "internlm3", "num_attention_heads": 2,`,
		`"model_type": "llava", "text_config": {"model_type": "llama", "num_attention_heads": 2},`,
	} {
		assert.Equal(t, want, tensorOf(t, same), same)
	}
	assert.NotEqual(t, want, tensorOf(t, `"model_type": "qwen2", "num_attention_heads": 2,`))
	for _, bad := range []string{
		`"model_type": "llama",`, `"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": [2],`, `"model_type": "llama", "num_attention_heads": 3,`,
		`"model_type": "llava", "text_config": {"model_type": "llama"},`,
	} {
		_, err := restride("repack", llamaFolder(t, bad, nil), "--to", "gguf", "--output", filepath.Join(t.TempDir(), "out.gguf"))
		require.ErrorContains(t, err, "num_key_value_heads", bad)
	}
}

// tensorOf is k_proj in GGUF of a model of a configuration.
func tensorOf(t *testing.T, config string) []byte {
	path, _ := repacked(t, llamaFolder(t, config, nil), "gguf")
	return tensorBytes(t, path, "blk.0.attn_k.weight")
}

// TestBugNorms: llama.cpp's names and numbers of norms differ between models.
func TestBugNorms(t *testing.T) {
	const norm = "model.layers.0.post_attention_layernorm.weight"
	for model, want := range map[string]string{
		"qwen3": "ffn_norm", "glm4": "ffn_norm", "glm4_moe": "post_attention_norm", "seed_oss": "post_attention_norm", "gemma3n_text": "post_attention_norm",
		"gemma": "ffn_norm", "gemma2": "post_attention_norm", "gemma3_text": "post_attention_norm", "nemotron": "ffn_norm", "": "ffn_norm",
	} {
		for _, typ := range []string{"BF16", "F32"} {
			fill := halves(64, true)
			if typ == "F32" {
				fill = []byte{0, 0, 0x80, 0x3f} // 1
			}
			dir := folder(t, `{"model_type": "`+model+`",`+strings.TrimPrefix(gptqConfig, "{"), map[string][]byte{norm: fill},
				append(gptqWeight(t, "model.layers.0.mlp.up_proj", 32), safetensor(t, norm, typ, 64))...)
			path, out := repacked(t, dir, "gguf")
			first := float32(1)
			if model == "gemma" || model == "gemma2" || model == "gemma3_text" {
				first = 2
			}
			assert.Equal(t, first, floats(tensorBytes(t, path, "blk.0."+want+".weight"))[0], model)
			assert.Equal(t, model == "nemotron" || model == "", strings.Contains(out, "rows and norms are as in the source"), out)
		}
	}
}

// TestBugExpertsOfNumbers: experts of shape [E, in, out] were written as [E, out, in].
func TestBugExpertsOfNumbers(t *testing.T) {
	const experts = "model.layers.0.mlp.experts."
	for _, model := range []string{"gpt_oss", "qwen3_moe"} {
		dir := folder(t, `{"model_type": "`+model+`",`+strings.TrimPrefix(gptqConfig, "{"), map[string][]byte{experts + "down_proj": halves(2*8*16, true), experts + "gate_up_proj": halves(2*8*32, true)},
			append(gptqWeight(t, "model.layers.0.self_attn.v_proj", 32), safetensor(t, experts+"down_proj", "BF16", 2, 8, 16), safetensor(t, experts+"gate_up_proj", "BF16", 2, 8, 32))...)
		path, out := repacked(t, dir, "gguf")
		number := func(b []byte, i int) uint16 { return binary.LittleEndian.Uint16(b[2*i:]) }
		source := filepath.Join(dir, "model.safetensors")
		down, both := tensorBytes(t, source, experts+"down_proj"), tensorBytes(t, source, experts+"gate_up_proj")
		assert.Equal(t, model != "gpt_oss", strings.Contains(out, "experts that stay as they are"), out)
		if model != "gpt_oss" {
			assert.Equal(t, down, tensorBytes(t, path, experts+"down_proj"))
			assert.Equal(t, both, tensorBytes(t, path, experts+"gate_up_proj"))
			continue
		}
		turned, gate, up := tensorBytes(t, path, "blk.0.ffn_down_exps.weight"), tensorBytes(t, path, "blk.0.ffn_gate_exps.weight"), tensorBytes(t, path, "blk.0.ffn_up_exps.weight")
		for e := range 2 {
			for in := range 8 {
				for n := range 16 {
					at := (e*16+n)*8 + in
					require.Equal(t, number(down, (e*8+in)*16+n), number(turned, at))
					require.Equal(t, number(both, (e*8+in)*32+2*n), number(gate, at))
					require.Equal(t, number(both, (e*8+in)*32+2*n+1), number(up, at))
				}
			}
		}
		c, err := checkpoint.Open(path)
		require.NoError(t, err)
		assert.Equal(t, []int64{2, 16, 8}, c.Lookup("blk.0.ffn_gate_exps.weight").Dims)
		require.NoError(t, c.Close())
	}
}

// TestBugUnknownTypeStops: a tensor of a type that is not known stopped every conversion to
// safetensors.
func TestBugUnknownTypeStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.gguf")
	q8, err := checkpoint.GGUF.Type("Q8_0")
	require.NoError(t, err)
	writeGGUF(t, path, nil, &checkpoint.Tensor{Name: "odd.weight", Type: q8, Dims: []int64{2, 32}}, &checkpoint.Tensor{Name: "b.weight", Type: q8, Dims: []int64{4, 32}})
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[bytes.Index(b, []byte("odd.weight"))+len("odd.weight")+4+2*8] = 99
	require.NoError(t, os.WriteFile(path, b, 0o600))
	for _, only := range []string{"", "^b"} {
		out, text := repacked(t, path, "float32", "--only", only)
		assert.Contains(t, text, "tensors left out, whose types safetensors does not have: odd.weight")
		assert.Contains(t, text, "1 tensors of type 99 are")
		assert.Len(t, tensorBytes(t, out, "b.weight"), 4*4*32)
	}
	same, text := repacked(t, path, "gguf")
	assert.NotContains(t, text, "left out")
	assert.Equal(t, tensorBytes(t, path, "odd.weight"), tensorBytes(t, same, "odd.weight"))
	_, err = restride("reorder", path, "--tensor", "odd", "--from", "n, k", "--to", "k, n", "--output", filepath.Join(t.TempDir(), "out.gguf"))
	require.ErrorContains(t, err, "its type 99 is not known")
}
