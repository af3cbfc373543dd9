package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/device"
)

// benchFlags are the flags of restride bench.
type benchFlags struct {
	devices        []string
	filter, size   string
	time           time.Duration
	seed           uint64
	jsonFile, peer string
	html, from     string
	list           bool
	cases          []bench.Case // that the filter leaves
	bytes          int64        // 0: what fits the device
	figures        *bench.Peer
	failed         int
}

func newBench() *cobra.Command {
	f := new(benchFlags)
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast devices move elements, beside how fast they move them at all",
		Long: `Measures, on each device, a roofline (dense copies by our kernel, by the driver and,
on processors, by two goroutines; fills, transfers, launches), and then layout
operations, which are verified first. The figures are medians. A wrong result fails
the command.

Figures of another library on the same cases, to be shown beside:

  restride bench --device cuda:0 --list-json > cases.json
  python3 bench/peers/torch_peer.py cases.json > torch.json
  restride bench --device cuda:0 --peer torch.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringSliceVar(&f.devices, "device", []string{"auto"}, "devices, as cpu,opencl:0")
	cmd.Flags().StringVar(&f.filter, "filter", "", `only cases whose name matches this regular expression, as "transpose"`)
	cmd.Flags().StringVar(&f.size, "size", "", "about how many bytes a case writes, as 1048576, 64M, 1G (default: 64M on processors, 256M on others)")
	cmd.Flags().DurationVar(&f.time, "time", 200*time.Millisecond, "for the samples of each figure, of which there are at least 9")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the data")
	cmd.Flags().StringVar(&f.jsonFile, "json", "", "write the figures to this file")
	cmd.Flags().StringVar(&f.html, "html", "", "write the figures to this file as a page for a browser, which needs nothing else")
	cmd.Flags().StringVar(&f.from, "from", "", "measure nothing, and make the page of the figures that --json wrote to this file")
	cmd.Flags().StringVar(&f.peer, "peer", "", "show the figures of another library, from this file")
	cmd.Flags().BoolVar(&f.list, "list-json", false, "print the cases, for other libraries, and measure nothing")
	return cmd
}

func (f *benchFlags) run(cmd *cobra.Command) error {
	if err := f.parse(); err != nil {
		return err
	}
	if f.list {
		return f.printList(cmd)
	}
	if f.from != "" {
		return f.again()
	}
	report := bench.NewReport()
	for i, name := range f.devices {
		if i > 0 {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		result, err := f.measure(cmd, name)
		if err != nil {
			return err
		}
		report.Devices = append(report.Devices, result)
	}
	if f.figures != nil {
		report.Peers = append(report.Peers, f.figures)
	}
	if f.jsonFile != "" {
		text, err := json.MarshalIndent(report, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(f.jsonFile, append(text, '\n'), 0o666); err != nil {
			return fmt.Errorf("--json: %w", err)
		}
	}
	if f.html != "" {
		if err := writePage(f.html, report); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	if f.failed > 0 {
		return errCounted
	}
	return nil
}

// parse reads what the flags say.
func (f *benchFlags) parse() error {
	filter, err := regexp.Compile(f.filter)
	if err != nil {
		return fmt.Errorf("--filter: %w", err)
	}
	for _, c := range bench.Cases() {
		if filter.MatchString(c.Name) {
			f.cases = append(f.cases, c)
		}
	}
	switch {
	case len(f.cases) == 0:
		return fmt.Errorf("--filter: no case matches %q", f.filter)
	case len(f.devices) == 0:
		return errors.New("--device: none is named")
	case f.time < 0:
		return fmt.Errorf("--time %v: want at least 0", f.time)
	}
	if f.size != "" {
		if f.bytes, err = parseSize(f.size); err != nil {
			return fmt.Errorf("--size: %w", err)
		}
	}
	if f.peer != "" {
		data, err := os.ReadFile(f.peer)
		if err == nil {
			f.figures, err = bench.ReadPeer(data)
		}
		if err != nil {
			return fmt.Errorf("--peer: %w", err)
		}
	}
	return nil
}

func (f *benchFlags) printList(cmd *cobra.Command) (err error) {
	size := f.bytes
	if size == 0 {
		dev, err := device.Open(f.devices[0])
		if err != nil {
			return err
		}
		size = bench.DefaultSize(dev.Info())
		if err := dev.Close(); err != nil {
			return err
		}
	}
	entries, err := bench.List(f.cases, size)
	if err != nil {
		return err
	}
	out := json.NewEncoder(cmd.OutOrStdout())
	out.SetIndent("", " ")
	return out.Encode(entries)
}

func (f *benchFlags) measure(cmd *cobra.Command, name string) (result *bench.Result, err error) {
	dev, err := device.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	table := bench.NewTable(cmd.OutOrStdout(), f.cases, f.figures)
	result, err = bench.Run(cmd.Context(), dev, bench.Options{
		Cases: f.cases, Size: f.bytes, Time: f.time, Seed: f.seed, Progress: table.Update,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dev.Info().ID(), err)
	}
	table.Close(result)
	for _, c := range result.Cases {
		if c.Failed() {
			f.failed++
		}
	}
	return result, nil
}

// parseSize reads a number of bytes: 4096, 64K, 64MiB, 1G.
func parseSize(word string) (int64, error) {
	digits := strings.TrimRight(word, "KMGTiB")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is no size: want a number of bytes of at least 1, as 4096, 64K, 64MiB", word)
	}
	unit, ok := map[string]int64{"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}[strings.TrimSuffix(word[len(digits):], "iB")]
	if !ok {
		return 0, fmt.Errorf("%q is no size: the unit is one of K, M, G, T, with or without iB", word)
	}
	if n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is more bytes than an int64 counts", word)
	}
	return n * unit, nil
}
