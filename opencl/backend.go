package opencl

import (
	"fmt"
	"os"
	"strings"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/kernels"
	"github.com/restride/restride/layout"
)

func init() { device.Register(backend{}) }

type backend struct{}

func (backend) Name() string { return "opencl" }

func (backend) List() ([]device.Info, error) {
	m := devices()
	infos := make([]device.Info, len(m.usable))
	for i := range m.usable {
		infos[i] = m.usable[i].info
	}
	return infos, m.err
}

func (backend) Open(index int) (device.Device, error) {
	dev, err := OpenWith(index, Options{})
	if err != nil {
		return nil, err
	}
	return dev, nil
}

// Planner says for which kind of processor kernels are chosen.
type Planner string

// The planners.
const (
	Auto     Planner = ""         // what the device's type suggests
	Parallel Planner = "parallel" // work-groups of many work-items, as GPUs want them
	Serial   Planner = "serial"   // work-groups that are loops, as CPUs want them
)

// Options say how to open a device. The zero Options are right for use.
type Options struct {
	// Planner chooses kernels as for another kind of processor: results are the
	// same, speed is not. Auto looks at RESTRIDE_OPENCL_PLANNER first.
	Planner Planner
}

// OpenWith opens the device with the given index, with a context and a pool of
// memory of its own.
func OpenWith(index int, o Options) (*Device, error) {
	m := devices()
	if m.err != nil {
		return nil, m.err
	}
	if index < 0 || index >= len(m.usable) {
		reason := ""
		if len(m.skipped) > 0 {
			reason = " (" + strings.Join(m.skipped, "; ") + ")"
		}
		return nil, noDevice("there is no OpenCL device %d of %d%s", index, len(m.usable), reason)
	}
	p := m.usable[index]
	context, err := clCreateContext.create(0, 1, uintptr(unsafe.Pointer(&p.id)), 0, 0)
	if err != nil {
		return nil, err
	}
	return newDevice(p, context, o)
}

// target turns a planner into the planner's target.
func (o Options) target(p processor) (kernels.Target, error) {
	const variable = "RESTRIDE_OPENCL_PLANNER"
	name, of := o.Planner, "the planner"
	if name == Auto {
		name, of = Planner(os.Getenv(variable)), variable
	}
	serial := p.info.Kind == device.CPU && p.loops
	switch name {
	case Auto:
	case Parallel:
		serial = false
	case Serial:
		if serial = true; !p.loops {
			return kernels.Target{}, layout.Errorf(device.ErrUnsupported, "Open", "%s does not run long loops to their end: it can only have the planner %q", p.info.Name, Parallel)
		}
	default:
		return kernels.Target{}, layout.Errorf(device.ErrInvalid, "Open", "%s is %q; it can be %q or %q", of, name, Parallel, Serial)
	}
	if !serial && p.groupSize < kernels.GroupSize {
		return kernels.Target{}, fmt.Errorf("%w: %s has work-groups of at most %d work-items; the parallel planner needs %d",
			device.ErrUnsupported, p.info.Name, p.groupSize, kernels.GroupSize)
	}
	return kernels.Target{Serial: serial}, nil
}
