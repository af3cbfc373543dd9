package opencl

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/internal/glcontext"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/planner"
)

// driver is an OpenCL device with a context.
type driver struct {
	properties properties
	context    uintptr
	target     planner.Target
	gl         glcontext.Context // the context with which it shares; the zero one: none
	glOrdered  bool              // acquiring and releasing order the work of both
	programs   programs
	lost       atomic.Pointer[error] // why the device is unusable

	mu    sync.Mutex
	hosts map[uintptr]uintptr // the cl_mem of host memory, by its address
	maps  uintptr             // the cl_command_queue that maps host memory; 0: none so far
}

// newDriver returns a driver that owns a reference to the context.
func newDriver(p properties, context uintptr, o Options) (*driver, error) {
	target, err := o.target(p)
	if err == nil {
		err = p.checkPrograms()
	}
	if err != nil {
		return nil, err
	}
	d := &driver{properties: p, context: context, target: target, hosts: map[uintptr]uintptr{}}
	if d.gl = o.GL.context; d.gl.Handle != 0 {
		d.glOrdered = p.has("cl_khr_gl_event")
	}
	d.programs.init(d, o.arithmetic(p))
	return d, nil
}

// directWrite is the size in bytes from which a write to device memory that is the host's is
// not staged: there is no bus latency to hide, and the second copy costs as much as the first.
// (PoCL, 4 MiB: 0.32 ms against 0.62.)
const directWrite = 256 << 10

func (d *driver) Properties() gpu.Properties {
	p := gpu.Properties{Info: d.properties.info, Target: d.target, Pinned: !d.properties.onHost}
	if d.properties.onHost {
		p.Direct = directWrite
	}
	return p
}

func (d *driver) Close() error {
	errs := []error{d.gone(), d.programs.release()}
	if d.maps != 0 {
		errs = append(errs, clReleaseCommandQueue.call(d.maps))
	}
	return errors.Join(append(errs, clReleaseContext.call(d.context))...)
}
