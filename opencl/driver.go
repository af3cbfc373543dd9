package opencl

import (
	"errors"
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/hugemem"
	"github.com/restride/restride/kernels"
	"github.com/restride/restride/layout"
)

// driver is an OpenCL device with a context: what package engine asks for.
type driver struct {
	proc     processor
	context  uintptr
	target   kernels.Target
	programs programs

	mu    sync.Mutex
	hosts map[uintptr]uintptr // the cl_mem of host memory, by its address
	maps  uintptr             // a cl_command_queue, to map host memory; 0: none yet
}

// newDriver returns a driver that owns a reference to the context.
func newDriver(p processor, context uintptr, o Options) (*driver, error) {
	target, err := o.target(p)
	if err != nil {
		return nil, err
	}
	d := &driver{proc: p, context: context, target: target, hosts: map[uintptr]uintptr{}}
	d.programs.init(d)
	return d, nil
}

// directWrite is the size from which a write to device memory that is the host's
// does without staging: there is no bus to hide, and the second copy costs as
// much as the first. (PoCL, 4 MiB: 0.32 ms against 0.62.)
const directWrite = 256 << 10

func (d *driver) Properties() gpu.Properties {
	t := gpu.Properties{Info: d.proc.info, Target: d.target, Pinned: !d.proc.onHost}
	if d.proc.onHost {
		t.Direct = directWrite
	}
	return t
}

// memory is a cl_mem, and what it lies in, where that is ours.
type memory struct {
	handle uintptr
	host   hugemem.Block
}

func (d *driver) Alloc(bytes int64) (gpu.Mem, error) {
	m := &memory{}
	flags, at := uintptr(memReadWrite), uintptr(0)
	if d.proc.hugePages && bytes >= hugemem.Page {
		if host, err := hugemem.Map(bytes); err == nil {
			m.host = host
			flags, at = memReadWrite|memUseHostPtr, uintptr(unsafe.Pointer(&host.Bytes[0]))
		}
	}
	var err error
	if m.handle, err = clCreateBuffer.create(d.context, flags, uintptr(bytes), at); err != nil {
		return nil, errors.Join(err, m.host.Free())
	}
	return m, nil
}

func (d *driver) Free(m gpu.Mem) error {
	mem := m.(*memory)
	return errors.Join(clReleaseMemObject.call(mem.handle), mem.host.Free())
}

func (d *driver) LoadParameters(parameters []byte) (gpu.Mem, error) {
	handle, err := clCreateBuffer.create(d.context, memReadOnly|memCopyHostPtr, uintptr(len(parameters)), uintptr(unsafe.Pointer(&parameters[0])))
	if err != nil {
		return nil, err
	}
	return &memory{handle: handle}, nil
}

// Forget may be called while launches are under way: the driver keeps what they
// use.
func (d *driver) FreeParameters(m gpu.Mem) { _ = clReleaseMemObject.call(m.(*memory).handle) }

// AllocHost returns memory that the driver allocated: on GPUs it is pinned, and
// transfers need no copy of it. It is a cl_mem that stays mapped.
func (d *driver) AllocHost(bytes int64) ([]byte, error) {
	if most := d.proc.info.MaxAlloc; bytes > most {
		return nil, layout.Errorf(device.ErrOutOfMemory, "AllocHost", "%d bytes; %s has at most %d", bytes, d.proc.info.ID(), most)
	}
	queue, err := d.mapper()
	if err != nil {
		return nil, err
	}
	mem, err := clCreateBuffer.create(d.context, memReadWrite|memAllocHostPtr, uintptr(bytes), 0)
	if err != nil {
		return nil, err
	}
	at, err := clEnqueueMapBuffer.create(queue, mem, yes, mapRead|mapWrite, 0, uintptr(bytes), 0, 0, 0)
	if err != nil {
		return nil, errors.Join(err, clReleaseMemObject.call(mem))
	}
	d.mu.Lock()
	d.hosts[at] = mem
	d.mu.Unlock()
	return unsafe.Slice((*byte)(dl.Pointer(at)), bytes), nil
}

func (d *driver) FreeHost(b []byte) error {
	queue, err := d.mapper()
	if err != nil {
		return err
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	d.mu.Lock()
	mem := d.hosts[at]
	delete(d.hosts, at)
	d.mu.Unlock()
	return errors.Join(
		clEnqueueUnmapMemObject.call(queue, mem, at, 0, 0, 0), clFinish.call(queue), clReleaseMemObject.call(mem))
}

// mapper returns the command queue that maps and unmaps host memory.
func (d *driver) mapper() (uintptr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.maps == 0 {
		var err error
		if d.maps, err = clCreateCommandQueue.create(d.context, d.proc.id, 0); err != nil {
			return 0, err
		}
	}
	return d.maps, nil
}

func (d *driver) NewStream() (gpu.Stream, error) {
	properties := uintptr(0)
	if d.proc.profiling {
		properties = profilingEnable
	}
	handle, err := clCreateCommandQueue.create(d.context, d.proc.id, properties)
	if err != nil {
		return nil, err
	}
	return newStream(d, handle), nil
}

func (d *driver) Close() error {
	errs := []error{d.programs.release()}
	if d.maps != 0 {
		errs = append(errs, clReleaseCommandQueue.call(d.maps))
	}
	return errors.Join(append(errs, clReleaseContext.call(d.context))...)
}
