package opencl

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/layout"
)

// Handles are a device's handles: a cl_platform_id, a cl_context and a cl_device_id.
type Handles struct {
	Platform, Context, Device uintptr
}

// Handles returns the device's handles, which are valid until it is closed, or for as
// long as the caller retains them.
func (d *Device) Handles() Handles {
	return Handles{Platform: d.driver.properties.platform, Context: d.driver.context, Device: d.driver.properties.id}
}

// Library returns the OpenCL library that the package has loaded, for the program's own
// binding: the name or path that it was found by, and its handle, as dlopen or LoadLibrary
// return it.
func Library() (path string, handle uintptr, err error) {
	if err := load(); err != nil {
		return "", 0, err
	}
	return library.Name, library.Handle(), nil
}

// HandleOf returns a buffer's cl_mem, valid until the buffer is freed; 0 for a buffer
// of no bytes, or of another backend (device.HandleMemory). A program that queues work of its
// own on it calls MarkUsed of device.Sharer before the buffer is freed.
func (d *Device) HandleOf(b device.Buffer) uintptr { return handleOf(b) }

func handleOf(b device.Buffer) uintptr {
	if buffer, ok := b.(*gpu.Buffer); ok && buffer != nil {
		if m, ok := buffer.Mem().(*memory); ok {
			return m.handle
		}
	}
	return 0
}

// CommandQueueOf returns a queue's cl_command_queue, valid until the queue is
// closed; 0 for a queue of another backend.
func CommandQueueOf(q device.Queue) uintptr {
	if queue, ok := device.As[*gpu.Queue](q); ok && queue != nil {
		if s, ok := queue.Stream().(*stream); ok {
			return s.handle
		}
	}
	return 0
}

// Adopt makes a device of an engine's context and device. Handles.Platform may be 0. The
// context is retained until the device is closed. Options.GL means that the engine made it for
// sharing with that GL context.
func Adopt(h Handles, o Options) (*Device, error) {
	const op = "Adopt"
	if err := load(); err != nil {
		return nil, err
	}
	if h.Context == 0 || h.Device == 0 {
		return nil, layout.Errorf(device.ErrInvalid, op, "the context or the device is nil")
	}
	in, err := clGetContextInfo.bytes(h.Context, contextDevices)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(handles(in), h.Device) {
		return nil, layout.Errorf(device.ErrInvalid, op, "the device is none of the context's")
	}
	platform, err := clGetDeviceInfo.number(h.Device, devicePlatform)
	if err != nil {
		return nil, err
	}
	if h.Platform != 0 && h.Platform != uintptr(platform) {
		return nil, layout.Errorf(device.ErrInvalid, op, "the device is none of the platform's")
	}
	p, err := propertiesOf(uintptr(platform), h.Device)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", device.ErrUnsupported, err)
	}
	p.info.Index = indexOf(h.Device)
	if err := o.GL.checkAdopted(h.Context, p); err != nil {
		return nil, err
	}
	if err := clRetainContext.call(h.Context); err != nil {
		return nil, err
	}
	return newDevice(p, h.Context, o)
}

// indexOf returns a device's index; the number of all devices for one that is not
// listed, such as a part of another.
func indexOf(id uintptr) int {
	all := devices().usable
	if i := slices.IndexFunc(all, func(p properties) bool { return p.id == id }); i >= 0 {
		return i
	}
	return len(all)
}

// handles decodes a list of handles.
func handles(b []byte) []uintptr {
	all := make([]uintptr, len(b)/int(unsafe.Sizeof(uintptr(0))))
	for i := range all {
		all[i] = *(*uintptr)(unsafe.Pointer(&b[i*int(unsafe.Sizeof(uintptr(0)))]))
	}
	return all
}

// AdoptHandle makes a buffer of the first bytes of an engine's cl_mem of the same context
// (device.HandleMemory). The size is a multiple of 4, as kernels access whole words, and host
// memory (CL_MEM_USE_HOST_PTR) begins on 16 bytes, as they access vectors: others are
// device.ErrUnsupported. Kernels may read, and never write, up to 12 bytes behind the size, to
// the next multiple of 16. The cl_mem is retained until the buffer is freed; the driver keeps it
// for work that is still under way. done, unless it is nil, is called when the buffer is freed
// and the work on it is over. The buffer counts in no Stats.
func (d *Device) AdoptHandle(mem uintptr, bytes int64, done func()) (device.Buffer, error) {
	const op = "AdoptHandle"
	var b device.Buffer
	err := gpu.While(d.Device, op, func() error {
		if mem == 0 || bytes < 0 {
			return layout.Errorf(device.ErrInvalid, op, "memory %#x of %d bytes", mem, bytes)
		}
		if err := gpu.CheckWords(op, bytes); err != nil {
			return err
		}
		var numbers [4]uint64
		for i, key := range []uintptr{memType, memContext, memSize, memFlags} {
			var err error
			if numbers[i], err = clGetMemObjectInfo.number(mem, key); err != nil {
				return err
			}
		}
		kind, context, size, flags := numbers[0], numbers[1], numbers[2], numbers[3]
		switch {
		case kind != memObjectBuffer:
			return layout.Errorf(device.ErrUnsupported, op, "the memory object is of type %#x, and no buffer", kind)
		case uintptr(context) != d.driver.context:
			return layout.Errorf(device.ErrInvalid, op, "the buffer is of another context")
		case uint64(bytes) > size:
			return layout.Errorf(device.ErrInvalid, op, "%d bytes of a buffer that has %d", bytes, size)
		case flags&(memWriteOnly|memReadOnly) != 0:
			return layout.Errorf(device.ErrUnsupported, op, "kernels may not both read and write the buffer: its flags are %#x", flags)
		}
		if flags&memUseHostPtr != 0 {
			at, err := clGetMemObjectInfo.number(mem, memHostPtr)
			if err != nil {
				return err
			}
			if at%16 != 0 {
				return layout.Errorf(device.ErrUnsupported, op, "the host memory %#x of the buffer does not begin on 16 bytes", at)
			}
		}
		if err := clRetainMemObject.call(mem); err != nil {
			return err
		}
		b = gpu.Adopt(d.Device, &memory{handle: mem}, bytes, func() error { return clReleaseMemObject.call(mem) }, done)
		return nil
	})
	return b, err
}

// AdoptQueue makes a queue of an engine's in-order cl_command_queue of the same context
// and device, which is retained until the queue is closed. Close waits for all work on
// it, also the engine's.
func (d *Device) AdoptQueue(handle uintptr) (device.Queue, error) {
	const op = "AdoptQueue"
	var q device.Queue
	err := gpu.While(d.Device, op, func() error {
		if handle == 0 {
			return layout.Errorf(device.ErrInvalid, op, "the queue is nil")
		}
		var numbers [3]uint64
		for i, key := range []uintptr{queueContext, queueDevice, queueProperties} {
			var err error
			if numbers[i], err = clGetCommandQueueInfo.number(handle, key); err != nil {
				return err
			}
		}
		context, id, properties := numbers[0], numbers[1], numbers[2]
		switch {
		case uintptr(context) != d.driver.context || uintptr(id) != d.driver.properties.id:
			return layout.Errorf(device.ErrInvalid, op, "the queue is of another context or device")
		case properties&outOfOrder != 0:
			return layout.Errorf(device.ErrUnsupported, op, "the queue runs out of order; only queues in order can be adopted")
		}
		if err := clRetainCommandQueue.call(handle); err != nil {
			return err
		}
		q = gpu.AdoptStream(d.Device, newStream(d.driver, handle))
		return nil
	})
	return q, err
}
