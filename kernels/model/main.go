// Command model predicts the performance of launches on GPUs: a model, not a measurement.
//
//	make gpu-model                      writes docs/gpu-model.md
//	go run ./kernels/model --case copy/uint8/4096x8191/dst=8191,1@0/src=8192,1@3
//
// Package internal/ptx runs three blocks of each launch, and counts instructions, sectors and
// requests, bank conflicts and the cycles of a block alone; traffic.go computes the memory
// traffic. gpu.go computes the share of the dense copy of the same bytes that a launch reaches,
// and its bound. Registers and spills come from the assembler (--ptxas), or are assumed.
package main

import (
	_ "embed" // for the list of cases
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/launches"
	"github.com/restride/restride/internal/oracle"
)

// more are cases besides bench's: a name, and the case in the form of restride verify.
//
//go:embed cases.txt
var more string

func main() {
	var given []string
	flag.Func("case", "an `operation`, as restride verify --case takes it, in place of the usual ones; may be repeated", func(name string) error {
		given = append(given, name)
		return nil
	})
	size := flag.Int64("size", 256<<20, "of bench's operations: about how many `bytes` they write")
	only := flag.String("only", "", "only operations whose names match this `expression`")
	assembler := flag.String("ptxas", "", "the assembler, which says how many registers a kernel has")
	page := flag.String("page", "", "write the table to this `file`, between its marks")
	measured := flag.String("calibration", "kernels/model/calibration.json", "what was measured on GPUs, if this `file` exists")
	flag.Parse()
	if err := run(given, *size, *only, *assembler, *page, *measured); err != nil {
		fmt.Fprintln(os.Stderr, "model:", err)
		os.Exit(1)
	}
}

func run(given []string, size int64, only, assembler, page, measured string) error {
	filter, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	known, err := calibrate(measured)
	if err != nil {
		return err
	}
	all, err := operations(given, size)
	if err != nil {
		return err
	}
	m := model{assembler: assembler, known: map[string]resources{}}
	var lines []line
	for _, o := range all {
		if !filter.MatchString(o.name) {
			continue
		}
		l, err := m.line(o)
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		lines = append(lines, l)
		if page == "" {
			l.print(os.Stdout)
		}
	}
	if page == "" {
		return nil
	}
	return write(page, lines, assembler != "", known)
}

// operation is a case with its name.
type operation struct {
	name string
	oracle.Case
}

// operations are the given cases, or bench's and those of the list.
func operations(given []string, size int64) ([]operation, error) {
	var all []operation
	for _, name := range given {
		c, err := oracle.ParseCase(name)
		if err != nil {
			return nil, err
		}
		all = append(all, operation{name, c})
	}
	if len(given) > 0 {
		return all, nil
	}
	own, err := cases.Read(strings.NewReader(more))
	if err != nil {
		return nil, err
	}
	for _, c := range slices.Concat(cases.All(), own) {
		o, err := c.At(size)
		if err != nil {
			return nil, err
		}
		all = append(all, operation{c.Name, o})
	}
	return all, nil
}

// model caches results about kernels.
type model struct {
	assembler string
	known     map[string]resources // by kernel and architecture
}

// line is the output for an operation.
type line struct {
	name, kernel string
	each         float64 // instructions of a thread per 16 bytes
	on           []prediction
	kernels      []resources // there
}

// line predicts an operation as planned for each GPU. Its kernel and instructions are those on
// the first one.
func (m *model) line(o operation) (line, error) {
	out := line{name: o.name}
	measured := map[string]*work{} // by launch: GPUs often share one
	for i := range gpus {
		l, err := launches.Of(o.Case, gpus[i].target())
		if err != nil {
			return out, err
		}
		if l.Groups == 0 {
			return out, fmt.Errorf("there is nothing to do")
		}
		key := fmt.Sprintf("%v %d %x", l.Spec, l.Groups, l.Params)
		w, ok := measured[key]
		if !ok {
			if w, err = measure(o, &l); err != nil {
				return out, err
			}
			measured[key] = w
		}
		r, err := m.resources(l.Spec, gpus[i].arch)
		if err != nil {
			return out, err
		}
		if i == 0 {
			out.kernel, out.each = l.Spec.String(), w.each()
		}
		out.on, out.kernels = append(out.on, gpus[i].predict(w, r)), append(out.kernels, r)
	}
	return out, nil
}

func (l *line) print(to io.Writer) {
	fmt.Fprintf(to, "%-26s %-22s %5.0f instructions", l.name, l.kernel, l.each)
	for i, p := range l.on {
		fmt.Fprintf(to, "  %s %3.0f%% %s, %d registers%s, %d blocks, %.0f us;", gpus[i].name, 100*p.share, p.bound, l.kernels[i].registers, l.kernels[i].note(), p.blocks, 1e6*p.seconds)
	}
	fmt.Fprintln(to)
}
