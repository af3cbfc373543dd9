package quant

import (
	"encoding/json"
	"strings"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Describe reads how a model's weights are quantised from config.json. Without a
// quantization_config the format is nil.
func Describe(config json.RawMessage) (*Format, Params, error) {
	var all struct {
		Config *json.RawMessage `json:"quantization_config"`
	}
	if len(config) == 0 {
		return nil, Params{}, nil
	}
	if err := json.Unmarshal(config, &all); err != nil {
		return nil, Params{}, unread(err)
	}
	if all.Config == nil {
		return nil, Params{}, nil
	}
	var method struct {
		Name    string `json:"quant_method"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(*all.Config, &method); err != nil {
		return nil, Params{}, unread(err)
	}
	for _, known := range []struct {
		name   string
		format *Format
		read   func(json.RawMessage) (Params, error)
	}{
		{"gptq", gptq, describeGPTQ}, {"awq", awq, describeAWQ}, {"compressed-tensors", compressedTensors, describeCompressed},
		{"mxfp4", gptOSS, func(json.RawMessage) (Params, error) { return Params{}, nil }}, {"modelopt", nvfp4, describeModelOpt},
		{"bitsandbytes", bitsandbytes, describedByTensors}, {"hqq", hqq, describedByTensors},
	} {
		if known.name != method.Name {
			continue
		}
		p, err := known.read(*all.Config)
		if method.Name == "awq" && strings.EqualFold(method.Version, "gemv") {
			return awqGEMV, p, err
		}
		return known.format, p, err
	}
	return describeOwn(method.Name, *all.Config)
}

// describeOwn reads the text that Config writes for formats without an established
// configuration. Shapes give the rest.
func describeOwn(name string, text json.RawMessage) (*Format, Params, error) {
	f, err := Lookup(name)
	if err != nil {
		return nil, Params{}, layout.Errorf(layout.ErrUnsupported, "config.json", "quant_method %s is not known", quote.Name(name))
	}
	var c struct {
		Bits  int64  `json:"bits"`
		Group *int64 `json:"group_size"`
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, Params{}, unread(err)
	}
	if c.Bits < 1 || c.Bits > 64 {
		return nil, Params{}, layout.Errorf(layout.ErrInvalid, "config.json", "quantization_config: bits is %d", c.Bits)
	}
	p := Params{Bits: c.Bits, Group: -1}
	if c.Group != nil {
		if p.GroupHint, err = group(*c.Group); p.GroupHint == 0 {
			p.GroupHint = -1
		}
	}
	return f, p, err
}

func unread(err error) error {
	return layout.Errorf(layout.ErrInvalid, "config.json", "quantization_config: %s", quote.Text(err.Error()))
}

// group converts a group size in a configuration: -1 is a row.
func group(n int64) (int64, error) {
	if n < -1 || n == 0 || n > 1<<40 {
		return 0, layout.Errorf(layout.ErrInvalid, "config.json", "quantization_config: group_size is %d", n)
	}
	return max(n, 0), nil
}

func describeGPTQ(text json.RawMessage) (p Params, err error) {
	c := struct {
		Bits   int64  `json:"bits"`
		Group  int64  `json:"group_size"`
		Sorted bool   `json:"desc_act"`
		Sym    *bool  `json:"sym"`
		Format string `json:"checkpoint_format"`
	}{Group: -1}
	if err := json.Unmarshal(text, &c); err != nil {
		return p, unread(err)
	}
	if c.Bits != 2 && c.Bits != 3 && c.Bits != 4 && c.Bits != 8 {
		return p, layout.Errorf(layout.ErrUnsupported, "gptq", "codes of %d bits; 2, 3, 4 and 8 are known", c.Bits)
	}
	switch c.Format {
	case "", "gptq", "gptq_v2":
	default:
		return p, layout.Errorf(layout.ErrUnsupported, "gptq", "checkpoint_format %s; gptq and gptq_v2 are known", quote.Name(c.Format))
	}
	p = Params{Bits: c.Bits, Zeros: c.Sym == nil || !*c.Sym, ZeroLess: c.Format != "gptq_v2"}
	p.Group, err = group(c.Group)
	p.Sorted = c.Sorted && p.Group > 0
	return p, err
}

func describeAWQ(text json.RawMessage) (p Params, err error) {
	c := struct {
		Bits    int64  `json:"bits"`
		Group   int64  `json:"group_size"`
		Zeros   *bool  `json:"zero_point"`
		Version string `json:"version"`
	}{Group: 128}
	if err := json.Unmarshal(text, &c); err != nil {
		return p, unread(err)
	}
	if v := strings.ToLower(c.Version); v != "" && v != "gemm" && v != "gemv" || c.Bits != 4 {
		return p, layout.Errorf(layout.ErrUnsupported, "awq", "version %s of %d bits; gemm and gemv of 4 are known", quote.Name(c.Version), c.Bits)
	}
	p = Params{Bits: 4, Zeros: c.Zeros == nil || *c.Zeros}
	p.Group, err = group(c.Group)
	return p, err
}

func describeModelOpt(text json.RawMessage) (p Params, err error) {
	var c struct {
		Algorithm string `json:"quant_algo"`
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return p, unread(err)
	}
	if c.Algorithm != "NVFP4" {
		return p, layout.Errorf(layout.ErrUnsupported, "modelopt", "quant_algo %s; NVFP4 is known", quote.Name(c.Algorithm))
	}
	return Params{Group: -1}, nil
}

func describeCompressed(text json.RawMessage) (p Params, err error) {
	var c struct {
		Format string `json:"format"`
		Groups map[string]struct {
			Weights *struct {
				Bits      int64  `json:"num_bits"`
				Group     *int64 `json:"group_size"`
				Strategy  string `json:"strategy"`
				Symmetric *bool  `json:"symmetric"`
				Type      string `json:"type"`
			} `json:"weights"`
		} `json:"config_groups"`
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return p, unread(err)
	}
	if c.Format != "pack-quantized" {
		return p, layout.Errorf(layout.ErrUnsupported, "compressed-tensors", "format %s; pack-quantized is known", quote.Name(c.Format))
	}
	if len(c.Groups) != 1 {
		return p, layout.Errorf(layout.ErrUnsupported, "compressed-tensors", "%d config_groups; one is known", len(c.Groups))
	}
	for _, g := range c.Groups {
		w := g.Weights
		switch {
		case w == nil || w.Type != "int" || w.Bits < 2 || w.Bits > 8:
			return p, layout.Errorf(layout.ErrUnsupported, "compressed-tensors", "weights other than integers of 2 to 8 bits")
		case w.Symmetric != nil && !*w.Symmetric && 32%w.Bits != 0:
			return p, layout.Errorf(layout.ErrUnsupported, "compressed-tensors", "zero points of %d bits, which cross words", w.Bits)
		case w.Strategy != "group" && w.Strategy != "channel":
			return p, layout.Errorf(layout.ErrUnsupported, "compressed-tensors", "the strategy %s; group and channel are known", quote.Name(w.Strategy))
		}
		p.Bits, p.Zeros = w.Bits, w.Symmetric != nil && !*w.Symmetric
		if w.Strategy == "group" && w.Group != nil {
			p.Group, err = group(*w.Group)
		}
	}
	return p, err
}

// Config returns the weight's quantization_config for config.json. Formats of GPTQModel,
// AutoAWQ, compressed-tensors and gpt-oss get their own fields. Others get the format's
// name, which no engine mistakes for another format. For numbers, which are not quantised,
// it is nil.
func (w *Weight) Config() map[string]any {
	if w.Format.numbers {
		return nil
	}
	p := w.Params
	size := p.Group
	if size == 0 {
		size = -1
	}
	c := map[string]any{"quant_method": w.Format.Name, "bits": p.Bits, "group_size": size}
	switch w.Format {
	case gptq:
		c["desc_act"], c["sym"], c["checkpoint_format"] = p.Sorted, !p.Zeros, "gptq_v2"
	case gptqV1:
		c["quant_method"], c["desc_act"], c["sym"], c["checkpoint_format"] = "gptq", p.Sorted, !p.Zeros, "gptq"
	case awq:
		c["version"], c["zero_point"] = "gemm", p.Zeros
	case awqGEMV:
		c["quant_method"], c["version"], c["zero_point"] = "awq", "gemv", p.Zeros
	case nvfp4:
		c = map[string]any{"quant_method": "modelopt", "quant_algo": "NVFP4"}
	case compressedTensors:
		strategy := map[string]any{"num_bits": p.Bits, "type": "int", "symmetric": !p.Zeros, "strategy": "channel"}
		if p.Group > 0 {
			strategy["strategy"], strategy["group_size"] = "group", p.Group
		}
		c = map[string]any{
			"quant_method": w.Format.Name, "format": "pack-quantized",
			"config_groups": map[string]any{"group_0": map[string]any{"targets": []string{"Linear"}, "weights": strategy}},
		}
	case gptOSS:
		c = map[string]any{"quant_method": "mxfp4"}
	default:
		c["zero_point"] = p.Zeros
	}
	return c
}
