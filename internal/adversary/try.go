package adversary

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/tensor"
)

// ErrStuck is the error of a try that did not end in time. Its goroutine continues, so that the
// state of the device is unknown.
var ErrStuck = errors.New("the try did not end")

// Once makes one try of a generator: the index-th of a seed. Leftovers of the try are an error,
// too.
func Once(g Generator, s *tensor.Stream, dir string, seed, index uint64, deadline time.Duration) error {
	before, goroutines := took(s), runtime.NumGoroutine()
	leaks := &leaks{}
	tensor.CheckLeaks(leaks, s)
	if s != tensor.Host() {
		tensor.CheckLeaks(leaks, tensor.Host())
	}
	done := make(chan error, 1)
	go func() {
		done <- recovered(g, &Trial{Stream: s, Rand: rand.New(rand.NewPCG(seed, index)), Dir: dir})
	}()
	late := time.NewTimer(deadline)
	defer late.Stop()
	var err error
	select {
	case err = <-done:
	case <-late.C:
		return fmt.Errorf("%w in %v; what runs:\n%s", ErrStuck, deadline, allStacks())
	}
	if wait := s.Wait(); err == nil && wait != nil {
		err = fmt.Errorf("work is left on the queue that fails: %w", wait)
	}
	leaks.end()
	if err == nil {
		err = leaks.found
	}
	if after := took(s); err == nil && after != before {
		err = fmt.Errorf("memory in use was %v and is %v", before, after)
	}
	if err == nil {
		err = goroutinesBackTo(goroutines)
	}
	return errors.Join(err, clear(dir))
}

// recovered is a try whose panic is an error.
func recovered(g Generator, t *Trial) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return g.Try(t)
}

// memory is the memory in use of a device and the host's stream.
type memory struct{ bytes, buffers, hostBytes, hostBuffers int64 }

func (m memory) String() string {
	return fmt.Sprintf("%d bytes in %d buffers (and on the host %d in %d)", m.bytes, m.buffers, m.hostBytes, m.hostBuffers)
}

func took(s *tensor.Stream) memory {
	of := func(d device.Device) (bytes, buffers int64) {
		stats := d.Stats()
		return stats.Live, stats.Buffers
	}
	var m memory
	m.bytes, m.buffers = of(s.Device())
	m.hostBytes, m.hostBuffers = of(tensor.Host().Device())
	return m
}

// leaks is the result of [tensor.CheckLeaks] for a try.
type leaks struct {
	found error
	ends  []func()
}

func (l *leaks) Helper() {}
func (l *leaks) Errorf(format string, args ...any) {
	l.found = errors.Join(l.found, fmt.Errorf(format, args...))
}
func (l *leaks) Cleanup(f func()) { l.ends = append(l.ends, f) }
func (l *leaks) end() {
	for _, f := range l.ends {
		f()
	}
}

// goroutinesBackTo waits a moment for ending goroutines.
func goroutinesBackTo(before int) error {
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("there were %d goroutines, and are %d:\n%s", before, runtime.NumGoroutine(), allStacks())
}

// allStacks describes the stack of each goroutine.
func allStacks() string {
	b := make([]byte, 1<<20)
	return strings.TrimSpace(string(b[:runtime.Stack(b, true)]))
}

// clear empties a folder.
func clear(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}
