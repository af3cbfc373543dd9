package quant

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

func describeMXFP4(d *Description, c *fields) {
	c.without("dequantize")
	d.Format, d.Params = gptOSS, Params{}
	d.Modules = modulesOf(inside, member[[]string](c, nil, "modules_to_not_convert"))
}

func describeModelOpt(d *Description, c *fields) {
	algorithm := member(c, "", "quant_algo")
	c.without("producer", "kv_cache_quant_algo", "kv_cache_scheme", "config_groups", "quantized_layers_order", "has_zero_point")
	if member(c, false, "pre_quant_scale") {
		c.refuse(layout.ErrUnsupported, "pre_quant_scale: inputs of its weights are scaled first")
	}
	d.Modules = slices.Concat(modulesOf(globbed, member[[]string](c, nil, "exclude_modules")), modulesOf(globbed, member[[]string](c, nil, "ignore")))
	size := member(c, int64(16), "group_size")
	switch algorithm {
	case "NVFP4":
		d.Format = nvfp4
		if size != 16 {
			c.refuse(layout.ErrUnsupported, "NVFP4 in groups of %d; 16 are known", size)
		}
	case "FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO", "FP8_PB_REAL":
		d.Format, d.Params = fp8, fp8Params()
	case "MIXED_PRECISION":
		d.mixed(c)
		return
	default:
		c.refuse(layout.ErrUnsupported, "quant_algo %s; NVFP4 and FP8 are known of modelopt", quote.Name(algorithm))
	}
}

// mixed reads Model Optimizer's list of layers with a quant_algo each.
func (d *Description) mixed(c *fields) {
	all := c.object("quantized_layers")
	if all == nil || len(all.all) == 0 {
		c.refuse(layout.ErrUnsupported, "quant_algo MIXED_PRECISION without quantized_layers")
		return
	}
	names := slices.Sorted(maps.Keys(all.all))
	slices.Reverse(names) // a module's parts count before it
	for _, name := range names {
		layer := all.within(all.in+"."+quote.Plain(name), all.all[name])
		all.used[name] = true
		switch algorithm := member(layer, "", "quant_algo"); algorithm {
		case "NVFP4":
			if size := member(layer, int64(16), "group_size"); size != 16 {
				layer.refuse(layout.ErrUnsupported, "NVFP4 in groups of %d; 16 are known", size)
			}
			d.add(globbed, name, nvfp4, Params{Group: -1})
		case "FP8":
			d.add(globbed, name, fp8, fp8Params())
		default:
			layer.refuse(layout.ErrUnsupported, "quant_algo %s; NVFP4 and FP8 are known of modelopt", quote.Name(algorithm))
		}
	}
}

func describeBitsandbytes(d *Description, c *fields) {
	c.without("_load_in_4bit", "load_in_4bit", "_load_in_8bit", "load_in_8bit", "bnb_4bit_compute_dtype", "bnb_4bit_quant_type", "bnb_4bit_use_double_quant", "bnb_4bit_quant_storage",
		"llm_int8_threshold", "llm_int8_enable_fp32_cpu_offload", "llm_int8_has_fp16_weight", "bits", "group_size", "zero_point")
	d.Modules = modulesOf(inside, member[[]string](c, nil, "llm_int8_skip_modules"))
	if d.Format = bitsandbytes; member(c, false, "load_in_8bit", "_load_in_8bit") {
		d.Format = llmInt8
	}
	if bits := member(c, int64(4), "bits"); bits != 4 && d.Format == bitsandbytes {
		c.refuse(layout.ErrUnsupported, "codes of %d bits; 4, and load_in_8bit, are known of bitsandbytes", bits)
	}
}

func describeHQQ(d *Description, c *fields) {
	d.Format = hqq
	bits := member(c, int64(0), "bits")
	if all := c.object("quant_config"); all != nil {
		d.hqqGroups(all)
	}
	c.without("group_size", "zero_point")
	if d.Params.Bits == 0 {
		d.Params.Bits = bits
	}
	if d.Params.Bits < 0 || d.Params.Bits > 8 {
		c.refuse(layout.ErrUnsupported, "codes of %d bits", d.Params.Bits)
	}
	d.Modules = modulesOf(inside, member[[]string](c, nil, "skip_modules"))
}

// hqqGroups reads HQQ's parameters: of all weights, or of weights with the same last name each.
func (d *Description) hqqGroups(all *fields) {
	one := func(of *fields) Params {
		of.without("scale_quant_params", "zero_quant_params", "offload_meta")
		weights := of.object("weight_quant_params")
		if weights == nil {
			return Params{Group: -1}
		}
		weights.without("group_size", "channel_wise", "optimize", "round_zero", "axis", "view_as_float") // tensors say these
		return Params{Bits: member(weights, int64(0), "nbits"), Group: -1}
	}
	if all.has("weight_quant_params") {
		d.Params = one(all)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all.all)) {
		if inner := all.object(name); inner != nil {
			d.add(inside, "."+strings.TrimPrefix(name, "."), hqq, one(inner))
		}
	}
}

// describeFP8 reads the configurations of DeepSeek's and Transformers' FP8. Shapes and types of
// tensors give the rest.
func describeFP8(d *Description, c *fields) {
	d.Format, d.Params = fp8, fp8Params()
	if block := member[[]int64](c, nil, "weight_block_size"); block != nil {
		d.Params.Rows, d.Params.Group = c.block("weight_block_size", block)
	}
	c.without("fmt", "activation_scheme", "scale_fmt", "activation_scale_ub", "dequantize", "bits", "group_size", "zero_point", "kv_cache_scheme")
	d.Modules = slices.Concat(modulesOf(inside, member[[]string](c, nil, "modules_to_not_convert")), modulesOf(inside, member[[]string](c, nil, "ignored_layers")))
}

// mlxModes are the formats of MLX's modes, with the bits and groups that they imply.
var mlxModes = map[string]struct {
	format      func() *Format
	bits, group int64
}{
	"affine": {func() *Format { return mlx }, 4, 64}, "mxfp4": {func() *Format { return mlxMXFP4 }, 4, 32},
}

// describeMLX reads MLX's configuration: bits, group_size and mode, and the same for modules
// whose weights differ.
func describeMLX(d *Description, c *fields) {
	read := func(c *fields, p Params, mode string) (*Format, Params) {
		mode = cmp.Or(member(c, mode, "mode"), "affine")
		m, known := mlxModes[mode]
		if !known {
			c.refuse(layout.ErrUnsupported, "mode %s; affine and mxfp4 are known of mlx", quote.Name(mode))
			return mlx, p
		}
		p.Bits = member(c, cmp.Or(p.Bits, m.bits), "bits")
		p.Group = c.group(member(c, cmp.Or(p.Group, m.group), "group_size"))
		return m.format(), p
	}
	d.Format, d.Params = read(c, Params{}, "")
	c.without("quant_method", "zero_point")
	mode := member(c, "", "mode")
	for _, name := range slices.Sorted(maps.Keys(c.all)) {
		switch text := strings.TrimSpace(string(c.all[name])); {
		case c.used[name]:
		case text == "false":
			d.Modules = append(d.Modules, modulePattern{exactly, name})
			c.used[name] = true
		case text == "true":
			c.used[name] = true
		case strings.HasPrefix(text, "{"):
			inner := c.object(name)
			if !inner.has("bits") && !inner.has("group_size") && !inner.has("mode") {
				c.used[name] = false // not a module
				c.inner = c.inner[:len(c.inner)-1]
				continue
			}
			f, p := read(inner, d.Params, mode)
			d.rules = append(d.rules, moduleRule{Modules{{exactly, name}}, f, p})
		}
	}
}
