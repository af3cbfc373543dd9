package gpu

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/arguments"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Program is a user's kernel in a driver.
type Program interface {
	// Release is the last call: work no longer uses the kernel.
	Release() error
}

// Launcher is implemented by streams that run users' kernels.
type Launcher interface {
	// LaunchProgram queues a kernel with the given numbers of blocks and threads. The values,
	// one for each parameter, may change after the call.
	LaunchProgram(p Program, grid, block [3]uint32, values []Value, shared uint32) error
}

// Value is the value of a kernel's parameter.
type Value struct {
	arguments.Value
	Mem Mem // of a pointer; nil: a buffer of no bytes
}

// Kernel is a device.Kernel.
type Kernel struct {
	dev     *Device
	program Program
	arguments.Kernel

	mu     sync.RWMutex // held for reading while a launch is queued
	closed bool
	users  atomic.Int64 // captures, and 1 until it is closed
}

// NewKernel makes a kernel of a driver's, which is released by the kernel's Close and the
// device's. The caller is within While.
func NewKernel(d *Device, p Program, k arguments.Kernel) *Kernel {
	k.SizesShared = d.properties.Shared
	made := &Kernel{dev: d, program: p, Kernel: k}
	made.users.Store(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kernels == nil {
		d.kernels = map[*Kernel]struct{}{}
	}
	d.kernels[made] = struct{}{}
	return made
}

// Name returns the kernel's name.
func (k *Kernel) Name() string { return k.Kernel.Name }

// Close waits for the device's queues and frees the kernel, once no capture has it.
func (k *Kernel) Close() error {
	const op = "Close"
	d := k.dev
	if err := d.begin(op); err != nil {
		return err
	}
	defer d.end()
	k.mu.Lock()
	before := k.closed
	k.closed = true
	k.mu.Unlock()
	if before {
		return layout.Errorf(device.ErrClosed, op, "the kernel %s was closed before", quote.Name(k.Name()))
	}
	for _, q := range d.openQueues() {
		q.mu.Lock()
		if !q.closed {
			q.drain(q.seq)
		}
		q.mu.Unlock()
	}
	return k.leave()
}

// leave ends a use of the kernel; the last one frees it.
func (k *Kernel) leave() error {
	if k.users.Add(-1) > 0 {
		return nil
	}
	d := k.dev
	d.mu.Lock()
	delete(d.kernels, k)
	d.mu.Unlock()
	return k.program.Release()
}

// releaseKernels releases the kernels of a device whose queues are closed.
func (d *Device) releaseKernels() error {
	var errs []error
	for k := range d.kernels {
		k.closed = true
		errs = append(errs, k.program.Release())
	}
	d.kernels = nil
	return errors.Join(errs...)
}

// Launch queues a kernel of the user's. It waits for the outcomes that the kernel's inputs depend
// on: as it may write to any of its buffers, one that fails would spoil all of them.
func (q *Queue) Launch(kernel device.Kernel, grid, block device.Dim3, args ...any) error {
	const op = "Launch"
	k, ok := kernel.(*Kernel)
	if !ok || k == nil {
		return layout.Errorf(device.ErrInvalid, op, "the kernel is a %T, which is none of %s", kernel, q.dev.Info().ID())
	}
	for {
		suspects, err := q.launchUser(k, grid, block, args)
		if len(suspects) > 0 {
			if err = waitAll(suspects); err == nil {
				continue
			}
		}
		return err
	}
}

// launchUser is Launch, unless there are outcomes that a buffer depends on. A capture leaves
// these to each run.
func (q *Queue) launchUser(k *Kernel, grid, block device.Dim3, args []any) ([]*outcome, error) {
	const op = "Launch"
	if err := q.begin(op); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	s, ok := q.stream.(Launcher)
	if !ok {
		return nil, layout.Errorf(device.ErrUnsupported, op, "%s runs no kernels but its own", q.dev.Info().ID())
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	l, err := k.check(q.dev, grid, block, args)
	if err != nil {
		return nil, err
	}
	q.seq++
	values := make([]Value, len(l.Values))
	var all flows
	for i, v := range l.Values {
		values[i].Value = v
		if v.Kind != arguments.Pointer {
			continue
		}
		b, err := q.use(op, v.Role, v.Memory.Buffer)
		if err != nil {
			return nil, k.Named(err)
		}
		values[i].Mem = b.Mem()
		all.add(b, &v)
	}
	var suspects []*outcome
	if q.capture == nil {
		suspects = all.suspects()
	}
	if len(suspects) > 0 || l.Empty() {
		return suspects, nil
	}
	launch := func() error { return s.LaunchProgram(k.program, l.Grid, l.Block, values, l.Shared) }
	err = launch()
	if isMemory(err) {
		q.makeRoom()
		err = q.noRoom(launch())
	}
	if err == nil {
		q.launched(k, &all)
	}
	return nil, err
}

// check checks a launch on a device, but for its buffers.
func (k *Kernel) check(d *Device, grid, block device.Dim3, args []any) (arguments.Launch, error) {
	switch {
	case k.dev != d:
		return arguments.Launch{}, k.Named(layout.Errorf(device.ErrInvalid, "", "the kernel is another device's"))
	case k.closed:
		return arguments.Launch{}, k.Named(layout.Errorf(device.ErrClosed, "", "the kernel is closed"))
	}
	return k.Bind(grid, block, args)
}

// flows are what a launch reads and writes.
type flows struct{ reads, writes []part }

// add adds a buffer that is an argument.
func (f *flows) add(b *Buffer, v *arguments.Value) {
	p := part{b: b, hi: b.size, dense: !v.Reads}
	if p.dense && v.Memory.Type != layout.Invalid {
		if v.Memory.Layout.Count() == 0 {
			return
		}
		p = partOf(&v.Memory, nil)
	}
	if v.Reads {
		f.reads = append(f.reads, p)
	}
	if v.Writes {
		f.writes = append(f.writes, p)
	}
}

// suspects returns the outcomes that what is read depends on and that may have failed.
func (f *flows) suspects() (all []*outcome) {
	for _, p := range f.reads {
		all = p.b.suspects(p.lo, p.hi, all)
	}
	return all
}

// launched records a launch.
func (q *Queue) launched(k *Kernel, all *flows) {
	if c := q.capture; c != nil {
		c.launches++
		k.users.Add(1)
		c.kernels = append(c.kernels, k)
		for _, p := range all.writes {
			c.note(p, all.reads)
		}
		return
	}
	for _, p := range all.writes {
		p.b.mu.Lock()
		p.b.written(use{&q.timeline, q.seq})
		p.b.mu.Unlock()
		if p.dense {
			p.b.depend(p.lo, p.hi, true, nil)
		}
	}
	q.dev.counters.Launch(0)
}
