package gpu

import (
	"errors"
	"slices"
	"sync"

	"github.com/restride/restride/device"
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

// Value is the value of a kernel's parameter: memory, local memory or bytes.
type Value struct {
	Kind  Kind
	Mem   Mem    // of a Pointer; nil: a buffer of no bytes
	Bytes []byte // of an Integer, a Float or a Struct
	Local uint32 // bytes of LocalMemory
}

// Kernel is a device.Kernel.
type Kernel struct {
	dev        *Device
	name       string
	program    Program
	parameters []Parameter
	most       uint32 // threads in a block; 0: unknown

	mu     sync.RWMutex // held for reading while a launch is queued
	closed bool
}

// NewKernel makes a kernel of a driver's, which is released by the kernel's Close and the
// device's. The caller is within While.
func NewKernel(d *Device, name string, p Program, parameters []Parameter, mostThreads uint32) *Kernel {
	k := &Kernel{dev: d, name: name, program: p, parameters: parameters, most: mostThreads}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kernels == nil {
		d.kernels = map[*Kernel]struct{}{}
	}
	d.kernels[k] = struct{}{}
	return k
}

// Name returns the kernel's name.
func (k *Kernel) Name() string { return k.name }

// Close waits for the device's queues and frees the kernel.
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
		return layout.Errorf(device.ErrClosed, op, "the kernel %s was closed before", quote.Name(k.name))
	}
	for _, q := range d.openQueues() {
		q.mu.Lock()
		if !q.closed {
			q.drain(q.seq)
		}
		q.mu.Unlock()
	}
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

// Launch queues a kernel of the user's. Which of its arguments it writes is not known: so
// that none is taken for wrong that is not, it waits until it is known what the buffers
// are worth.
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

// launchUser is Launch, unless there are outcomes that a buffer depends on.
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
	some := filled(&grid)
	if err := k.check(q.dev, &block); err != nil {
		return nil, layout.Named(k.call(op), err)
	}
	b := binding{q: q, parameters: k.parameters}
	if err := b.all(args); err != nil {
		return nil, layout.Named(k.call(op), err)
	}
	q.seq++
	used := make([]*Buffer, len(b.buffers))
	var suspects []*outcome
	for i, buffer := range b.buffers {
		var err error
		if used[i], err = q.use(op, b.roles[i], buffer); err != nil {
			return nil, layout.Named(k.call(op), err)
		}
		b.values[b.places[i]].Mem = used[i].Mem()
		suspects = used[i].suspects(0, used[i].size, suspects)
	}
	if len(suspects) > 0 || !some {
		return suspects, nil
	}
	launch := func() error { return s.LaunchProgram(k.program, grid, block, b.values, b.shared) }
	err := launch()
	if isMemory(err) {
		q.makeRoom()
		err = q.noRoom(launch())
	}
	if err != nil {
		return nil, err
	}
	for _, buffer := range used {
		buffer.mu.Lock()
		buffer.written(use{q, q.seq})
		buffer.mu.Unlock()
	}
	q.dev.counters.Launch(0)
	return nil, nil
}

func (k *Kernel) call(op string) string { return op + " of kernel " + quote.Name(k.name) }

// filled makes ones of the zeros that stand for them, those at the end behind the first
// extent. It reports whether no other extent is 0.
func filled(g *device.Dim3) bool {
	for i := len(g) - 1; i > 0 && g[i] == 0; i-- {
		g[i] = 1
	}
	return !slices.Contains(g[:], 0)
}

// check checks a kernel against the device and the size of its blocks.
func (k *Kernel) check(d *Device, block *device.Dim3) error {
	some, threads := filled(block), uint64(1)
	for _, n := range block {
		threads = min(threads*uint64(n), 1<<31)
	}
	switch {
	case !some:
		return layout.Errorf(device.ErrInvalid, "", "a block of %d by %d by %d threads has none", block[0], block[1], block[2])
	case k.dev != d:
		return layout.Errorf(device.ErrInvalid, "", "the kernel is another device's")
	case k.closed:
		return layout.Errorf(device.ErrClosed, "", "the kernel is closed")
	case k.most > 0 && threads > uint64(k.most):
		return layout.Errorf(device.ErrInvalid, "", "a block of %d by %d by %d threads; the kernel runs with at most %d here", block[0], block[1], block[2], k.most)
	}
	return nil
}
