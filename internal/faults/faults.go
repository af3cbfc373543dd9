// Package faults makes each call of a driver fail, and checks the outcome of a program of work
// on its device: it must end with an error or with the right bytes, in time, and must release
// what it made.
package faults

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/restride/restride/device"
)

// Driver is a driver whose calls can be made to fail.
type Driver interface {
	// Calls is the number of calls of each function so far.
	Calls() map[string]int
	// Fail makes a function fail from now on; the zero Fault ends that.
	Fail(Fault)
	// Injected is the number of calls that have failed so far.
	Injected() int
}

// Fault is a function that fails.
type Fault struct {
	Call  string
	Code  int
	After int // calls that succeed first
	Kind  Kind
}

// Kind is how long a fault lasts.
type Kind uint8

// The kinds of fault.
const (
	Once   Kind = iota
	Always      // every later call of the function fails, too
	Lost        // every later call of any function fails, too
)

func (f Fault) String() string {
	return fmt.Sprintf("%s, call %d fails with %d%s", f.Call, f.After, f.Code, [...]string{"", ", and all later ones", ", and all that follows"}[f.Kind])
}

// Target is the tested backend.
type Target struct {
	Driver Driver
	Open   func(i int) (device.Device, error)
	Second bool // there is a device 1
	// Kernel compiles a user's kernel: turned, of devicetest.Kernels.
	Kernel func(device.Device) (device.Kernel, error)
	// More is additional work for this backend; nil: none.
	More func(*Program) error

	Codes []int                // with which calls fail
	Kinds []Kind               // how
	Skip  func(f Fault) string // the reason to skip a fault; "": it is tried
	// Leaks lists functions whose calls must be as many as those of others, in the end,
	// unless the device was Dead.
	Leaks []Balance
	Dead  error

	want map[string][]byte // the results of the reads of a run without a fault
}

// Balance names functions that create things, and functions that destroy them.
type Balance struct{ Make, End []string }

// Deadline is the longest that one run may take.
const Deadline = time.Minute

// Faults runs the program without a fault, and lists the faults to try: for each function the
// first, second and last of its calls, with each code in each way.
func (t *Target) Faults() ([]Fault, error) {
	if _, err := t.attempt(Fault{}); err != nil { // loads everything that is loaded once
		return nil, err
	}
	before := t.Driver.Calls()
	if _, err := t.attempt(Fault{}); err != nil {
		return nil, err
	}
	var all []Fault
	calls := t.Driver.Calls()
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		n := calls[name] - before[name]
		places := []int{0, 1, n - 1}
		slices.Sort(places)
		for _, after := range slices.Compact(places) {
			if after < 0 || after >= n {
				continue
			}
			for _, code := range t.Codes {
				for _, kind := range t.Kinds {
					f := Fault{name, code, after, kind}
					if t.Skip == nil || t.Skip(f) == "" {
						all = append(all, f)
					}
				}
			}
		}
	}
	return all, nil
}

// Sample returns n of the faults, or all, in random order: first those of different functions.
func Sample(all []Fault, n int, seed uint64) []Fault {
	rng := rand.New(rand.NewPCG(seed, 7))
	all = slices.Clone(all)
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var first, rest []Fault
	seen := map[string]bool{}
	for _, f := range all {
		if !seen[f.Call] {
			seen[f.Call] = true
			first = append(first, f)
		} else {
			rest = append(rest, f)
		}
	}
	return append(first, rest...)[:min(n, len(all))]
}

// Sweep tries faults: as many as the environment variable RESTRIDE_FAULTS says, a number or
// "all", in random order, otherwise a few. It returns a line about the tried faults, and the
// failures.
func (t *Target) Sweep() (string, error) {
	all, err := t.Faults()
	if err != nil {
		return "", err
	}
	n, seed := few, uint64(time.Now().UnixNano())
	if word := os.Getenv("RESTRIDE_FAULTS"); word == "all" {
		n = len(all)
	} else if word != "" {
		if n, err = strconv.Atoi(word); err != nil {
			return "", fmt.Errorf("RESTRIDE_FAULTS: %w", err)
		}
	}
	tried := Sample(all, n, seed)
	told, functions := 0, map[string]bool{}
	var wrong []error
	for _, f := range tried {
		functions[f.Call] = true
		r, err := t.Try(f)
		if err != nil {
			wrong = append(wrong, err)
		}
		if errors.Is(err, ErrHangs) {
			break
		}
		if r.Told != nil {
			told++
		}
	}
	return fmt.Sprintf("%d of %d faults in %d functions, seed %d: %d were told", len(tried), len(all), len(functions), seed, told), errors.Join(wrong...)
}

// few is the number of faults that tests try by default.
const few = 20

// ErrHangs ends a sweep: a hanging program cannot be ended.
var ErrHangs = errors.New("it hangs")

// Result is the outcome of a run.
type Result struct {
	Told     error // that the program, or the end of its device, returned
	Injected int   // calls that failed
}

// Try runs the program with a fault. The error describes a wrong outcome.
func (t *Target) Try(f Fault) (Result, error) {
	r, err := t.attempt(f)
	if err != nil {
		return r, fmt.Errorf("%v: %w", f, err)
	}
	return r, nil
}

// attempt is Try in a goroutine, within the deadline.
func (t *Target) attempt(f Fault) (Result, error) {
	type outcome struct {
		Result
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			done <- o
		}()
		o.Result, o.err = t.run(f)
	}()
	select {
	case o := <-done:
		return o.Result, o.err
	case <-time.After(Deadline):
		stacks := make([]byte, 1<<20)
		return Result{}, fmt.Errorf("%w:\n%s", ErrHangs, stacks[:runtime.Stack(stacks, true)])
	}
}

// run runs the program once.
func (t *Target) run(f Fault) (r Result, wrong error) {
	calls, injected := t.Driver.Calls(), t.Driver.Injected()
	p := &Program{Target: t, want: t.want}
	if p.want == nil {
		p.got = map[string][]byte{}
	}
	t.Driver.Fail(f)
	r.Told = p.all()
	if f.Kind != Lost { // a lost device stays lost
		t.Driver.Fail(Fault{})
	}
	again := p.again()
	r.Told = errors.Join(r.Told, p.end())
	t.Driver.Fail(Fault{})
	r.Injected = t.Driver.Injected() - injected
	switch {
	case p.wrong != nil:
		return r, p.wrong
	case again != nil:
		return r, fmt.Errorf("afterwards: %w (told: %v)", again, r.Told)
	case f.Call == "" && r.Told != nil:
		return r, fmt.Errorf("without a fault: %w", r.Told)
	}
	if t.want == nil {
		t.want = p.got
	}
	if f.Kind == Lost || t.Dead != nil && errors.Is(r.Told, t.Dead) {
		return r, nil // nothing is released one by one
	}
	return r, t.leaks(calls, f, r.Injected, r.Told != nil)
}

// leaks describes objects that were created and not destroyed. A failed call created, or
// destroyed, nothing.
func (t *Target) leaks(before map[string]int, f Fault, failed int, told bool) error {
	now := t.Driver.Calls()
	for _, b := range t.Leaks {
		sum := func(names []string) (n int) {
			for _, name := range names {
				n += now[name] - before[name]
			}
			return n
		}
		made, ended := sum(b.Make), sum(b.End)
		if slices.Contains(b.Make, f.Call) {
			made -= failed
		}
		if slices.Contains(b.End, f.Call) && told {
			continue // the leak is expected
		}
		if made > ended {
			return fmt.Errorf("a leak: %d of %v, %d of %v", made, b.Make, ended, b.End)
		}
	}
	return nil
}
