package opencl

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

func init() { device.Register(backend{}) }

type backend struct{}

func (backend) Name() string { return "opencl" }

func (backend) List() ([]device.Info, error) {
	all := devices()
	infos := make([]device.Info, len(all.usable))
	for i := range all.usable {
		infos[i] = all.usable[i].info
	}
	return infos, all.err
}

func (backend) Open(index int) (device.Device, error) {
	dev, err := OpenWith(index, Options{})
	if err != nil {
		return nil, err
	}
	return dev, nil
}

// Device is an OpenCL device. It has the methods of device.Device, device.DriverCopier,
// device.GLSharer, device.HostAllocator, device.Diagnostics, device.Preloader and device.Trimmer
// beside those below. Its queues are device.Allocator, AsyncQueue, KernelNamer and Sharer, too,
// and their events device.TimedEvent.
type Device struct {
	*gpu.Device
	driver *driver
}

// LogTo logs that compiled kernels are not kept because others could change them.
func (d *Device) LogTo(l *slog.Logger) {
	if l != nil {
		l = l.With("device", d.Info().ID())
	}
	d.driver.programs.disk.logTo(l)
}

// Planner is the kind of processor for which kernels are chosen.
type Planner string

// The planners.
const (
	Auto     Planner = ""         // as the device's type suggests
	Parallel Planner = "parallel" // work-groups of many work-items, for GPUs
	Serial   Planner = "serial"   // work-groups that are loops, for CPUs
)

// Options are options of a device. The zero Options are the recommended ones.
type Options struct {
	// Planner chooses kernels for another kind of processor: results are the same, speed is
	// not. Auto follows RESTRIDE_OPENCL_PLANNER, if it is set.
	Planner Planner
	// GL is a GL context whose buffers the device is to share (device.GLSharer): see CurrentGL.
	// If the driver cannot share with it, opening the device fails with device.ErrUnsupported.
	// The GL context must live until the device is closed.
	GL GL

	integers bool // arithmetic on integers, as for devices that flush subnormal numbers
}

// OpenWith opens the device with an index, with a context and a pool of memory of its
// own.
func OpenWith(index int, o Options) (*Device, error) {
	all := devices()
	if all.err != nil {
		return nil, all.err
	}
	if index < 0 || index >= len(all.usable) {
		last := all.usable[len(all.usable)-1].info
		return nil, noDevice("there is no OpenCL device %d: the last one is %s, %s", index, last.ID(), last.Name)
	}
	p := all.usable[index]
	context, err := o.GL.newContext(p)
	if err != nil {
		return nil, err
	}
	return newDevice(p, context, o)
}

// newDevice makes a device of a context, whose reference it takes over.
func newDevice(p properties, context uintptr, o Options) (*Device, error) {
	d, err := newDriver(p, context, o)
	if err != nil {
		_ = clReleaseContext.call(context)
		return nil, err
	}
	return &Device{gpu.New(d), d}, nil
}

// target is the planner's target for a device.
func (o Options) target(p properties) (planner.Target, error) {
	const variable = "RESTRIDE_OPENCL_PLANNER"
	name, of := o.Planner, "the planner"
	if name == Auto {
		name, of = Planner(os.Getenv(variable)), variable
	}
	serial := p.info.Kind == device.CPU && !p.cutsLoops
	switch name {
	case Auto:
	case Parallel:
		serial = false
	case Serial:
		if serial = true; p.cutsLoops {
			return planner.Target{}, layout.Errorf(device.ErrUnsupported, "Open", "%s does not run long loops to their end: it can only have the planner %q", p.info.Name, Parallel)
		}
	default:
		return planner.Target{}, layout.Errorf(device.ErrInvalid, "Open", "%s is %q; it can be %q or %q", of, name, Parallel, Serial)
	}
	if !serial && p.groupSize < planner.GroupSize {
		return planner.Target{}, fmt.Errorf("%w: %s has work-groups of at most %d work-items; the parallel planner needs %d",
			device.ErrUnsupported, p.info.Name, p.groupSize, planner.GroupSize)
	}
	t := planner.Target{CPU: serial, Multiprocessors: p.units, Atomics32: p.atomics32}
	if p.cutsLoops {
		t.MostRounds = mostRounds
	}
	return t, nil
}
