// Package peers has other libraries beside package bench: those in Python, which it
// carries, and any program that speaks the protocol of README.md.
package peers

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/restride/restride/bench"
)

//go:embed peer.py common.py check.py *_peer.py
var scripts embed.FS

// Names are the libraries that can be named: they are found if a Python has them.
var Names = []string{"numpy", "torch", "onnxruntime", "cupy"}

// Auto names all of Names that there are.
const Auto = "auto"

// With these exit statuses a program says why it does not run.
const (
	notInstalled = 3
	notHere      = 4 // it is for other devices
)

// Choice is a library that is to be measured beside devices.
type Choice struct {
	Name string         // one of Names, Auto, or a program's path
	Only *regexp.Regexp // the cases that it is measured on; nil: all
}

// Parse reads NAME or NAME=REGEXP.
func Parse(word string) (c Choice, err error) {
	name, only, limited := strings.Cut(word, "=")
	if name == "" {
		return c, fmt.Errorf("%q: want a name of %s, %s, or a program, with =REGEXP or without", word, strings.Join(Names, ", "), Auto)
	}
	c.Name = name
	if limited {
		c.Only, err = regexp.Compile(only)
	}
	return c, err
}

// Running are the libraries beside each device, by its ID.
type Running map[string][]*bench.PeerProcess

// Close ends them.
func (r Running) Close() {
	for _, all := range r {
		for _, p := range all {
			p.Close()
		}
	}
}

// ErrNotInstalled says that no Python has a library.
var ErrNotInstalled = errors.New("not installed")

// Start starts each library for each of the devices that it is for. What is left out
// is said; it is an error if one that is named is not there, does not start or is for
// none of the devices. All are killed when the context is done.
func Start(ctx context.Context, choices []Choice, devices []string, say func(string)) (all Running, err error) {
	dir, err := os.MkdirTemp("", "restride-peers-")
	if err != nil {
		return nil, err
	}
	all = Running{}
	defer func() {
		err = errors.Join(err, os.RemoveAll(dir)) // all that there is of it has been read
		if err != nil {
			all.Close()
			all = nil
		}
	}()
	if err := os.CopyFS(dir, scripts); err != nil {
		return all, err
	}
	for _, c := range choices {
		names := []string{c.Name}
		if c.Name == Auto {
			names = Names
		}
		beside := 0
		for _, name := range names {
			for _, device := range devices {
				p, err := start(ctx, dir, name, device)
				switch {
				case err == nil:
					p.Only = c.Only
					all[device] = append(all[device], p)
					beside++
				case ctx.Err() == nil && (c.Name == Auto || status(err) == notHere):
					say(fmt.Sprintf("%s is not beside %s: %v", name, device, err))
				default:
					return all, fmt.Errorf("%s beside %s: %w", name, device, err)
				}
			}
		}
		if beside == 0 && c.Name != Auto {
			return all, fmt.Errorf("%s is for none of %s", c.Name, strings.Join(devices, ", "))
		}
	}
	return all, nil
}

// start starts one. What a Python does not have, the next one may.
func start(ctx context.Context, dir, name, device string) (*bench.PeerProcess, error) {
	if !slices.Contains(Names, name) {
		return bench.StartPeer(ctx, name, "--device", device)
	}
	pythons := []string{"python3", "/usr/bin/python3"}
	if own := os.Getenv("RESTRIDE_PYTHON"); own != "" {
		pythons = []string{own}
	}
	missing := ErrNotInstalled
	for _, python := range pythons {
		p, err := bench.StartPeer(ctx, python, filepath.Join(dir, "peer.py"), name, "--device", device)
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
