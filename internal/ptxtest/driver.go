// Package ptxtest is a device whose kernels are the PTX that package cuda ships, run by package
// internal/ptx: for tests. A fault that it finds in a launch is the launch's error.
//
//	d := ptxtest.New(ptxtest.Options{Seed: 7})
//	dev := gpu.New(d)
//	err := oracle.Check(dev, c, seed)
package ptxtest

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/cudakernels"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/ptx"
)

// Options are options of runs. The zero value is usable.
type Options struct {
	Seed    uint64
	Diverge bool  // see ptx.Launch
	Steps   int64 // the same
	// Blocks is the number of blocks that a group does, one after the other; 0: one. Kernels
	// work with any number of groups.
	Blocks uint32
	// Text changes a kernel's program before it is read: for tests of tests.
	Text func(s planner.Spec, text []byte) []byte
}

// Driver runs kernels when they are launched. It is a gpu.Driver.
type Driver struct {
	options Options
	memory  *ptx.Memory

	mu       sync.Mutex
	programs map[planner.Spec]*ptx.Program
	launches map[planner.Spec]int
	ran      map[planner.Spec][]bool
	seed     uint64
}

// New returns a driver of a device with 1 TiB of memory.
func New(o Options) *Driver {
	return &Driver{
		options: o, memory: ptx.NewMemory(), seed: o.Seed,
		programs: map[planner.Spec]*ptx.Program{}, launches: map[planner.Spec]int{}, ran: map[planner.Spec][]bool{},
	}
}

// Launches returns the number of launches of each kernel.
func (d *Driver) Launches() map[planner.Spec]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[planner.Spec]int{}
	for s, n := range d.launches {
		all[s] = n
	}
	return all
}

// Pages counts the pages of memory that were accessed, which reveals accesses to wrong pages.
func (d *Driver) Pages() int { return d.memory.Pages() }

// Ran reports the lines of a kernel's program whose instructions were executed.
func (d *Driver) Ran(s planner.Spec) map[int]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := map[int]bool{}
	for i, ran := range d.ran[s] {
		if ran {
			lines[d.programs[s].Lines()[i]] = true
		}
	}
	return lines
}

// Properties describes a GPU.
func (d *Driver) Properties() gpu.Properties {
	info := device.Info{Backend: "ptx", Name: "an interpreter of PTX", Kind: device.GPU, Memory: 1 << 40, MaxAlloc: 1 << 38}
	return gpu.Properties{Info: info, Pinned: true}
}

func (d *Driver) Alloc(bytes int64) (gpu.Mem, error) {
	if bytes > 1<<38 {
		return nil, device.ErrOutOfMemory
	}
	return d.memory.Alloc(bytes), nil
}

func (d *Driver) Free(m gpu.Mem) error {
	d.memory.Free(m.(*ptx.Allocation))
	return nil
}

func (d *Driver) AllocHost(bytes int64) ([]byte, error) {
	if bytes > 1<<32 {
		return nil, device.ErrOutOfMemory
	}
	return make([]byte, bytes), nil
}

func (d *Driver) FreeHost([]byte) error { return nil }

// LoadKernel reads a kernel's program.
func (d *Driver) LoadKernel(s planner.Spec) error {
	_, _, err := d.program(s)
	return err
}

func (d *Driver) NewStream() (gpu.Stream, error) { return &stream{d}, nil }

func (d *Driver) Close() error { return nil }

// program returns a kernel's program, which is read when it is first needed.
func (d *Driver) program(s planner.Spec) (*ptx.Program, uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.launches[s]++
	d.seed++
	if p := d.programs[s]; p != nil {
		return p, d.seed, nil
	}
	text, err := cudakernels.PTX(s)
	if err != nil {
		return nil, 0, err
	}
	if d.options.Text != nil {
		text = d.options.Text(s, text)
	}
	p, err := ptx.Parse(text)
	if err != nil {
		return nil, 0, fmt.Errorf("kernel %v: %w", s, err)
	}
	d.programs[s] = p
	d.ran[s] = make([]bool, len(p.Lines()))
	return p, d.seed, nil
}

// stream does all work when it is queued.
type stream struct{ driver *Driver }

func (s *stream) Upload(dst gpu.Mem, off int64, src []byte) error {
	dst.(*ptx.Allocation).Write(off, src)
	return nil
}

func (s *stream) Download(dst []byte, src gpu.Mem, off int64) error {
	src.(*ptx.Allocation).Read(dst, off)
	return nil
}

func (s *stream) Launch(l *planner.Launch, args []gpu.Argument) error {
	p, seed, err := s.driver.program(l.Spec)
	if err != nil {
		return err
	}
	words := make([][]byte, len(args))
	for i, a := range args {
		if m, ok := a.Mem.(*ptx.Allocation); ok {
			m.Noted = m.Noted || l.Arguments[i].Is == planner.Status
			a.Number = m.Base
		}
		words[i] = binary.LittleEndian.AppendUint64(nil, a.Number)
		if l.Arguments[i].Is == planner.Parameters {
			words[i] = l.Params // by value
		}
	}
	o := &s.driver.options
	each := max(o.Blocks, 1)
	err = p.Run(s.driver.memory, ptx.Launch{
		Groups: (l.Groups + each - 1) / each, Threads: l.Local, Args: words,
		Seed: seed, Diverge: o.Diverge, Steps: o.Steps, Ran: s.driver.ran[l.Spec],
	})
	if err != nil {
		return fmt.Errorf("%w: %w", device.ErrDriver, err)
	}
	return nil
}

func (s *stream) Record() (gpu.Event, error) { return event{time.Now()}, nil }
func (s *stream) WaitFor(gpu.Event) error    { return nil }
func (s *stream) Finish() error              { return nil }
func (s *stream) Close() error               { return nil }

// event is reached when it is made.
type event struct{ at time.Time }

func (e event) Done() bool  { return true }
func (e event) Wait() error { return nil }
func (e event) Since(earlier gpu.Event) (time.Duration, error) {
	return e.at.Sub(earlier.(event).at), nil
}
func (e event) Release() {}
