package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/page"
	"github.com/restride/restride/internal/bench/peers"
	"github.com/restride/restride/internal/bench/report"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
)

func readReport(flag, path string) (*report.Report, error) {
	r, err := report.Load(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return r, nil
}

// report measures the devices at all sizes, or reads earlier measurements, and prints tables.
func (f *benchFlags) report(cmd *cobra.Command) (*report.Report, error) {
	if f.from != "" {
		r, err := readReport("--from", f.from)
		if err != nil {
			return nil, err
		}
		if f.old == nil && f.html == "" {
			for i, result := range r.Devices {
				f.space(cmd, i)
				f.table(cmd).Close(result)
			}
			if r.Unfinished {
				fmt.Fprintln(cmd.OutOrStdout(), "the run was interrupted")
			}
		}
		return r, nil
	}
	// An interrupt ends the run between two batches; files are kept.
	ctx, stop := signal.NotifyContext(cmd.Context(), endings()...)
	defer stop()
	r := bench.NewReport()
	r.Unfinished = true
	if err := errors.Join(f.write(r), f.writable()); err != nil { // before an hour of measuring
		return nil, err
	}
	if err := f.startPeers(ctx, cmd); err != nil {
		return nil, err
	}
	defer func() {
		f.silent = f.running.Err()
		f.running.Close()
	}()
	for _, name := range f.devices {
		sizes, err := f.sizesOf(cmd, name)
		if err != nil {
			return nil, errors.Join(err, f.export(r))
		}
		for _, size := range sizes {
			f.space(cmd, len(r.Devices))
			if err := f.measure(ctx, cmd, r, name, size); err != nil {
				if ctx.Err() != nil {
					err = f.interrupted()
				}
				return nil, errors.Join(err, f.export(r))
			}
		}
	}
	r.Unfinished = false
	return r, f.write(r)
}

// startPeers starts the other libraries, for each device.
func (f *benchFlags) startPeers(ctx context.Context, cmd *cobra.Command) (err error) {
	if len(f.choices) == 0 {
		return nil
	}
	var ids []string
	for _, name := range f.devices {
		dev, err := device.Open(name)
		if err != nil {
			return err
		}
		ids = append(ids, dev.Info().ID())
		if err := dev.Close(); err != nil {
			return err
		}
	}
	f.running, err = peers.Start(ctx, f.choices, ids, f.patience, func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), "peer:", quote.Text(line)) })
	if err != nil {
		err = fmt.Errorf("--peer: %w", err)
	}
	return err
}

// interrupted reports where the measurements so far are.
func (f *benchFlags) interrupted() error {
	var files []string
	for _, name := range []string{f.jsonFile, f.html, f.benchstat} {
		if name != "" {
			files = append(files, quote.Path(name))
		}
	}
	return errors.New(strings.Join(append([]string{"interrupted; what was measured until then is above"}, files...), ", and in "))
}

// space prints the space between tables.
func (f *benchFlags) space(cmd *cobra.Command, i int) {
	if i > 0 {
		fmt.Fprintln(cmd.OutOrStdout())
	}
}

func (f *benchFlags) table(cmd *cobra.Command) *report.Table {
	return &report.Table{W: cmd.OutOrStdout(), Blocks: isTerminal(cmd.OutOrStdout()) && unicodeLocale()}
}

func (f *benchFlags) write(r *report.Report) error {
	if f.jsonFile == "" {
		return nil
	}
	if err := r.WriteFile(f.jsonFile); err != nil {
		return fmt.Errorf("--json: %w", quote.Error(err))
	}
	return nil
}

// measure adds a device's results at a size to the report, and writes each to its file
// immediately.
func (f *benchFlags) measure(ctx context.Context, cmd *cobra.Command, r *report.Report, name string, size int64) (err error) {
	dev, err := device.Open(name)
	if err != nil {
		return err
	}
	defer func() {
		f.told.tell(cmd, dev)
		err = errors.Join(err, dev.Close())
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	table, line := f.table(cmd), newProgress(cmd.ErrOrStderr(), dev.Info().ID())
	defer line.clear()
	before := r.Devices
	for _, d := range before {
		if at := dev.Info().ID(); d.Device.ID == at && d.Size == cmp.Or(size, bench.DefaultSize(dev.Info(), f.cached)) {
			return fmt.Errorf("--device %s: %s is there already, at %d bytes", quote.Plain(name), at, d.Size)
		}
	}
	result, err := bench.Run(ctx, dev, bench.Options{
		Cases: f.cases, Size: size, Cached: f.cached, Time: f.time, Seed: f.seed, Peers: f.running[dev.Info().ID()],
		Progress: func(now *report.Result, part float64) {
			r.Devices = append(before[:len(before):len(before)], now)
			if err := f.write(r); err != nil {
				cancel(err)
			}
			line.clear()
			table.Update(now)
			line.show(part)
		},
	})
	line.clear()
	if err != nil {
		if len(r.Devices) > len(before) {
			table.Close(r.Devices[len(before)]) // the results so far
		}
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = cause
		}
		return fmt.Errorf("%s: %w", dev.Info().ID(), err)
	}
	table.Close(result)
	return nil
}

// export writes the files other than --json's.
func (f *benchFlags) export(r *report.Report) error {
	return f.files(os.O_TRUNC, func(flag string, w io.Writer) error {
		if flag == "--html" {
			return page.Write(w, r)
		}
		return r.WriteBenchmarks(w)
	})
}

// writable reports whether export can write them.
func (f *benchFlags) writable() error {
	return f.files(0, func(string, io.Writer) error { return nil })
}

func (f *benchFlags) files(mode int, write func(flag string, w io.Writer) error) error {
	for _, out := range [][2]string{{"--benchstat", f.benchstat}, {"--html", f.html}} {
		if out[1] == "" {
			continue
		}
		f, err := file.Create(out[1], mode)
		if err == nil {
			err = errors.Join(write(out[0], f), f.Close())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", out[0], quote.Error(err))
		}
	}
	return nil
}

// use evaluates a report. The command fails if results are wrong, if they are worse than the old
// ones, or if libraries ended or did not answer.
func (f *benchFlags) use(cmd *cobra.Command, r *report.Report) (err error) {
	if err := f.export(r); err != nil {
		return err
	}
	failed := false
	for _, d := range r.Devices {
		for _, c := range d.Cases {
			failed = failed || c.Failed()
		}
	}
	if f.old != nil {
		if f.from == "" {
			fmt.Fprintf(cmd.OutOrStdout(), "\nbeside %s:\n", quote.Path(f.compare))
		}
		c := report.Compare(f.old, r)
		c.Print(cmd.OutOrStdout())
		failed = failed || c.Regressions() > 0
	}
	switch {
	case f.silent != nil:
		return fmt.Errorf("--peer: %w", f.silent)
	case failed:
		return errCounted
	}
	return nil
}
