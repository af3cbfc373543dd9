package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/quant"
)

// A GGUF file made of safetensors is for llama.cpp: it has its names, numbers of one axis as
// float32, the experts of a layer in one weight, and the model's parameters.

// modelConfig is what config.json says about a model, as far as llama.cpp needs it.
type modelConfig struct {
	Type       string       `json:"model_type"`
	Hidden     *uint32      `json:"hidden_size"`
	Layers     *uint32      `json:"num_hidden_layers"`
	FeedBy     *uint32      `json:"intermediate_size"`
	Heads      *heads       `json:"num_attention_heads"`
	KeyHeads   *heads       `json:"num_key_value_heads"`
	HeadSize   *uint32      `json:"head_dim"`
	Context    *uint32      `json:"max_position_embeddings"`
	Vocabulary *uint32      `json:"vocab_size"`
	Epsilon    *float32     `json:"rms_norm_eps"`
	Theta      *float32     `json:"rope_theta"`
	Experts    *uint32      `json:"num_experts"`
	Local      *uint32      `json:"num_local_experts"`
	ExpertsPer *uint32      `json:"num_experts_per_tok"`
	ExpertFeed *uint32      `json:"moe_intermediate_size"`
	SharedFeed *uint32      `json:"shared_expert_intermediate_size"`
	Window     *uint32      `json:"sliding_window"`
	Scaling    *scaling     `json:"rope_scaling"`
	Parameters *scaling     `json:"rope_parameters"`
	Text       *modelConfig `json:"text_config"`
	Classes    []string     `json:"architectures"`
}

// heads is a number of heads: a positive whole number, 4.0 too; 0: config.json has something else.
type heads uint32

// UnmarshalJSON never fails: only some models need the number.
func (c *heads) UnmarshalJSON(text []byte) error {
	var x float64
	*c = 0
	if err := json.Unmarshal(text, &x); err == nil && x >= 1 && x <= math.MaxUint32 && x == math.Trunc(x) {
		*c = heads(x)
	}
	return nil
}

// scaling is how positions are scaled.
type scaling struct {
	Type     string   `json:"rope_type"`
	Old      string   `json:"type"`
	Factor   *float32 `json:"factor"`
	Original *uint32  `json:"original_max_position_embeddings"`
	Theta    *float32 `json:"rope_theta"`
}

// architectures are llama.cpp's names of models whose parameters are written.
var architectures = map[string]string{
	"llama": "llama", "mistral": "llama", "mixtral": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "qwen2_moe": "qwen2moe", "qwen3_moe": "qwen3moe", "gpt_oss": "gpt-oss",
}

// readModel reads config.json. Fields of other types than wanted are as if they were not there.
func readModel(c *checkpoint.Checkpoint) modelConfig {
	var m modelConfig
	if c.Config != nil {
		_ = json.Unmarshal(c.Config, &m)
	}
	classes := m.Classes
	if m.Text != nil {
		m = *m.Text
	}
	if m.Type == "" && len(classes) > 0 {
		m.Type = quant.ModelType(classes[0])
	}
	if m.KeyHeads == nil {
		m.KeyHeads = m.Heads
	}
	return m
}

// forLlama reports whether the output is a GGUF file made of safetensors.
func (r *repack) forLlama() bool {
	return r.format() == checkpoint.GGUF && r.source.Files[0].Format == checkpoint.Safetensors
}

// stacked returns the weights with the experts of each layer, one by one, in one weight each.
// Experts that are not of one kind stay.
func (r *repack) stacked(all []*quant.Weight) (out []*quant.Weight) {
	experts, names := map[string][]*quant.Weight{}, []string(nil)
	for _, w := range all {
		name, n, ok := quant.Expert(w.Name)
		if !ok || n != int64(len(experts[name])) && n > maxExperts {
			out = append(out, w)
			continue
		}
		if experts[name] == nil {
			names = append(names, name)
		}
		for int64(len(experts[name])) <= n {
			experts[name] = append(experts[name], nil)
		}
		experts[name][n] = w
	}
	for _, name := range names {
		some := experts[name]
		if !slices.Contains(some, nil) {
			if w, err := quant.Stack(name, some); err == nil {
				out = append(out, w)
				continue
			}
		}
		r.notes = append(r.notes, "experts that do not become one weight, as llama.cpp wants them: "+name)
		out = append(out, slices.DeleteFunc(some, func(w *quant.Weight) bool { return w == nil })...)
	}
	return out
}

// maxExperts limits the numbers of experts that are stacked.
const maxExperts = 1 << 16

// forTarget returns the weights as the target has them: for GGUF stacked, divided, and with rows
// in llama.cpp's order.
func (r *repack) forTarget(all []*quant.Weight) (out []*quant.Weight, err error) {
	if !r.forLlama() {
		return all, nil
	}
	m := readModel(r.source)
	r.renamed = false
	for _, w := range r.stacked(all) {
		r.renamed = r.renamed || quant.GGUFModule(m.Type, w.Name) != w.Name
		if w.Heads, err = headOf(m, w.Name, w.Shape()); err != nil {
			return nil, err
		}
		out = append(out, w.Parts(r.target)...)
	}
	return out, nil
}

// headOf returns the number of rows of a head in a matrix, or the bias, of a module (see
// quant.Head).
func headOf(m modelConfig, module string, shape []int64) (int64, error) {
	of := func(n *heads) int64 {
		if n == nil {
			return 0
		}
		return int64(*n)
	}
	if len(shape) == 0 {
		return 0, nil
	}
	return quant.Head(m.Type, module, shape[max(0, len(shape)-2)], of(m.Heads), of(m.KeyHeads))
}

// kept is a tensor that is not of a weight, and its name in the output.
type kept struct {
	quant.Tensor
	to string
}

// keep decides what becomes of tensors that are not of weights: they are copied, or converted to
// what llama.cpp reads.
func (r *repack) keep(rest []quant.Tensor) (out []kept, err error) {
	r.carried, r.dropped, r.foreign, r.untyped = nil, nil, nil, nil
	if !r.forLlama() {
		for _, t := range rest {
			if unknownType(t) && r.format() != r.source.Files[0].Format {
				r.untyped = append(r.untyped, t.Name)
				continue
			}
			out = append(out, kept{t, t.Name})
		}
		return out, nil
	}
	m := readModel(r.source)
	for _, t := range rest {
		if strings.HasSuffix(t.Name, "rotary_emb.inv_freq") {
			r.dropped = append(r.dropped, t.Name) // llama.cpp computes them
			continue
		}
		all, err := carriages(m, t)
		if err != nil {
			return nil, err
		}
		for _, as := range all {
			p, err := quant.Carry(t, as)
			if err != nil {
				return nil, err
			}
			r.carried = append(r.carried, &weight{From: p.From, planned: newPlanned(p, true)})
		}
		if len(all) > 0 {
			continue
		}
		to := nameOf(m, t)
		if to == t.Name && m.Type != "" {
			r.foreign = append(r.foreign, t.Name)
		}
		out = append(out, kept{t, to})
	}
	return out, nil
}

// carriages plan the conversion of a tensor, if llama.cpp wants one: tensors of one axis, routers
// and biases as float32, q_proj and k_proj with rows in its order, and gpt-oss's experts.
func carriages(m modelConfig, t quant.Tensor) ([]quant.Carriage, error) {
	if all := ossExperts(m, t); all != nil {
		return all, nil
	}
	to := nameOf(m, t)
	if to == t.Name {
		return nil, nil
	}
	as := quant.Carriage{Name: to, Type: "F32", Plus: quant.NormOffset(m.Type, t.Name)}
	module, isWeight := strings.CutSuffix(t.Name, ".weight")
	module, isBias := strings.CutSuffix(module, ".bias")
	if isWeight || isBias {
		var err error
		if as.Head, err = headOf(m, module, t.Dims); err != nil {
			return nil, err
		}
	}
	float := t.Type == "F16" || t.Type == "BF16"
	switch {
	case as.Head > 0 && isWeight:
		as.Type = t.Type
	case as.Head > 0, as.Plus != 0, float && (len(t.Dims) == 1 || strings.Contains(to, ".ffn_gate_inp") || strings.HasSuffix(to, ".bias")):
	default:
		return nil, nil
	}
	return []quant.Carriage{as}, nil
}

// ossExperts plan the conversion of gpt-oss's experts that are numbers, of shape [E, in, out], and
// of its experts' biases. Gates alternate with the rest along the last axis.
func ossExperts(m modelConfig, t quant.Tensor) []quant.Carriage {
	i := strings.LastIndexByte(t.Name, '.')
	if i < 0 || !strings.HasSuffix(t.Name[:i], ".experts") {
		return nil
	}
	to := func(part string) string { return llamaName(m.Type, t.Name[:i+1]+part) }
	unnamed := numberExperts(t) && m.Type == "gpt_oss"
	switch part := t.Name[i+1:]; {
	case part == "gate_up_proj_bias":
		return []quant.Carriage{{Name: to("gate_proj_bias"), Type: "F32", Of: 2}, {Name: to("up_proj_bias"), Type: "F32", First: 1, Of: 2}}
	case part == "gate_up_proj" && unnamed:
		return []quant.Carriage{{Name: to("gate_proj"), Type: t.Type, Of: 2, Turned: true}, {Name: to("up_proj"), Type: t.Type, First: 1, Of: 2, Turned: true}}
	case part == "down_proj" && unnamed:
		return []quant.Carriage{{Name: to(part), Type: t.Type, Turned: true}}
	}
	return nil
}

// numberExperts reports whether a tensor has a layer's experts as numbers, and its name does not
// say which axis is which: models differ.
func numberExperts(t quant.Tensor) bool {
	return len(t.Dims) == 3 && strings.Contains(t.Name, "experts") && !strings.HasSuffix(t.Name, ".weight") && slices.Contains([]string{"F16", "BF16", "F32"}, t.Type)
}

// nameOf returns llama.cpp's name of a tensor that is copied. Experts that may have to be turned
// keep theirs.
func nameOf(m modelConfig, t quant.Tensor) string {
	if numberExperts(t) {
		return t.Name
	}
	return llamaName(m.Type, t.Name)
}

// llamaName returns llama.cpp's name of a tensor. Unknown names stay.
func llamaName(model, name string) string {
	for suffix, other := range map[string]string{"_bias": ".bias", ".e_score_correction_bias": ".exp_probs_b.bias"} {
		if module, ok := strings.CutSuffix(name, suffix); ok {
			if to := quant.GGUFModule(model, module); to != module {
				return strings.TrimSuffix(to, ".ffn_gate_inp") + other
			}
		}
	}
	if to := quant.GGUFModule(model, name); to != name { // a parameter of a layer itself, such as sinks
		return to + ".weight"
	}
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return name
	}
	if to := quant.GGUFModule(model, name[:i]); to != name[:i] {
		return to + name[i:]
	}
	return name
}

// tellLeft says which tensors the output does not have, and what llama.cpp does not get.
func (r *repack) tellLeft() {
	add := func(what string, names []string) {
		if len(names) > 0 {
			r.notes = append(r.notes, what+": "+some(names))
		}
	}
	add(fmt.Sprintf("tensors left out, whose types %v does not have", r.format()), r.untyped)
	add("tensors left out, which llama.cpp computes", r.dropped)
	add("tensors whose names llama.cpp may not know", r.foreign)
	if m := readModel(r.source); r.renamed && !quant.KnownModel(m.Type) {
		r.notes = append(r.notes, fmt.Sprintf("rows and norms are as in the source, and llama.cpp's may differ: config.json's model_type is %q", m.Type))
	}
	r.notes = append(r.notes, r.unsaid...)
}

// addModel adds the parameters of a model that llama.cpp knows to a file's metadata.
func (r *repack) addModel(h *checkpoint.Header) {
	r.unsaid = nil
	m := readModel(r.source)
	arch := architectures[m.Type]
	if _, has := h.Value("general.architecture"); has || arch == "" {
		if !has {
			r.unsaid = append(r.unsaid, "the model's parameters and its tokenizer are not in the file: llama.cpp's converter writes them")
		}
		return
	}
	add := func(key string, v checkpoint.Value) {
		h.Metadata = append(h.Metadata, checkpoint.Entry{Key: strings.Replace(key, "A.", arch+".", 1), Value: v})
	}
	number := func(key string, values ...*uint32) {
		for _, v := range values {
			if v != nil && *v != 0 {
				add(key, checkpoint.ValueOf(*v))
				return
			}
		}
	}
	real := func(key string, v *float32) {
		if v != nil {
			add(key, checkpoint.ValueOf(*v))
		}
	}
	add("general.architecture", checkpoint.ValueOf(arch))
	add("general.quantization_version", checkpoint.ValueOf(uint32(2)))
	number("A.context_length", m.Context)
	number("A.embedding_length", m.Hidden)
	number("A.block_count", m.Layers)
	number("A.feed_forward_length", m.FeedBy)
	number("A.attention.head_count", (*uint32)(m.Heads))
	number("A.attention.head_count_kv", (*uint32)(m.KeyHeads))
	number("A.vocab_size", m.Vocabulary)
	size := m.HeadSize
	if size == nil && m.Hidden != nil && m.Heads != nil && *m.Heads > 0 {
		n := *m.Hidden / uint32(*m.Heads)
		size = &n
	}
	number("A.attention.key_length", size)
	number("A.attention.value_length", size)
	number("A.rope.dimension_count", size)
	number("A.expert_count", m.Experts, m.Local)
	number("A.expert_used_count", m.ExpertsPer)
	if arch == "gpt-oss" {
		m.ExpertFeed = m.FeedBy
		number("A.attention.sliding_window", m.Window)
	}
	number("A.expert_feed_forward_length", m.ExpertFeed)
	number("A.expert_shared_feed_forward_length", m.SharedFeed)
	real("A.attention.layer_norm_rms_epsilon", m.Epsilon)
	r.addRope(m, add, real, number)
	add("tokenizer.ggml.model", checkpoint.ValueOf("none"))
	r.unsaid = append(r.unsaid, "the tokenizer is not in the file (tokenizer.ggml.model is none): programs give llama.cpp tokens")
}

// addRope adds the parameters of positions.
func (r *repack) addRope(m modelConfig, add func(string, checkpoint.Value), real func(string, *float32), number func(string, ...*uint32)) {
	by := m.Scaling
	if by == nil {
		by = m.Parameters
	}
	if by != nil && m.Theta == nil {
		m.Theta = by.Theta
	}
	real("A.rope.freq_base", m.Theta)
	if by == nil {
		return
	}
	kind := by.Type
	if kind == "" {
		kind = by.Old
	}
	switch kind {
	case "", "default":
	case "linear", "yarn":
		add("A.rope.scaling.type", checkpoint.ValueOf(kind))
		real("A.rope.scaling.factor", by.Factor)
		number("A.rope.scaling.original_context_length", by.Original)
	default:
		r.unsaid = append(r.unsaid, "rope_scaling of type "+kind+" is not in the file")
	}
}
