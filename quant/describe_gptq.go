package quant

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// gptqWithout are fields that say how a weight was quantised, or how a package runs it.
var gptqWithout = []string{
	"damp_percent", "damp_auto_increment", "static_groups", "true_sequential", "model_name_or_path", "model_file_base_name", "dataset", "tokenizer",
	"use_exllama", "disable_exllama", "exllama_config", "max_input_length", "cache_block_outputs", "modules_in_block_to_quantize", "block_name_to_quantize",
	"module_name_preceding_first_block", "batch_size", "pad_token_id", "use_cuda_fp16", "model_seqlen", "backend", "meta", "quantizer", "mse",
	"lm_head", "act_group_aware", "hyb_act", "v2", "iters", "lr", "minmax_lr", "nsamples", "seqlen", "low_gpu_mem_usage", "enable_quanted_input",
	"enable_minmax_tuning", "autoround_version", "to_quant_block_names", "scale_dtype", "gradient_accumulate_steps", "amp", "quant_lm_head",
	"super_group_size", "super_bits", "act_bits", "act_data_type", "act_dynamic", "act_group_size", "act_sym", "is_marlin_format_v2",
}

func describeGPTQ(d *Description, c *fields) {
	bits, size := member(c, int64(0), "bits"), member(c, int64(-1), "group_size")
	sorted, sym := member(c, false, "desc_act"), member[*bool](c, nil, "sym")
	version := cmp.Or(member(c, "", "checkpoint_format", "format"), "gptq")
	c.without("format")
	c.without(gptqWithout...)
	if bits != 2 && bits != 3 && bits != 4 && bits != 8 {
		c.refuse(layout.ErrUnsupported, "codes of %d bits; 2, 3, 4 and 8 are known of gptq", bits)
	}
	if version != "gptq" && version != "gptq_v2" {
		c.refuse(layout.ErrUnsupported, "checkpoint_format %s; gptq and gptq_v2 are known", quote.Name(version))
	}
	if member(c, false, "is_marlin_format") {
		c.refuse(layout.ErrUnsupported, "is_marlin_format: the order of AutoGPTQ's Marlin files is not known")
	}
	if pack := member(c, "int32", "pack_dtype"); pack != "int32" {
		c.refuse(layout.ErrUnsupported, "pack_dtype %s; int32 is known", quote.Name(pack))
	}
	d.Format = gptq
	d.Params = Params{Bits: bits, Zeros: sym == nil || !*sym, ZeroLess: version != "gptq_v2", Group: c.group(size)}
	d.Params.Sorted = sorted && d.Params.Group > 0
	d.dynamic(c, "dynamic")
	for _, name := range member[[]string](c, nil, "modules_to_not_convert") {
		d.Modules = append(d.Modules, modulePattern{inside, name})
	}
}

// dynamic reads the exceptions of some modules: by regular expressions after "-:", for modules
// that are not quantised, or "+:", or nothing.
func (d *Description) dynamic(c *fields, key string) {
	all := member[map[string]json.RawMessage](c, nil, key)
	for _, text := range slices.Sorted(maps.Keys(all)) {
		expression, skip := strings.CutPrefix(text, "-:")
		expression = strings.TrimPrefix(expression, "+:")
		if skip {
			d.Modules = append(d.Modules, modulePattern{regexped, expression})
			continue
		}
		d.except(c.within(c.in+"."+key+"."+quote.Plain(text), all[text]), modulePattern{regexped, expression})
	}
}

// except reads an exception: other bits, groups or zero points of some modules, whose weights
// are otherwise as Params says. 16 bits or more are no codes.
func (d *Description) except(c *fields, of modulePattern) {
	p := d.Params
	p.Bits, p.Zeros = member(c, p.Bits, "bits"), !member(c, !p.Zeros, "sym")
	if c.has("group_size") {
		p.Group = c.group(member(c, int64(0), "group_size"))
	}
	p.Sorted = member(c, p.Sorted, "desc_act") && p.Group > 0
	c.without(gptqWithout...)
	c.without("data_type")
	if of.kind == regexped && compiled(of.text) == nil {
		c.refuse(layout.ErrUnsupported, "the regular expression %s, which Go does not have", quote.Name(of.text))
	}
	if rest := c.rest(); len(rest) > 0 {
		c.refuse(layout.ErrUnsupported, "%s is not known", strings.Join(rest, ", "))
	}
	if p.Bits >= 16 {
		d.Modules = append(d.Modules, of)
		return
	}
	d.rules = append(d.rules, moduleRule{Modules{of}, d.Format, p})
}

func describeAWQ(d *Description, c *fields) {
	version, bits := lower(c, "version"), member(c, int64(0), "bits", "w_bit")
	c.without("w_bit", "q_group_size", "do_fuse", "fuse_max_seq_len", "modules_to_fuse", "backend", "exllama_config", "lm_head", "sym", "desc_act", "checkpoint_format", "format", "group_size", "meta")
	if version != "" && version != "gemm" && version != "gemv" || bits != 4 {
		c.refuse(layout.ErrUnsupported, "version %s of %d bits; gemm and gemv of 4 are known of awq", quote.Name(version), bits)
	}
	d.Format = awq
	if version == "gemv" {
		d.Format = awqGEMV
	}
	d.Params = Params{Bits: 4, Zeros: member(c, true, "zero_point"), Group: c.group(member(c, int64(128), "group_size", "q_group_size"))}
	d.Modules = modulesOf(inside, member[[]string](c, nil, "modules_to_not_convert"))
}

// describeAutoRound reads AutoRound's configuration, whose weights are in another package's
// order, that packing_format names.
func describeAutoRound(d *Description, c *fields) {
	if typ := member(c, "int", "data_type"); typ != "int" {
		c.refuse(layout.ErrUnsupported, "data_type %s; int is known of auto-round", quote.Name(typ))
	}
	packing := lower(c, "packing_format")
	c.without(gptqWithout...)
	switch order := strings.TrimPrefix(packing, "auto_round:"); order {
	case "auto_gptq", "gptq":
		describeGPTQ(d, c)
		d.Params.ZeroLess = true
	case "auto_awq", "awq":
		c.all["zero_point"] = json.RawMessage("true")
		describeAWQ(d, c)
	default:
		c.refuse(layout.ErrUnsupported, "packing_format %s; auto_round:auto_gptq and auto_round:auto_awq are known", quote.Name(packing))
	}
	all := member[map[string]json.RawMessage](c, nil, "extra_config")
	var names, expressions []string // names count first
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.ContainsAny(name, `*+?^$()[]{}|\`) {
			expressions = append(expressions, name)
		} else {
			names = append(names, name)
		}
	}
	for i, name := range append(names, expressions...) {
		of := modulePattern{exactly, name}
		if i >= len(names) { // it may match anywhere
			of = modulePattern{regexped, ".*(?:" + name + ")"}
		}
		d.except(c.within(c.in+".extra_config."+quote.Plain(name), all[name]), of)
	}
}
