package quant

import (
	"regexp"
	"slices"
	"strings"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// llama.cpp's counterparts of Transformers' names.
var (
	layerNames  = regexp.MustCompile(`^(?:model\.)?(?:language_model\.)?(?:model\.)?layers\.([0-9]+)\.(.*)$`)
	blockNames  = regexp.MustCompile(`^blk\.([0-9]+)\.ffn_(gate|up|down)_exps$`)
	expertParts = regexp.MustCompile(`^(?:mlp|block_sparse_moe|feed_forward)\.experts\.([0-9]+)\.(gate_proj|up_proj|down_proj|w1|w2|w3)$`)

	// partNames are the modules of a layer.
	partNames = map[string]string{
		"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.qkv_proj": "attn_qkv",
		"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "self_attn.sinks": "attn_sinks",
		"self_attn.q_a_proj": "attn_q_a", "self_attn.q_b_proj": "attn_q_b", "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_b_proj": "attn_kv_b",
		"self_attn.q_a_layernorm": "attn_q_a_norm", "self_attn.kv_a_layernorm": "attn_kv_a_norm",
		"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up",
		"mlp.gate": "ffn_gate_inp", "mlp.router": "ffn_gate_inp", "block_sparse_moe.gate": "ffn_gate_inp",
		"mlp.experts.gate_proj": "ffn_gate_exps", "mlp.experts.up_proj": "ffn_up_exps", "mlp.experts.down_proj": "ffn_down_exps",
		"mlp.experts.w1": "ffn_gate_exps", "mlp.experts.w3": "ffn_up_exps", "mlp.experts.w2": "ffn_down_exps",
		"mlp.switch_mlp.gate_proj": "ffn_gate_exps", "mlp.switch_mlp.up_proj": "ffn_up_exps", "mlp.switch_mlp.down_proj": "ffn_down_exps",
		"mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp", "mlp.shared_expert.down_proj": "ffn_down_shexp",
		"mlp.shared_experts.gate_proj": "ffn_gate_shexp", "mlp.shared_experts.up_proj": "ffn_up_shexp", "mlp.shared_experts.down_proj": "ffn_down_shexp",
		"mlp.shared_expert_gate": "ffn_gate_inp_shexp",
		"input_layernorm":        "attn_norm", "post_attention_layernorm": "ffn_norm",
		"pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
		"post_self_attn_layernorm": "post_attention_norm", "post_mlp_layernorm": "post_ffw_norm",
	}
	// modelNames are the modules outside layers.
	modelNames = map[string]string{"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
	// afterAttention are the models whose post_attention_layernorm follows the attention: other
	// models' precedes the feed-forward.
	afterAttention = []string{"gemma2", "gemma3", "gemma3_text", "gemma3n_text", "gpt_oss", "olmo2", "olmo3", "exaone4", "glm4_moe", "seed_oss"}
	// interleavedHeads are the models whose q_proj and k_proj llama.cpp stores with rows of the
	// two halves of each head in turn.
	interleavedHeads = []string{"llama", "mistral", "mixtral", "granite", "granitemoe", "granitemoeshared", "smollm3", "arcee", "minicpm", "olmo", "xverse", "deepseek", "internlm3"}
	// plusOne are the models whose norms llama.cpp stores with 1 added.
	plusOne = []string{"gemma", "gemma2", "gemma3", "gemma3_text"}
	// sameNumbers are other models whose rows and norms llama.cpp stores as Transformers does.
	sameNumbers = []string{"qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "phi3", "glm4", "starcoder2"}
)

// knownModels are the models whose rows and norms are as llama.cpp stores them.
var knownModels = slices.Concat(afterAttention, interleavedHeads, plusOne, sameNumbers)

// KnownModel reports whether rows and norms of models of a type, as config.json says, are written
// as llama.cpp stores them. Those of other models stay as they are.
func KnownModel(model string) bool { return slices.Contains(knownModels, model) }

// NormOffset returns the number that llama.cpp's file adds to each number of a tensor of a model
// of a type: 1 or 0.
func NormOffset(model, tensor string) float32 {
	if slices.Contains(plusOne, model) && strings.HasSuffix(tensor, "norm.weight") {
		return 1
	}
	return 0
}

// ModelType returns the type that config.json has for models of a class, such as
// LlamaForCausalLM, or "" if the class is not known.
func ModelType(class string) string {
	class = strings.ToLower(strings.TrimSuffix(class, "ForCausalLM"))
	for _, model := range knownModels {
		if strings.ReplaceAll(model, "_", "") == class {
			return model
		}
	}
	return ""
}

// ggufName returns a weight's name in GGUF; unknown names stay.
func ggufName(name string) string { return GGUFModule("", name) }

// GGUFModule returns llama.cpp's name of a module that Transformers names, in a model of a
// type as config.json says; "": any. Unknown names stay.
func GGUFModule(model, name string) string {
	if m := layerNames.FindStringSubmatch(name); m != nil {
		part := partNames[strings.Replace(m[2], "block_sparse_moe.experts", "mlp.experts", 1)]
		if m[2] == "post_attention_layernorm" && slices.Contains(afterAttention, model) {
			part = "post_attention_norm"
		}
		if part != "" {
			return "blk." + m[1] + "." + part
		}
		return name
	}
	module := name
	for _, prefix := range []string{"model.", "language_model.", "model."} {
		module = strings.TrimPrefix(module, prefix)
	}
	if other := modelNames[module]; other != "" {
		return other
	}
	return name
}

// Head returns the number of rows of an attention head that llama.cpp stores in another order
// than Transformers, in a module with so many rows of a model of a type; 0: none. heads and
// keyHeads are the model's numbers of heads, 0 if they are not known. If the order depends on an
// unknown number, or rows are not of so many heads, the error is ErrInvalid.
func Head(model, module string, rows, heads, keyHeads int64) (int64, error) {
	m := layerNames.FindStringSubmatch(module)
	if m == nil || !slices.Contains(interleavedHeads, model) {
		return 0, nil
	}
	switch m[2] {
	case "self_attn.k_proj":
		heads = keyHeads
	case "self_attn.q_proj":
	default:
		return 0, nil
	}
	if heads < 1 || rows%heads != 0 || rows/heads%2 != 0 {
		return 0, layout.Errorf(layout.ErrInvalid, "quant", "%s: llama.cpp has the rows of each head of %s in another order, and %d rows of %d heads (num_attention_heads, num_key_value_heads) cannot be ordered", quote.Plain(module), quote.Plain(model), rows, heads)
	}
	return rows / heads, nil
}
