package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

func newInspect() *cobra.Command {
	var said said
	var limits limits
	var asJSON, everything bool
	cmd := &cobra.Command{
		Use:        "inspect SOURCE",
		SuggestFor: []string{"show", "info"},
		Short:      "List what is in a weight file, and what it can be converted to",
		Long: `List what is in a weight file, and what it can be converted to.

SOURCE is as for restride repack. Only its headers and config.json are read. They name
the format of quantised weights. It is not guessed, because names and shapes are the
same in formats that differ in the order of bits. If nothing names the format, the
possible ones are listed, and --from selects one.`,
		Args:              takes(source, false),
		ValidArgsFunction: once(weightFiles),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			restore, err := limits.bound()
			if err != nil {
				return err
			}
			defer restore()
			ctx, end := limits.begin(cmd.Context(), "inspect")
			defer end()
			if err := said.check(); err != nil {
				return err
			}
			c, err := openSource(args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, c.Close()) }()
			all, err := inspect(ctx, c, said)
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(cmd.OutOrStdout(), all)
			}
			return all.print(cmd.OutOrStdout(), everything)
		},
	}
	said.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	cmd.Flags().BoolVar(&everything, "all", false, "list also what the weights cannot become, and why")
	limits.register(cmd, "the whole command")
	return cmd
}

// inspection is the output of inspect.
type inspection struct {
	Files  []inspectedFile `json:"files"`
	Format string          `json:"format,omitempty"` // of the weights
	SaidBy string          `json:"said_by,omitempty"`
	// Unsaid is the reason why Format is missing, and MayBe the formats that names and shapes
	// allow.
	Unsaid string   `json:"unsaid,omitempty"`
	MayBe  []string `json:"may_be,omitempty"`
	// Notes are what the source says that restride does not use, or does not read.
	Notes   []string           `json:"notes,omitempty"`
	Refused []inspectedRefusal `json:"refused,omitempty"` // weights that cannot be opened
	Weights []inspectedWeight  `json:"weights"`
	Tensors []inspectedTensor  `json:"tensors"` // not part of a weight
}

type inspectedRefusal struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

type inspectedFile struct {
	Path     string            `json:"path"`
	Format   string            `json:"format"`
	Tensors  int               `json:"tensors"`
	Bytes    int64             `json:"bytes"` // of these tensors
	Metadata map[string]string `json:"metadata"`
}

type inspectedTensor struct {
	Name  string  `json:"name"`
	Type  string  `json:"type"`
	Shape []int64 `json:"shape"`
	Bytes int64   `json:"bytes"`
}

type inspectedWeight struct {
	Name    string              `json:"name"`
	Shape   []int64             `json:"shape"` // batch, n, k
	Bits    int64               `json:"bits"`
	Group   int64               `json:"group"` // extent along k that shares a scale; 0: a row
	Zeros   bool                `json:"zero_points"`
	Blocks  string              `json:"blocks,omitempty"` // GGUF's type
	Bytes   int64               `json:"bytes"`
	Tensors []inspectedTensor   `json:"tensors"`
	Becomes map[string]becoming `json:"becomes,omitempty"` // by format
}

// becoming is the cost of a conversion, or the reason why there is none.
type becoming struct {
	Verdict string `json:"verdict,omitempty"` // "view" or "copy"
	Moves   int    `json:"moves,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"` // written by these moves
	Memory  int64  `json:"memory,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// inspect reads nothing beyond what Open has read.
func inspect(ctx context.Context, c *checkpoint.Checkpoint, said said) (*inspection, error) {
	out := &inspection{Weights: []inspectedWeight{}, Tensors: []inspectedTensor{}}
	for _, f := range c.Files {
		metadata := map[string]string{}
		for _, e := range f.Metadata {
			metadata[e.Key] = e.Value.String()
		}
		out.Files = append(out.Files, inspectedFile{f.Path, f.Format.String(), len(f.Tensors), f.Size(), metadata})
	}
	all := tensorsOf(c)
	known, err := said.describe(c)
	if errors.Is(err, quant.ErrUnsaid) || errors.Is(err, layout.ErrUnsupported) {
		out.Unsaid, out.MayBe = err.Error(), mayBe(all, said)
		return out, out.rest(c, all)
	}
	if err != nil {
		return nil, err
	}
	out.Format, out.SaidBy = known.name(), known.by
	found, err := known.find(all, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	for _, w := range found.refused {
		out.Refused = append(out.Refused, inspectedRefusal{w.Name, reason(w.Err)})
	}
	out.Notes = sourceNotes(c, known, found)
	plans := newPlanner()
	for _, w := range found.weights {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		x := inspectedWeight{
			Name: w.Name, Shape: w.Shape(), Bits: w.Params.Bits, Group: w.Params.Group, Zeros: w.Params.Zeros, Blocks: w.Params.Blocks,
			Becomes: plans.becomes(w),
		}
		for _, t := range w.Tensors {
			n := c.Lookup(t.Name).Size()
			x.Bytes += n
			x.Tensors = append(x.Tensors, inspectedTensor{t.Name, t.Type, t.Dims, n})
		}
		out.Weights = append(out.Weights, x)
	}
	r := repack{said: said, source: c, known: known, from: known.format, left: len(found.refused)}
	if err := plans.refuse(ctx, r, found.weights, found.rest); err != nil {
		return nil, err
	}
	return out, out.rest(c, found.rest)
}

// rest lists tensors that are not part of a weight.
func (i *inspection) rest(c *checkpoint.Checkpoint, all []quant.Tensor) error {
	for _, t := range all {
		i.Tensors = append(i.Tensors, inspectedTensor{t.Name, t.Type, t.Dims, c.Lookup(t.Name).Size()})
	}
	return nil
}

// mayBe are the formats that the names and shapes of the first tensors allow.
func mayBe(all []quant.Tensor, said said) (names []string) {
	all = all[:min(len(all), mostShapes)]
	p := quant.Params{Bits: said.bits, Group: -1, GroupHint: said.group}
	for _, f := range quant.Formats() {
		w, _, err := quant.Find(f, p, all)
		if err == nil && len(w) > 0 || errors.Is(err, quant.ErrUnsaid) {
			names = append(names, f.Name)
		}
	}
	return names
}

// verdictOf says whether any data must move.
func verdictOf(c quant.Cost) string {
	if c.Bytes == 0 {
		return "view"
	}
	return "copy"
}

// reason is the rule of an error, without the operation.
func reason(err error) string {
	if e := new(layout.Error); errors.As(err, &e) {
		return quote.Text(e.Msg)
	}
	return quote.Text(err.Error())
}
