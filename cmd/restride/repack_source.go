package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

// said is what flags say of a source's weights.
type said struct {
	from string
	bits int64
}

func (s *said) register(cmd *cobra.Command) {
	cmd.Flags().Var(formatFlag(&s.from), "from", "format of the source's weights (default: what the file or config.json says)")
	cmd.Flags().Int64Var(&s.bits, "bits", 0, "bits of a code, where nothing else says it (default: what shapes say, or 4)")
}

// check refuses a format that nobody knows, before any file is opened.
func (s *said) check() error {
	if s.from == "" {
		return nil
	}
	_, err := quant.Lookup(s.from)
	return err
}

// configKey is the metadata of a file that says what its weights are: what config.json has
// under the same key. It counts before config.json, which may be another file's.
const configKey = "quantization_config"

// byFlag says that the format is what --from names.
const byFlag = "--from"

// errUnnamed: nothing says what the weights of a source are.
var errUnnamed = layout.Errorf(layout.ErrInvalid, "repack", "nothing says what format the weights are in: name it by --from (restride inspect lists what may be)")

// describe returns what a source's weights are.
func (s *said) describe(c *checkpoint.Checkpoint) (*described, error) {
	all, err := readRecords(c)
	if err != nil {
		return nil, err
	}
	d := &described{by: "the file's metadata", records: all}
	if all.format != "" && (s.from == "" || s.from == all.format) {
		d.format, err = quant.Lookup(all.format)
		return d, err
	}
	d.format, d.params, d.by, err = s.common(c)
	return d, err
}

// common returns what all of a source's weights are, and who says so.
func (s *said) common(c *checkpoint.Checkpoint) (f *quant.Format, p quant.Params, by string, err error) {
	config, by := c.Config, "config.json"
	if v, ok := c.Files[0].Value(configKey); ok && c.Files[0].Format == checkpoint.Safetensors {
		text, _ := v.Text()
		if config, err = json.Marshal(map[string]json.RawMessage{configKey: json.RawMessage(text)}); err != nil {
			return nil, p, "", layout.Errorf(layout.ErrInvalid, "repack", "%s: its metadata %s: %s", quote.Path(c.Files[0].Path), configKey, quote.Text(err.Error()))
		}
		by = "the file's metadata"
	}
	f, p, err = quant.Describe(config)
	name, gguf := s.from, c.Files[0].Format == checkpoint.GGUF
	switch {
	case name != "":
	case gguf:
		name = "gguf"
	case err != nil:
		return nil, p, by, err
	case f == nil:
		return nil, p, "", errUnnamed
	default:
		return f, p, by, nil
	}
	named, e := quant.Lookup(name)
	if e != nil {
		return nil, p, "", e
	}
	if named == f {
		return f, p, by, err
	}
	if by = byFlag; s.from == "" {
		by = "the types of its tensors"
	}
	return named, quant.Params{Bits: s.bits, Group: -1}, by, nil
}

// tensorsOf are a checkpoint's tensors, for package quant.
func tensorsOf(c *checkpoint.Checkpoint) []quant.Tensor {
	all := make([]quant.Tensor, 0, len(c.Tensors))
	for _, t := range c.Tensors {
		all = append(all, quant.Tensor{Name: t.Name, Type: t.Type.Name, Dims: t.Dims, Content: t})
	}
	return all
}
