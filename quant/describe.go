package quant

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Description is what a model's configuration says about its quantised weights.
type Description struct {
	// Format and Params are those of weights that no rule of the configuration names. Format
	// is nil if there is no configuration of quantised weights.
	Format *Format
	Params Params
	// Modules are the modules that are not quantised.
	Modules Modules
	// Unused names what the configuration says and nothing uses: it may have an effect that is
	// not known.
	Unused []string

	rules []moduleRule
}

// moduleRule is the description of the weights of some modules. The first rule that matches
// counts.
type moduleRule struct {
	modules Modules
	format  *Format
	params  Params
}

// Formats returns the formats of the weights.
func (d *Description) Formats() (all []*Format) {
	if d.Format != nil {
		all = append(all, d.Format)
	}
	for _, r := range d.rules {
		if !slices.Contains(all, r.format) {
			all = append(all, r.format)
		}
	}
	return all
}

// Of returns the description of the weight of a module.
func (d *Description) Of(name string) (*Format, Params) {
	for _, r := range d.rules {
		if r.modules.match(name) {
			return r.format, r.params
		}
	}
	return d.Format, d.Params
}

// Find opens the weights that the description names, like the function Find.
func (d *Description) Find(tensors []Tensor) (weights []*Weight, rest []Tensor, err error) {
	rest = tensors
	for _, f := range d.Formats() {
		some, others, err := FindBy(f, func(_, name string) (Params, bool) {
			format, p := d.Of(name)
			return p, format == f
		}, rest)
		if err != nil {
			return nil, nil, err
		}
		weights, rest = append(weights, some...), others
	}
	return weights, rest, nil
}

// add adds a rule.
func (d *Description) add(kind patternKind, text string, f *Format, p Params) {
	m := modulesOf(kind, []string{text})
	d.rules = append(d.rules, moduleRule{m, f, p})
}

// reader reads a configuration of one quant_method. It reads or lists all of its fields.
type reader func(d *Description, c *fields)

// readers are the known values of quant_method.
var readers map[string]reader

func init() {
	readers = map[string]reader{
		"gptq": describeGPTQ, "awq": describeAWQ, "auto-round": describeAutoRound, "intel/auto-round": describeAutoRound,
		"compressed-tensors": describeCompressed, "mxfp4": describeMXFP4, "modelopt": describeModelOpt, "modelopt_fp4": describeModelOpt,
		"bitsandbytes": describeBitsandbytes, "hqq": describeHQQ, "fp8": describeFP8, "fbgemm_fp8": describeFP8, "mlx": describeMLX,
	}
}

// configKeys are the fields of config.json that describe quantised weights; the first is
// Transformers' own.
var configKeys = []string{"quantization_config", "compression_config", "quantization"}

// nestedKeys are the objects of config.json that describe a part of the model, and may have such
// a field.
var nestedKeys = []string{"text_config", "language_config", "llm_config", "thinker_config"}

// Describe reads how a model's weights are quantised: from config.json, or else from the text
// of a file beside it, such as quantize_config.json; either may be nil.
func Describe(config, beside json.RawMessage) (*Description, error) {
	text, key, err := findConfig(config)
	if err != nil {
		return nil, err
	}
	switch {
	case text != nil:
	case beside != nil:
		key, text = "the configuration", beside
	default:
		return &Description{}, nil
	}
	c := readFields(key, text)
	if inner := c.object("quantization"); inner != nil && c.err == nil { // of hf_quant_config.json
		c.without("producer")
		c.inner = nil
		unused := c.rest()
		c = inner
		c.all["quant_method"] = json.RawMessage(`"modelopt"`)
		return describe(c, unused)
	}
	return describe(c, nil)
}

// findConfig returns the description of weights in config.json; nil: there is none.
func findConfig(config json.RawMessage) (text json.RawMessage, key string, err error) {
	if len(config) == 0 {
		return nil, "", nil
	}
	c := readFields("config.json", config)
	if c.err != nil {
		return nil, "", c.err
	}
	for _, key := range configKeys {
		if c.has(key) {
			return c.all[key], key, nil
		}
	}
	for _, outer := range nestedKeys {
		var inner map[string]json.RawMessage
		if json.Unmarshal(c.all[outer], &inner) != nil {
			continue
		}
		for _, key := range configKeys {
			if text := inner[key]; text != nil && string(text) != "null" {
				return text, outer + "." + key, nil
			}
		}
	}
	return nil, "", nil
}

// Described returns config.json without its descriptions of quantised weights, or with another
// description in their place (nil: none).
func Described(config map[string]json.RawMessage, by json.RawMessage) (changed map[string]json.RawMessage, err error) {
	out, placed := maps.Clone(config), by == nil
	put := func(in map[string]json.RawMessage) {
		for _, key := range configKeys {
			if _, ok := in[key]; !ok {
				continue
			}
			if delete(in, key); !placed {
				placed, in[configKeys[0]] = true, by
			}
		}
	}
	put(out)
	for _, outer := range nestedKeys {
		var inner map[string]json.RawMessage
		if json.Unmarshal(out[outer], &inner) != nil || inner == nil {
			continue
		}
		before := len(inner)
		was := placed
		if put(inner); len(inner) == before && placed == was {
			continue
		}
		if out[outer], err = json.Marshal(inner); err != nil {
			return nil, err
		}
	}
	if !placed {
		out[configKeys[0]] = by
	}
	if by != nil && !strings.Contains(string(by), `"quant_method"`) { // MLX has a key of its own
		out[configKeys[2]] = by
	}
	return out, nil
}

// describe reads the fields of a description, by their quant_method.
func describe(c *fields, unused []string) (*Description, error) {
	d := &Description{Params: Params{Group: -1}}
	name := member(c, "", "quant_method")
	if name == "" {
		name = methodOf(c)
	}
	if read := readers[name]; read != nil {
		read(d, c)
	} else {
		describeOwn(d, c, name)
	}
	if c.err != nil {
		return d, c.err
	}
	d.Unused = append(unused, c.rest()...)
	return d, nil
}

// methodOf names the method of a description that does not: of MLX, and of the files that
// AutoGPTQ, AutoAWQ and Model Optimizer write.
func methodOf(c *fields) string {
	switch {
	case c.has("w_bit"), c.has("q_group_size"):
		return "awq"
	case c.has("desc_act"), c.has("damp_percent"), c.has("checkpoint_format"):
		return "gptq"
	case c.has("quant_algo"):
		return "modelopt"
	case c.has("bits") && c.has("group_size"), c.has("mode"):
		return "mlx"
	}
	return ""
}

// describeOwn reads the text that Config writes for formats without an established
// configuration. Shapes give the rest.
func describeOwn(d *Description, c *fields, name string) {
	f, err := Lookup(name)
	if err != nil {
		c.refuse(layout.ErrUnsupported, "quant_method %s is not known", quote.Name(name))
		return
	}
	d.Format, d.Params = f, Params{Bits: member(c, int64(0), "bits"), Group: -1}
	if d.Params.Bits < 1 || d.Params.Bits > 64 {
		c.refuse(layout.ErrInvalid, "bits is %d", d.Params.Bits)
	}
	if c.has("group_size") {
		if d.Params.GroupHint = c.group(member(c, int64(0), "group_size")); d.Params.GroupHint == 0 {
			d.Params.GroupHint = -1
		}
	}
	d.Modules = modulesOf(inside, member[[]string](c, nil, "modules_to_not_convert"))
	c.without("zero_point")
}

// lower is a text in lower case.
func lower(c *fields, keys ...string) string { return strings.ToLower(member(c, "", keys...)) }
