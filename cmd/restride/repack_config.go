package main

import (
	"encoding/json"
	"path/filepath"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

// readConfig returns the fields of the source's config.json, or nil if there is none. Values other
// than objects are an error.
func readConfig(c *checkpoint.Checkpoint) (map[string]json.RawMessage, error) {
	if c.Config == nil {
		return nil, nil
	}
	config := map[string]json.RawMessage{}
	err := json.Unmarshal(c.Config, &config)
	if err == nil && config != nil {
		return config, nil
	}
	path := filepath.Join(filepath.Dir(c.Files[0].Path), "config.json")
	return nil, layout.Errorf(layout.ErrInvalid, "repack", "%s is not an object, as %s begins", quote.Path(path), quote.Name(start(c.Config)))
}

// start is the beginning of a text.
func start(text []byte) string { return string(text[:min(len(text), 20)]) }

// outConfig is the output's config.json: the source's, with its description of weights updated.
func (r *repack) outConfig() ([]byte, error) {
	fields, err := readConfig(r.source)
	if fields == nil || r.left > 0 { // config.json describes the weights left
		return r.source.Config, err
	}
	// The source's is wrong for unquantised numbers, and for weights that differ.
	var by json.RawMessage
	if r.config != nil {
		if by, err = json.Marshal(r.config); err != nil {
			return nil, err
		}
	}
	if fields, err = quant.Described(fields, by); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// configOf returns the metadata's description of a checkpoint's weights, in the format of
// config.json; nil: none. All files agree.
func configOf(c *checkpoint.Checkpoint) (json.RawMessage, error) {
	first, some := c.Files[0].Value(configKey)
	if c.Files[0].Format != checkpoint.Safetensors {
		return nil, nil
	}
	for _, f := range c.Files[1:] {
		if v, ok := f.Value(configKey); ok != some || v != first {
			return nil, layout.Errorf(layout.ErrInvalid, "repack", "%s and %s have other metadata %s", quote.Path(c.Files[0].Path), quote.Path(f.Path), configKey)
		}
	}
	if !some {
		return nil, nil
	}
	text, _ := first.Text()
	if err := chargeJSON(c, configKey, text); err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]json.RawMessage{configKey: json.RawMessage(text)})
	if err != nil {
		return nil, layout.Errorf(layout.ErrInvalid, "repack", "%s: its metadata %s: %s", quote.Path(c.Files[0].Path), configKey, quote.Text(err.Error()))
	}
	return config, nil
}
