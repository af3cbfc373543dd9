package opencl

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
)

// hostBlock is host memory that the driver allocated: on GPUs it is pinned, and
// transfers need no copy of it.
type hostBlock struct {
	mem     uintptr // a cl_mem, mapped as long as the block lives
	address uintptr
	size    int64
}

// newHostBlock maps fresh host memory.
func (d *Device) newHostBlock(size int64) (*hostBlock, error) {
	if err := d.reserve(size); err != nil {
		return nil, err
	}
	h := &hostBlock{size: size}
	queue, err := d.mapper()
	if err == nil {
		h.mem, err = clCreateBuffer.create(d.context, memReadWrite|memAllocHostPtr, uintptr(size), 0)
	}
	if err == nil {
		h.address, err = clEnqueueMapBuffer.create(queue, h.mem, yes, mapRead|mapWrite, 0, uintptr(size), 0, 0, 0)
	}
	if err != nil {
		return nil, errors.Join(err, h.free(d))
	}
	return h, nil
}

// mapper returns the command queue that maps and unmaps host memory.
func (d *Device) mapper() (uintptr, error) {
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

// free unmaps the memory and gives it back. No transfer uses it any more.
func (h *hostBlock) free(d *Device) error {
	d.unreserve(h.size)
	var errs []error
	if h.address != 0 {
		queue, err := d.mapper()
		if err == nil {
			err = errors.Join(clEnqueueUnmapMemObject.call(queue, h.mem, h.address, 0, 0, 0), clFinish.call(queue))
		}
		errs = append(errs, err)
	}
	if h.mem != 0 {
		errs = append(errs, clReleaseMemObject.call(h.mem))
	}
	return errors.Join(errs...)
}

// AllocHost returns host memory that is transferred fast, for WriteAsync and
// ReadAsync above all. The device's Close gives it back, too.
func (d *Device) AllocHost(bytes int64) ([]byte, error) {
	if err := d.begin("AllocHost"); err != nil {
		return nil, err
	}
	defer d.end()
	switch most := d.proc.info.MaxAlloc; {
	case bytes < 0:
		return nil, layout.Errorf(device.ErrInvalid, "AllocHost", "%d bytes: the size is negative", bytes)
	case bytes > most:
		return nil, layout.Errorf(device.ErrOutOfMemory, "AllocHost", "%d bytes; %s has at most %d", bytes, d.proc.info.ID(), most)
	case bytes == 0:
		return []byte{}, nil
	}
	h, err := d.newHostBlock(bytes)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.hosts[h.address] = h
	d.mu.Unlock()
	return h.bytes(), nil
}

// FreeHost gives back what AllocHost returned.
func (d *Device) FreeHost(b []byte) error {
	if err := d.begin("FreeHost"); err != nil {
		return err
	}
	defer d.end()
	if cap(b) == 0 {
		return nil
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	d.mu.Lock()
	h := d.hosts[at]
	delete(d.hosts, at)
	d.mu.Unlock()
	if h == nil {
		return layout.Errorf(device.ErrInvalid, "FreeHost", "%d bytes that AllocHost of this device has not returned, or that are freed", len(b))
	}
	return h.free(d)
}

// bytes is the memory itself.
func (h *hostBlock) bytes() []byte { return unsafe.Slice((*byte)(dl.Pointer(h.address)), h.size) }

// WriteAsync copies src to the buffer from byte off, without waiting.
func (q *Queue) WriteAsync(dst device.Buffer, off int64, src []byte) (device.Event, error) {
	return q.async("WriteAsync", clEnqueueWriteBuffer, dst, off, src, q.dev.counters.Upload)
}

// ReadAsync copies len(dst) bytes of the buffer from byte off, without waiting.
func (q *Queue) ReadAsync(dst []byte, src device.Buffer, off int64) (device.Event, error) {
	return q.async("ReadAsync", clEnqueueReadBuffer, src, off, dst, q.dev.counters.Download)
}

func (q *Queue) async(op string, f *fn, buffer device.Buffer, off int64, host []byte, count func(int64)) (device.Event, error) {
	if err := q.begin(op); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	b, err := q.useRange(op, buffer, off, int64(len(host)))
	if err != nil {
		return nil, err
	}
	handle := new(uintptr)
	if len(host) == 0 {
		*handle, err = q.marker()
	} else if err = q.transfer(f, b.block, 0, off, host, handle); err == nil {
		p := new(runtime.Pinner)
		p.Pin(unsafe.SliceData(host))
		q.pins = append(q.pins, pin{q.seq, p})
		if err = clFlush.call(q.handle); err != nil {
			_ = clReleaseEvent.call(*handle)
		}
	}
	if err != nil {
		return nil, err
	}
	count(int64(len(host)))
	q.reached(q.done.Load()) // lets go of what earlier transfers used
	return q.newEvent(*handle), nil
}
