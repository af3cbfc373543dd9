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

// describeCompressed reads the configuration of compressed-tensors: groups of modules, with a
// scheme each.
func describeCompressed(d *Description, c *fields) {
	format := member(c, "", "format")
	c.without("quantization_status", "global_compression_ratio", "version", "kv_cache_scheme", "sparsity_config", "transform_config")
	c.sparse()
	d.Modules = modulesOf(exactly, member[[]string](c, nil, "ignore"))
	groups := member[map[string]json.RawMessage](c, nil, "config_groups")
	if len(groups) == 0 && c.err == nil {
		c.refuse(layout.ErrUnsupported, "0 config_groups")
	}
	classes := 0
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := c.within(c.in+".config_groups."+quote.Plain(name), groups[name])
		f, p := g.scheme(format)
		targets := member(g, []string{"Linear"}, "targets")
		g.without("input_activations", "output_activations")
		for _, t := range targets {
			switch {
			case strings.HasPrefix(t, "re:"):
				d.add(regexped, t, f, p)
			case strings.Contains(t, ".") || t == "lm_head":
				d.rules = append([]moduleRule{{modulesOf(exactly, []string{t}), f, p}}, d.rules...)
			case d.Format == nil || d.Format == f && d.Params == p:
				d.Format, d.Params = f, p
			default:
				classes++
			}
		}
	}
	if classes > 0 {
		c.refuse(layout.ErrUnsupported, "several config_groups name classes of modules, and tensors do not say their class")
	}
}

// sparse refuses weights that are compressed further, or whose inputs are transformed.
func (c *fields) sparse() {
	var sparsity struct {
		Format string `json:"format"`
	}
	if c.has("sparsity_config") {
		if err := json.Unmarshal(c.all["sparsity_config"], &sparsity); err != nil {
			c.err = cmp.Or(c.err, unread(c.in+".sparsity_config", err))
		}
	}
	if sparsity.Format != "" && sparsity.Format != "dense" {
		c.refuse(layout.ErrUnsupported, "sparsity_config: format %s; dense is known", quote.Name(sparsity.Format))
	}
	if text := string(c.all["transform_config"]); c.has("transform_config") && text != "{}" && text != `{"config_groups":{}}` {
		c.refuse(layout.ErrUnsupported, "transform_config: weights that are transformed are not known")
	}
}

// scheme reads a group's scheme.
func (c *fields) scheme(format string) (*Format, Params) {
	p := Params{Group: -1}
	format = cmp.Or(member(c, "", "format"), format)
	w := c.object("weights")
	if w == nil {
		c.refuse(layout.ErrUnsupported, "no weights: those other than integers and floats of 2 to 8 bits are not known")
		return nil, p
	}
	typ, strategy := member(w, "int", "type"), member(w, "", "strategy")
	symmetric := member(w, true, "symmetric")
	p.Bits, p.Zeros = member(w, int64(8), "num_bits"), !symmetric
	size := member(w, int64(-1), "group_size")
	block := member[[]int64](w, nil, "block_structure")
	w.without("observer", "observer_kwargs", "dynamic", "actorder", "scale_dtype", "zp_dtype")
	if rest := w.rest(); len(rest) > 0 {
		w.refuse(layout.ErrUnsupported, "%s is not known", strings.Join(rest, ", "))
	}
	known := func(ok bool) {
		if !ok {
			c.refuse(layout.ErrUnsupported, "format %s with weights of type %s, %d bits and the strategy %s", quote.Name(format), quote.Name(typ), p.Bits, quote.Name(strategy))
		}
	}
	switch format {
	case "pack-quantized":
		known(typ == "int" && p.Bits >= 2 && p.Bits <= 8 && (strategy == "group" || strategy == "channel"))
		if p.Group = 0; strategy == "group" {
			p.Group = c.group(size)
		}
		return compressedTensors, p
	case "int-quantized", "naive-quantized":
		if typ == "float" {
			known(p.Bits == 8)
			return fp8, c.fp8Scheme(strategy, size, block)
		}
		known(typ == "int" && p.Bits == 8 && (strategy == "group" || strategy == "channel"))
		if p.Group = 0; strategy == "group" {
			p.Group = c.group(size)
		}
		return compressedInt8, p
	case "float-quantized":
		known(typ == "float" && p.Bits == 8)
		return fp8, c.fp8Scheme(strategy, size, block)
	case "nvfp4-pack-quantized":
		known(typ == "float" && p.Bits == 4 && (size == -1 || size == 16))
		return compressedNVFP4, Params{Group: -1}
	case "mxfp4-pack-quantized":
		known(typ == "float" && p.Bits == 4 && (size == -1 || size == 32))
		return compressedMXFP4, Params{Group: -1}
	}
	c.refuse(layout.ErrUnsupported, "format %s; pack-quantized, int-quantized, float-quantized, nvfp4-pack-quantized and mxfp4-pack-quantized are known", quote.Name(format))
	return nil, p
}

// fp8Scheme are the parameters of FP8 with a strategy.
func (c *fields) fp8Scheme(strategy string, size int64, block []int64) Params {
	p := fp8Params()
	switch strategy {
	case "group":
		p.Group = c.group(size)
	case "block":
		p.Rows, p.Group = c.block("block_structure", block)
	}
	return p
}
