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
		Use:   "repack SOURCE --to FORMAT --output OUTPUT",
		Short: "Convert quantised weights between formats, file to file",
		Long: `Convert quantised weights between formats, file to file.

SOURCE is a .safetensors or .gguf file, an index of such files, or a folder that has
one of these. What the weights are is read from the file or from config.json beside
it; --from says it where neither does (see restride inspect). Tensors that are no
quantised weights are copied.

OUTPUT is a .safetensors or .gguf file, or a folder for a file of each that the source
has, with index and config.json. A file comes out whole or not at all; after an
interruption the same command goes on where it was. Formats: restride formats.

--shard I/N does the I-th of N parts of a folder, each of which may run on another
machine and at any time: all parts together write what one command writes that has
as many files.`,
		Args: cobra.ExactArgs(1),
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
	r.said.register(cmd)
	f.StringVar(&r.to, "to", "", "format to convert to")
	f.StringVar(&r.output, "output", "", "file or folder to write")
	f.StringVar(&r.device, "device", "cpu", "device to convert on")
	f.StringVar(&r.only, "only", "", "regular expression: convert only weights whose name it matches, copy the others")
	f.StringVar(&r.shard, "shard", "1/1", "part of the files to write, as 2/8")
	f.BoolVar(&r.verify, "verify", false, "turn each weight back on the device, and compare it with the source")
	f.BoolVar(&r.sync, "sync", false, "wait for the disk before a file gets its name: it is whole after a power cut, too")
	f.BoolVar(&r.dryRun, "dry-run", false, "write nothing: say what becomes of each weight, and what it takes")
	f.BoolVar(&r.json, "json", false, "print what was done, or would be, as JSON")
	limits.register(cmd, "all of it")
	for _, flag := range []string{"to", "output"} {
		_ = cmd.MarkFlagRequired(flag)
	}
	return cmd
}

// repack is a conversion as the flags say it.
type repack struct {
	said               said
	to, output, device string
	only, shard        string
	verify, sync       bool
	dryRun             bool
	json               bool

	target  *quant.Format
	source  *checkpoint.Checkpoint
	known   *described
	from    *quant.Format
	part    part
	weights []*weight
	left    int            // weights that --only does not match
	leftOut []string       // keys of metadata that the output cannot have
	files   []*outFile     // all of them, also those of other parts
	config  map[string]any // nil: records say it
	// configText is the output's config.json; nil: there is none.
	configText json.RawMessage
	begun      []string // files that this run has begun, partial ones among them
	memory     memory
	charged    func(bytes int64) error // for plans
	stream     *tensor.Stream

	progress *progress
	did      account
	done     int64 // bytes written or there, of all
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
	if r.dryRun {
		return r.tell(cmd.OutOrStdout())
	}
	if err := r.writeAll(ctx); err != nil {
		return err
	}
	return r.summary(cmd.OutOrStdout(), time.Since(start))
}
