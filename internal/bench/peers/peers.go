// Package peers measures other libraries on the cases of package bench: by its own adapters for
// libraries in Python, and by any program that speaks the protocol of README.md.
//
// [Start] starts a [Process] for each library and device. A process is asked for one
// pass of one case at a time ([Request], [Answer]); an [Entry] is the case, with layouts
// both as strides and as a [Recipe] of operators.
package peers

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/restride/restride/internal/quote"
)

//go:embed peer.py common.py check.py *_peer.py
var scripts embed.FS

// names are the libraries with an adapter here.
var names = []string{"numpy", "torch", "onnxruntime", "cupy"}

// auto stands for all names that a Python has.
const auto = "auto"

// Exit statuses of a program that does not run.
const (
	notInstalled = 3
	notHere      = 4 // it is for other devices
)

// Choice is a library to measure.
type Choice struct {
	Name string         // numpy, torch, onnxruntime, cupy, auto (all of these), or a program's path
	Only *regexp.Regexp // the names of cases to measure it on; nil: all
}

// Parse reads NAME or NAME=REGEXP.
func Parse(word string) (c Choice, err error) {
	name, only, limited := strings.Cut(word, "=")
	if name == "" {
		return c, fmt.Errorf("%q: want a name of %s, %s, or a program, with =REGEXP or without", word, strings.Join(names, ", "), auto)
	}
	c.Name = name
	if limited {
		c.Only, err = regexp.Compile(only)
	}
	return c, quote.Error(err)
}

// Running are the libraries for each device, by its ID.
type Running map[string][]*Process

// Err returns the failed ones: they have measured no case since.
func (r Running) Err() error {
	var errs []error
	for _, device := range slices.Sorted(maps.Keys(r)) {
		for _, p := range r[device] {
			if p.dead != nil {
				errs = append(errs, fmt.Errorf("%s beside %s: %w", quote.Text(p.Peer), device, p.dead))
			}
		}
	}
	return errors.Join(errs...)
}

// Close ends them.
func (r Running) Close() {
	for _, all := range r {
		for _, p := range all {
			p.Close()
		}
	}
}

var errNotInstalled = errors.New("not installed")

// Start starts each library for each device, by ID, that it supports, and passes the names of
// those left out to say. It is an error if a library that is named is not installed, does not
// start or supports none of the devices, or if any does not answer in time. All are killed when
// the context is done.
func Start(ctx context.Context, choices []Choice, devices []string, patience time.Duration, say func(string)) (all Running, err error) {
	dir, err := os.MkdirTemp("", "restride-peers-")
	if err != nil {
		return nil, err
	}
	all = Running{}
	defer func() {
		err = errors.Join(err, os.RemoveAll(dir)) // its content has been read
		if err != nil {
			all.Close()
			all = nil
		}
	}()
	if err := os.CopyFS(dir, scripts); err != nil {
		return all, err
	}
	for _, c := range choices {
		libraries := []string{c.Name}
		if c.Name == auto {
			libraries = names
		}
		beside := 0
		for _, name := range libraries {
			for _, device := range devices {
				p, err := start(ctx, patience, dir, name, device)
				switch {
				case err == nil:
					p.Only = c.Only
					all[device] = append(all[device], p)
					beside++
				case ctx.Err() == nil && !errors.Is(err, errSilent) && (c.Name == auto || status(err) == notHere):
					say(fmt.Sprintf("%s is not beside %s: %v", quote.Path(name), device, err))
				default:
					return all, fmt.Errorf("%s beside %s: %w", quote.Path(name), device, quote.Error(err))
				}
			}
		}
		if beside == 0 && c.Name != auto {
			return all, fmt.Errorf("%s is for none of %s", quote.Path(c.Name), strings.Join(devices, ", "))
		}
	}
	return all, nil
}

// Patience is the usual limit for an answer of a process, in addition to the time for samples.
const Patience = time.Minute

// start starts a library, with the first Python that has it.
func start(ctx context.Context, patience time.Duration, dir, name, device string) (*Process, error) {
	if !slices.Contains(names, name) {
		return startProcess(ctx, patience, name, "--device", device)
	}
	pythons := []string{"python3", "/usr/bin/python3"}
	if own := os.Getenv("RESTRIDE_PYTHON"); own != "" {
		pythons = []string{own}
	}
	missing := errNotInstalled
	for _, python := range pythons {
		p, err := startProcess(ctx, patience, python, filepath.Join(dir, "peer.py"), name, "--device", device)
		if absent := errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist); !absent && status(err) != notInstalled {
			return p, err
		}
		missing = fmt.Errorf("%w; %s: %w", missing, python, err)
	}
	return nil, missing
}

// status is the exit status in an error, or -1.
func status(err error) int {
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}
