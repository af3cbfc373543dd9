package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/quant"
	"github.com/restride/restride/tensor"
)

func newRepack() *cobra.Command {
	var r repack
	var limits limits
	cmd := &cobra.Command{
		Use:        "repack SOURCE --to FORMAT --output OUTPUT",
		SuggestFor: []string{"convert", "quantize", "quantise"},
		Short:      "Convert quantised weights between formats, file to file",
		Long: `Convert quantised weights between formats, file to file.

SOURCE is a .safetensors or .gguf file, an index of such files, or a folder that
contains one of these. The format of the weights is read from the file or from
config.json beside it; --from names it if neither does (see restride inspect). Tensors
that are not quantised weights are copied.

OUTPUT is a .safetensors or .gguf file, or a folder, which gets a file for each file of
the source, an index and config.json. A file is written completely or not at all; after
an interruption the same command continues. Formats: restride formats.

--shard I/N writes the I-th of N parts of a folder. Parts may run on different machines
and at any time: together they write what one command with as many files writes.`,
		Args:              takes(source, false, "to", "output"),
		ValidArgsFunction: once(weightFiles),
		RunE: func(cmd *cobra.Command, args []string) error {
			restore, err := limits.bound()
			if err != nil {
				return err
			}
			defer restore()
			ctx, end := limits.begin(cmd.Context(), "repack")
			defer end()
			r.progress = newProgress(cmd.ErrOrStderr(), "repack")
			return r.run(ctx, cmd, args[0])
		},
	}
	f := cmd.Flags()
	r.shard = "1/1"
	r.said.register(cmd)
	f.Var(formatFlag(&r.to), "to", "format to convert to")
	f.StringVar(&r.output, "output", "", "`FILE` or folder to write")
	f.StringVar(&r.device, "device", "cpu", "`DEVICE` to convert on")
	f.Var(patternFlag(&r.only), "only", "regular expression: convert only weights whose name it matches, copy the others")
	f.Var(partFlag(&r.shard), "shard", "part of the files to write, as 2/8")
	f.BoolVar(&r.verify, "verify", false, "convert each weight back on the device, and compare it with the source; and compare numbers by a reading of their own")
	f.BoolVar(&r.sync, "sync", false, "wait for the disk before a file gets its name, so that it survives a power cut")
	f.BoolVar(&r.dryRun, "dry-run", false, "write nothing: show what would happen to each weight, and its cost")
	f.BoolVar(&r.json, "json", false, "print the result, or the plan, as JSON")
	limits.register(cmd, "the whole command")
	return cmd
}

// repack is a conversion as specified by flags.
type repack struct {
	said               said
	to, output, device string
	only, shard        string
	verify, sync       bool
	dryRun             bool
	json               bool

	target     *quant.Format
	source     *checkpoint.Checkpoint
	known      *described
	from       *quant.Format
	part       part
	weights    []*weight
	left       int      // weights that --only does not match
	companions []string // files that come along into a folder
	renamed    bool     // weights have llama.cpp's names
	leftOut    []string // keys of metadata that the output cannot contain
	notes      []string // what the source has that nothing uses
	// Of a GGUF file made of safetensors: tensors that are converted besides weights, names of
	// tensors that are left out or that llama.cpp may not know, and what the file does not say.
	carried                  []*weight
	dropped, foreign, unsaid []string
	// untyped are tensors of types that the output's format does not have.
	untyped []string
	files   []*outFile     // all files, including other parts' files
	config  map[string]any // nil: records describe the weights
	// configText is the output's config.json; nil: there is none.
	configText json.RawMessage
	begun      []string // files that this run has begun, including partial ones
	memory     memory
	charged    func(bytes int64) error // for plans
	stream     *tensor.Stream

	progress *progress
	did      account
	done     int64 // total bytes written or already there
	all      int64
}

func (r *repack) run(ctx context.Context, cmd *cobra.Command, source string) (err error) {
	start := time.Now()
	if r.target, err = quant.Lookup(r.to); err != nil {
		return err
	}
	if err := r.said.check(); err != nil {
		return err
	}
	if r.part, err = parsePart(r.shard); err != nil {
		return err
	}
	if r.source, err = openSource(source); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.source.Close()) }()
	if err := r.plan(); err != nil {
		return err
	}
	if err := r.guard(); err != nil {
		return err
	}
	if r.stream, err = tensor.Open(r.device); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stream.Close()) }()
	if err := r.cut(); err != nil {
		return err
	}
	reporter := repackReporter{r, cmd.OutOrStdout()}
	if r.dryRun {
		return reporter.preview()
	}
	if err := r.writeAll(ctx); err != nil {
		return err
	}
	return reporter.summary(time.Since(start))
}
