// Command go times Go libraries on the cases of restride bench, for its --peer:
//
//	go run . --library gomlx cases.json > gomlx.json
//
// Buffers, rotation, warm-up and statistics are those of package bench. A result
// is held against the index walk of package oracle before it is timed.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/restride/restride/bench"
)

// A library is what is timed.
type library interface {
	name() string // with its version
	threads() int // that a case runs on
	// prepare returns the case on memory that has the bytes of src. A library that
	// allocates its results leaves dst alone.
	prepare(e *bench.Entry, dst, src []byte) (operation, error)
}

// An operation is a case on a library's memory.
type operation interface {
	run() error
	result() ([]byte, error) // of the last run, as dst is to be
	free()
}

var libraries = map[string]func() (library, error){"gomlx": newGomlx, "gorgonia": newGorgonia}

func main() {
	if err := peer(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "go:", err)
		os.Exit(1)
	}
}

var errFailed = errors.New("results were wrong")

func peer(args []string, in io.Reader, out, diagnostics io.Writer) error {
	flags := flag.NewFlagSet("go", flag.ContinueOnError)
	flags.SetOutput(diagnostics)
	which := flags.String("library", "gomlx", "gomlx or gorgonia")
	budget := flags.Duration("time", 200*time.Millisecond, "for the samples of a case, at least 9")
	look := flags.Duration("check", 10*time.Second, "for the check of a case")
	if err := flags.Parse(args); err != nil {
		return err
	}
	open, ok := libraries[*which]
	if !ok || flags.NArg() != 1 {
		return errors.New("want --library gomlx or gorgonia, and a file of cases (- is standard input)")
	}
	if flags.Arg(0) != "-" {
		f, err := os.Open(flags.Arg(0))
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	var entries []*bench.Entry
	if err := json.NewDecoder(in).Decode(&entries); err != nil {
		return fmt.Errorf("the cases: %w", err)
	}
	lib, err := open()
	if err != nil {
		return err
	}
	start := time.Now()
	memcpy, err := bench.NewMemcpy(bench.Reference)
	if err != nil {
		return err
	}
	defer func() { _ = memcpy.Close() }() // its memory goes with the process
	p := &bench.Peer{Name: lib.name(), Device: fmt.Sprintf("cpu, %d threads", lib.threads()), For: "cpu"}
	var failed, figures int
	for _, e := range entries {
		c := &bench.PeerCase{Name: e.Name, Case: e.Case}
		err := measure(lib, e, c, memcpy, *budget, *look)
		switch {
		case errors.Is(err, errWrong):
			failed++
			fmt.Fprintf(diagnostics, "%s: %v\n", e.Name, err)
		case err == nil:
			figures++
		}
		if err != nil {
			c.Timing, c.MemcpyRatio, c.Error = bench.Timing{}, 0, oneLine(err)
		}
		p.Cases = append(p.Cases, c)
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", " ")
	if err := enc.Encode(p); err != nil {
		return err
	}
	fmt.Fprintf(diagnostics, "%s: %d cases measured, %d failed, %d unsupported, in %.0f s\n",
		p.Name, figures, failed, len(entries)-figures-failed, time.Since(start).Seconds())
	if failed > 0 {
		return errFailed
	}
	return nil
}

// measure times a case. Libraries may panic.
func measure(lib library, e *bench.Entry, c *bench.PeerCase, memcpy *bench.Memcpy, budget, look time.Duration) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	m, err := newMemory(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	all := make([]operation, len(m.pairs))
	for i, pair := range m.pairs {
		if all[i], err = lib.prepare(e, pair.dst, pair.src); err != nil {
			return err
		}
		defer all[i].free()
	}
	if err := all[0].run(); err != nil {
		return err
	}
	got, err := all[0].result()
	if err != nil {
		return err
	}
	if c.Verified, err = check(e, got, m.pairs[0].src, look); err != nil {
		return err
	}
	var ns float64
	c.Timing, ns, err = bench.Measure(budget, len(all), func(i int) error { return all[i%len(all)].run() }, memcpy.Run)
	if err == nil {
		c.MemcpyRatio = float64(e.Logical) / c.Timing.Median * ns / (2 * bench.Reference)
	}
	return err
}

// unsupported is what a library has no way to say.
type unsupported string

func (u unsupported) Error() string { return string(u) }

// oneLine is the start of an error's text, as far as it can be printed.
func oneLine(err error) string {
	words := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) })
	text := []rune(strings.Join(words, " "))
	return string(text[:min(len(text), 200)])
}

// ints is what libraries want dims as.
func ints(list []int64) []int {
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = int(n)
	}
	return out
}

// counts is the dims of a recipe's part, before its axes are permuted.
func counts(r *bench.Recipe) []int64 {
	out := make([]int64, len(r.Dims))
	for i := range out {
		step := max(r.Step[i], -r.Step[i])
		out[i] = (r.High[i] - r.Low[i] + step - 1) / step
	}
	return out
}

// permuted reports whether a recipe moves axes.
func permuted(r *bench.Recipe) bool { return !slices.IsSorted(r.Perm) }
