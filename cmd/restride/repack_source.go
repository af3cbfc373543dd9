package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

// said is the description of a source's weights by flags.
type said struct {
	from        string
	bits, group int64 // 0: not given
	cmd         *cobra.Command
}

func (s *said) register(cmd *cobra.Command) {
	s.cmd = cmd
	cmd.Flags().Var(formatFlag(&s.from), "from", "format of the source's weights (default: what the file or config.json says)")
	cmd.Flags().Int64Var(&s.bits, "bits", 0, "bits of a code, if neither the file nor config.json states it")
	cmd.Flags().Int64Var(&s.group, "group", 0, "columns that share a scale, -1 for a row, if neither the file nor config.json states it")
}

// check rejects values that no weight has, before any file is opened.
func (s *said) check() error {
	if s.cmd.Flags().Changed("bits") && (s.bits < 1 || s.bits > 64) {
		return fmt.Errorf("--bits %d: codes have 1 or more", s.bits)
	}
	if s.cmd.Flags().Changed("group") && (s.group < -1 || s.group == 0 || s.group > 1<<40) {
		return fmt.Errorf("--group %d: groups have 1 column or more; -1 is a row", s.group)
	}
	if s.from == "" {
		return nil
	}
	f, err := quant.Lookup(s.from)
	if err == nil {
		err = f.Readable()
	}
	return err
}

// configKey is the metadata of a file that describes its weights, in the format of config.json's
// field of the same name. It takes precedence over config.json, which may belong to another file.
const configKey = "quantization_config"

// byFlag says that --from names the format.
const byFlag = "--from"

// errUnnamed: nothing describes a source's weights.
var errUnnamed = layout.Errorf(quant.ErrUnsaid, "repack", "nothing says what format the weights are in: name it by --from (restride inspect lists what may be)")

// describe returns the description of a source's weights.
func (s *said) describe(c *checkpoint.Checkpoint) (*described, error) {
	if _, err := readConfig(c); err != nil {
		return nil, err
	}
	all, err := readRecords(c)
	if err != nil {
		return nil, err
	}
	d := &described{said: *s, by: "the file's metadata", params: quant.Params{Group: -1}, records: all}
	if all.format != "" && (s.from == "" || s.from == all.format) {
		d.format, err = quant.Lookup(all.format)
	} else {
		err = s.common(c, d)
	}
	if err != nil {
		return nil, err
	}
	for _, f := range d.formats() {
		if err := f.Readable(); err != nil {
			return d, err
		}
	}
	return d, nil
}

// common determines the common description of a source's weights, and where it comes from.
func (s *said) common(c *checkpoint.Checkpoint, d *described) error {
	config, err := configOf(c)
	if err != nil {
		return err
	}
	if d.by = "the file's metadata"; config == nil {
		config, d.by = c.Config, "config.json"
	}
	gguf := c.Files[0].Format == checkpoint.GGUF
	d.config, err = quant.Describe(config, nil)
	if err == nil && d.config.Format == nil && len(d.config.Formats()) == 0 && c.Quantization != nil && !gguf {
		d.by = c.QuantizationName
		d.config, err = quant.Describe(nil, c.Quantization)
	}
	if d.config == nil || err != nil || len(d.config.Formats()) == 0 {
		d.config = nil
	} else {
		d.format, d.params = d.config.Formats()[0], d.config.Params
	}
	switch {
	case gguf:
		// config.json describes other files.
		d.format, d.params, d.config, d.by = nil, quant.Params{}, nil, "the types of its tensors"
		if s.from == "" {
			d.format, d.params.Group = ggufFormat, -1
			return nil
		}
	case err != nil && (s.from == "" || !errors.Is(err, layout.ErrUnsupported)):
		return d.named(c, err)
	case err != nil:
		d.format = nil // it names an unknown format
	case s.from == "" && d.format == nil:
		return errUnnamed
	case s.from == "":
		return nil
	}
	named, err := quant.Lookup(s.from)
	switch {
	case err != nil:
		return err
	case d.format == named:
		return nil
	// config.json treats gptq-v1 as a kind of gptq.
	case d.format != nil && d.format.Name == "gptq" && d.params.ZeroLess && named.Name == "gptq-v1":
		d.format, d.config = named, nil
		return nil
	}
	if err := d.contradicts(c, named); err != nil {
		return err
	}
	d.format, d.params, d.config, d.by = named, quant.Params{Group: -1}, nil, byFlag
	return nil
}

// named adds the name of the file with a wrong configuration to an error.
func (d *described) named(c *checkpoint.Checkpoint, err error) error {
	path := c.Files[0].Path
	if strings.HasSuffix(d.by, ".json") {
		path = filepath.Join(filepath.Dir(path), d.by)
	}
	if e := new(layout.Error); errors.As(err, &e) && e.Op == "config.json" {
		return layout.Named(quote.Path(path), err)
	}
	return fmt.Errorf("%s: %w", quote.Path(path), err)
}

// ggufFormat is the format of blocks that GGUF's types describe.
var ggufFormat = func() *quant.Format {
	f, err := quant.Lookup("gguf")
	if err != nil {
		panic(err) // the name is package quant's
	}
	return f
}()

// contradicts rejects a format named by --from if the file or config.json names another one for
// the same tensors.
func (d *described) contradicts(c *checkpoint.Checkpoint, named *quant.Format) error {
	of := func(k kind) bool { return k.Format == named.Name }
	// Records take precedence.
	if d.format == nil || slices.ContainsFunc(slices.Collect(maps.Values(d.records.of)), of) {
		return nil
	}
	for _, t := range tensorsOf(c) {
		if d.format.Claims(d.params, t) && named.Claims(quant.Params{Group: -1}, t) {
			return layout.Errorf(layout.ErrInvalid, "repack", "--from %s: the codes in tensor %s are of format %s, as %s says", named.Name, quote.Name(t.Name), d.format.Name, d.by)
		}
	}
	return nil
}

// agree rejects weights that differ from the flags' description.
func (s *said) agree(weights []*quant.Weight) error {
	for _, w := range weights {
		p, shape := w.Params, w.Shape()
		group := p.Group
		if k := shape[len(shape)-1]; group == 0 && s.group == k {
			group = k
		} else if group == 0 {
			group = -1
		}
		switch {
		case s.bits != 0 && s.bits != p.Bits:
			return layout.Errorf(layout.ErrInvalid, "repack", "--bits %d: %s has codes of %d bits", s.bits, quote.Plain(w.Name), p.Bits)
		case s.group != 0 && p.Scale == "" && !w.Grouped():
			return layout.Errorf(layout.ErrInvalid, "repack", "--group %d: %s has codes alone, without groups", s.group, quote.Plain(w.Name))
		case s.group != 0 && s.group != group:
			return layout.Errorf(layout.ErrInvalid, "repack", "--group %d: %s has groups of %d", s.group, quote.Plain(w.Name), group)
		}
	}
	return nil
}

// tensorsOf are a checkpoint's tensors, for package quant.
func tensorsOf(c *checkpoint.Checkpoint) []quant.Tensor {
	all := make([]quant.Tensor, 0, len(c.Tensors))
	for _, t := range c.Tensors {
		all = append(all, quant.Tensor{Name: t.Name, Type: t.Type.Name, Dims: t.Dims, Content: t})
	}
	return all
}
