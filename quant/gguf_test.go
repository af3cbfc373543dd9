package quant

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestGGUFNames: those of llama.cpp, where it has one.
func TestGGUFNames(t *testing.T) {
	for name, want := range map[string]string{
		"model.layers.12.mlp.up_proj":              "blk.12.ffn_up",
		"model.layers.0.self_attn.o_proj":          "blk.0.attn_output",
		"model.layers.3.mlp.experts.down_proj":     "blk.3.ffn_down_exps",
		"lm_head":                                  "output",
		"layers.0.proj":                            "layers.0.proj",
		"model.layers.0.linear_attn.q_proj":        "model.layers.0.linear_attn.q_proj",
		"visual.model.layers.0.self_attn.q_proj":   "visual.model.layers.0.self_attn.q_proj",
		"model.layers.0.self_attn.q_proj.qweights": "model.layers.0.self_attn.q_proj.qweights",
	} {
		assert.Equal(t, want, gguf.name(name), name)
	}
}
