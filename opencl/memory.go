package opencl

import (
	"errors"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/hugemem"
	"github.com/restride/restride/layout"
)

// memory is a cl_mem, and the memory of this package behind it, if any.
type memory struct {
	handle uintptr
	host   hugemem.Block
}

func (d *driver) Alloc(bytes int64) (gpu.Mem, error) {
	if err := d.gone(); err != nil {
		return nil, err
	}
	m := &memory{}
	flags, at := uintptr(memReadWrite), uintptr(0)
	if d.properties.onHost && d.properties.smallPages && bytes >= hugemem.Page {
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
	if err := clReleaseMemObject.call(mem.handle); err != nil {
		return err // the driver still has this package's memory
	}
	return mem.host.Free()
}

// PartAlign is the device's alignment of sub-buffers.
func (d *driver) PartAlign() int64 { return d.properties.partAlign }

// Part returns a sub-buffer.
func (d *driver) Part(m gpu.Mem, off, bytes int64) (gpu.Mem, error) {
	region := [2]uintptr{uintptr(off), uintptr(bytes)}
	handle, err := clCreateSubBuffer.create(m.(*memory).handle, memReadWrite, bufferCreateRegion, uintptr(unsafe.Pointer(&region)))
	if err != nil {
		return nil, err
	}
	return &memory{handle: handle}, nil
}

// FreePart releases a sub-buffer.
func (d *driver) FreePart(m gpu.Mem) error { return clReleaseMemObject.call(m.(*memory).handle) }

func (d *driver) LoadParameters(parameters []byte) (gpu.Mem, error) {
	handle, err := clCreateBuffer.create(d.context, memReadOnly|memCopyHostPtr, uintptr(len(parameters)), uintptr(unsafe.Pointer(&parameters[0])))
	if err != nil {
		return nil, err
	}
	return &memory{handle: handle}, nil
}

// FreeParameters may be called with launches in progress: the driver keeps their resources.
func (d *driver) FreeParameters(m gpu.Mem) { _ = clReleaseMemObject.call(m.(*memory).handle) }

// AllocHost returns memory of the driver, a cl_mem that stays mapped: on GPUs it is pinned, and
// transfers need no copy of it.
func (d *driver) AllocHost(bytes int64) ([]byte, error) {
	if most := d.properties.info.MaxAlloc; bytes > most {
		return nil, layout.Errorf(device.ErrOutOfMemory, "AllocHost", "%d bytes; %s has at most %d", bytes, d.properties.info.ID(), most)
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
		if d.maps, err = clCreateCommandQueue.create(d.context, d.properties.id, 0); err != nil {
			return 0, err
		}
	}
	return d.maps, nil
}
