// Command go makes Go libraries peers of restride bench, by the protocol of ../README.md:
//
//	go run . --library gomlx
//
// Buffers, rotation, warm-up and samples are package bench's. A result is compared with the
// index walk of package oracle in the first pass.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/internal/bench/peers"
)

// A library is measured.
type library interface {
	name() string  // with its version
	threads() int  // that a case uses
	ops() []string // that it can express
	// prepare returns the case on memory, whose sources hold the inputs. A library that
	// allocates its results ignores dst.
	prepare(e *peers.Entry, b buffers) (operation, error)
}

// An operation is a case on a library's memory.
type operation interface {
	run() error
	result() ([]byte, error) // of the last run, in the form of dst
	free()
}

var libraries = map[string]func() (library, error){"gomlx": newGomlx, "gorgonia": newGorgonia, "restride": newRestride}

func main() {
	out := os.Stdout
	os.Stdout = os.Stderr // a library's output is not part of the protocol
	err := peer(os.Args[1:], os.Stdin, out, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "go:", err)
		if errors.Is(err, errNotHere) {
			os.Exit(4)
		}
		os.Exit(1)
	}
}

var errNotHere = errors.New("these libraries run on cpu alone")

func peer(args []string, in io.Reader, out, diagnostics io.Writer) error {
	flags := flag.NewFlagSet("go", flag.ContinueOnError)
	flags.SetOutput(diagnostics)
	which := flags.String("library", "gomlx", "gomlx, gorgonia or restride")
	device := flags.String("device", "cpu", "cpu")
	if err := flags.Parse(args); err != nil {
		return err
	}
	open, ok := libraries[*which]
	switch {
	case !ok || flags.NArg() > 0:
		return errors.New("want --library gomlx, gorgonia or restride, and no more")
	case *device != "cpu":
		return errNotHere
	}
	if text := os.Getenv("RESTRIDE_THREADS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("RESTRIDE_THREADS is %q: want a number of at least 1", text)
		}
		runtime.GOMAXPROCS(n)
	}
	lib, err := open()
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	hello := peers.Hello{Protocol: peers.Protocol, Peer: lib.name(), Device: "cpu, 1 thread"}
	if n := lib.threads(); n > 1 {
		hello.Device = fmt.Sprintf("cpu, %d threads", n)
	}
	if err := enc.Encode(hello); err != nil {
		return err
	}
	for dec := json.NewDecoder(in); ; {
		var q peers.Request
		if err := dec.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("a request: %w", err)
		}
		a, err := measure(lib, &q)
		if err != nil {
			var not unsupported // gomlx may report it by a panic
			a = peers.Answer{Error: oneLine(err), Unsupported: errors.As(err, &not) || strings.Contains(err.Error(), " not supported ")}
		}
		a.Name = q.Case.Name
		debug.FreeOSMemory() // so that the next measurement is not affected
		if err := enc.Encode(a); err != nil {
			return err
		}
	}
}

// measure times a case. Libraries may panic.
func measure(lib library, q *peers.Request) (a peers.Answer, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	if !slices.Contains(lib.ops(), q.Case.Op) {
		return a, unsupported("no " + q.Case.Op)
	}
	m, err := newMemory(&q.Case)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	all := make([]operation, len(m.all))
	for i, b := range m.all {
		if all[i], err = lib.prepare(&q.Case, b); err != nil {
			return a, err
		}
		defer all[i].free()
	}
	if q.Check > 0 {
		if err := all[0].run(); err != nil {
			return a, err
		}
		got, err := all[0].result()
		if err != nil {
			return a, err
		}
		if a.Verified, err = check(&q.Case, got, m.all[0], seconds(q.Check)); err != nil {
			return a, err
		}
	}
	a.Samples, a.Batch, err = bench.Measure(seconds(q.Time), q.Batch, len(all), func(i int) error { return all[i%len(all)].run() })
	return a, err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// unsupported is a case that a library cannot express.
type unsupported string

func (u unsupported) Error() string { return string(u) }

// oneLine is the start of an error's text, up to unprintable characters.
func oneLine(err error) string {
	words := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) })
	text := []rune(strings.Join(words, " "))
	return string(text[:min(len(text), 200)])
}

// ints converts dims to the libraries' type.
func ints(list []int64) []int {
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = int(n)
	}
	return out
}

// counts is the dims of a recipe's part, before its axes are permuted.
func counts(r *peers.Recipe) []int64 {
	out := make([]int64, len(r.Dims))
	for i := range out {
		step := max(r.Step[i], -r.Step[i])
		out[i] = (r.High[i] - r.Low[i] + step - 1) / step
	}
	return out
}

// permuted reports whether a recipe moves axes.
func permuted(r *peers.Recipe) bool { return !slices.IsSorted(r.Perm) }
