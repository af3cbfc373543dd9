package main

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/bench/peers"
	"github.com/restride/restride/internal/bench/report"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
)

// benchFlags are the flags of restride bench.
type benchFlags struct {
	devices, peers []string
	filter         string
	own            []string // the user's own cases
	list           string   // and a file of these
	cached         bool
	sizes          []string
	time           time.Duration
	seed           uint64
	jsonFile, html string
	from, compare  string
	benchstat      string
	cases          []cases.Case // the user's own cases, or else all, filtered
	bytes          []int64      // the sizes; 0: sizes that fit the device
	choices        []peers.Choice
	patience       time.Duration
	running        peers.Running
	silent         error          // of libraries that ended or did not answer
	old            *report.Report // for comparison
	sweep          bool           // the sizes are all sweepSizes that fit a device
	told           notes
}

func newBench() *cobra.Command {
	f := &benchFlags{told: notes{}}
	cmd := &cobra.Command{
		Use:        "bench",
		SuggestFor: []string{"benchmark", "measure"},
		Short:      "Measure layout operations on devices, beside their fastest plain copy",
		Long: `Measures, on each device, a roofline (dense copies by our kernel, by the driver and,
on processors, by two goroutines; fills, transfers, launches), and then layout
operations, which are verified first. The figures are medians of passes that are spread
over time. A wrong result fails the command.

To also fail if something has become slower, beyond the spread of the runs:

  restride bench --json old.json
  restride bench --json new.json --compare old.json

With --from new.json in place of --json, it compares (or prints) without measuring.

Your own layouts, in the notation of restride verify, are measured alone, or beside the
cases that --filter selects:

  restride bench --case rows/8=copy/uint8/4096x1000/dst=1000,1@0/src=1024,1@3

They have their own size, whatever --size is.

Other libraries are measured on the same cases, in the same passes, right after each
of ours:

  restride bench --device cpu --peer auto
  restride bench --device cpu --peer numpy,torch,./other='^[a-f]-'

auto means numpy, torch, onnxruntime and cupy, as far as python3 or /usr/bin/python3 has
them (or the Python that RESTRIDE_PYTHON names). Any other name is a program that follows
the protocol in internal/bench/peers/README.md. A regular expression with a comma is quoted as
in CSV: --peer '"./other=^a{1,2}-"'.`,
		Args: takesNone,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringSliceVar(&f.devices, "device", []string{"auto"}, "`DEVICES`, as cpu,opencl:0")
	cmd.Flags().Var(patternFlag(&f.filter), "filter", `only cases whose name matches this regular expression, as "transpose"`)
	cmd.Flags().StringArrayVar(&f.own, "case", nil, "a layout of your own, `NAME=CASE` or CASE, in the notation of restride verify --case; may be repeated; --size does not change it")
	cmd.Flags().StringVar(&f.list, "cases", "", "a `FILE` of such layouts, a name and a case in each line; \"#\" begins a comment")
	cmd.Flags().StringSliceVar(&f.sizes, "size", nil, "approximate `BYTES` that a case writes (conversions fewer), as 256K,64M,1G; up to 512K fits into caches; sweep: 256K to 1G, as far as memory allows (default: 64M on processors, 256M on others)")
	cmd.Flags().BoolVar(&f.cached, "cached", false, "use the same buffers for each call, so that caches hold them (without --size: 512K on processors, 16M on others): a case that is no faster than from memory is bound by instructions or latency")
	cmd.Flags().DurationVar(&f.time, "time", 200*time.Millisecond, "time for the samples of each figure, in all passes together; each pass has at least 3 samples")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the data")
	cmd.Flags().StringVar(&f.jsonFile, "json", "", "write the figures to this `FILE`, updated after each case (schema: bench/report.schema.json)")
	cmd.Flags().StringVar(&f.html, "html", "", "write the figures to this `FILE` as one self-contained page for a browser")
	cmd.Flags().StringVar(&f.benchstat, "benchstat", "", "write the figures to this `FILE` in the format of Go's benchmarks, for benchstat")
	cmd.Flags().StringVar(&f.from, "from", "", "do not measure: read the figures from this `FILE`, which --json wrote")
	cmd.Flags().StringVar(&f.compare, "compare", "", "compare with the figures of this `FILE`, and fail if some have become worse")
	cmd.Flags().StringSliceVar(&f.peers, "peer", nil, "other libraries to measure in the same passes: auto, `NAMES`, or programs, each with =REGEXP for only some cases (with a comma in it: in double quotes, as in CSV)")
	cmd.Flags().DurationVar(&f.patience, "peer-timeout", peers.Patience, "how long a library may need to answer, in addition to 20 times the time of its samples; if it needs longer it is killed, and the command fails in the end")
	return cmd
}

// measuring are the flags that are useless if nothing is measured.
var measuring = []string{"device", "filter", "case", "cases", "size", "cached", "time", "seed", "json", "peer", "peer-timeout"}

func (f *benchFlags) run(cmd *cobra.Command) error {
	for _, name := range measuring {
		if f.from != "" && cmd.Flags().Changed(name) {
			return wrongf("--%s with --from: that takes the figures of a file, and measures nothing", name)
		}
	}
	if err := f.parse(); err != nil {
		return err
	}
	r, err := f.report(cmd)
	if err != nil {
		return err
	}
	return f.use(cmd, r)
}

// parse parses the flags.
func (f *benchFlags) parse() error {
	err := f.choose()
	if err != nil {
		return err
	}
	switch {
	case len(f.devices) == 0:
		return wrongf("--device: none is named")
	case f.time < 0:
		return wrongf("--time %v: want at least 0", f.time)
	case len(f.peers) > 0 && f.patience <= 0:
		return wrongf("--peer-timeout %v: want more than 0", f.patience)
	}
	if f.sweep = slices.Equal(f.sizes, []string{sweep}); f.sweep {
		f.sizes, f.bytes = nil, sweepSizes
	}
	for _, word := range f.sizes {
		n, err := parseSize(word)
		if err != nil {
			return wrongf("--size: %w", err)
		}
		if slices.Contains(f.bytes, n) {
			return wrongf("--size: %s is there twice", quote.Plain(word))
		}
		f.bytes = append(f.bytes, n)
	}
	if len(f.bytes) == 0 {
		f.bytes = []int64{0}
	}
	if f.compare != "" {
		if f.old, err = readReport("--compare", f.compare); err != nil {
			return err
		}
	}
	for _, word := range f.peers {
		c, err := peers.Parse(word)
		if err != nil {
			return wrongf("--peer: %w", err)
		}
		f.choices = append(f.choices, c)
	}
	return nil
}

// choose selects the cases: the user's own, plus the list's unless there are own ones and no
// filter.
func (f *benchFlags) choose() error {
	filter, err := regexp.Compile(f.filter)
	if err != nil {
		return fmt.Errorf("--filter: %w", quote.Error(err))
	}
	own, err := f.ownCases()
	if err != nil {
		return err
	}
	if len(own) == 0 || f.filter != "" {
		for _, c := range cases.All() {
			if filter.MatchString(c.Name) {
				f.cases = append(f.cases, c)
			}
		}
		if len(f.cases) == 0 {
			return wrongf("--filter: no case matches %q", f.filter)
		}
	}
	for _, c := range own {
		if slices.ContainsFunc(f.cases, func(other cases.Case) bool { return other.Name == c.Name }) {
			return wrongf("--case: %s is there twice", quote.Plain(c.Name))
		}
		f.cases = append(f.cases, c)
	}
	return nil
}

// mostList is the largest size of a file of cases, in bytes.
const mostList = 1 << 20

func (f *benchFlags) ownCases() (own []cases.Case, err error) {
	for _, text := range f.own {
		c, err := cases.Parse(text)
		if err != nil {
			return nil, wrongf("--case: %w", quote.Error(err))
		}
		own = append(own, c)
	}
	if f.list == "" {
		return own, nil
	}
	text, err := file.Content(f.list, mostList)
	if err != nil {
		return nil, fmt.Errorf("--cases: %w", err)
	}
	listed, err := cases.Read(bytes.NewReader(text))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--cases: %s: %w", quote.Path(f.list), quote.Error(err))
	case len(listed) == 0:
		return nil, fmt.Errorf("--cases: %s has no cases", quote.Path(f.list))
	}
	return append(own, listed...), nil
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
