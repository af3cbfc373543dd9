package opencl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/quote"
)

// fn is a function of the driver. Handles are uintptr: they are the driver's addresses,
// not Go's.
type fn struct {
	name string
	addr uintptr
}

// The functions in use, all of OpenCL 1.2, which load finds.
var (
	clGetPlatformIDs  = bind("clGetPlatformIDs")
	clGetPlatformInfo = bind("clGetPlatformInfo")
	clGetDeviceIDs    = bind("clGetDeviceIDs")
	clGetDeviceInfo   = bind("clGetDeviceInfo")

	clCreateContext  = bind("clCreateContext")
	clRetainContext  = bind("clRetainContext")
	clReleaseContext = bind("clReleaseContext")
	clGetContextInfo = bind("clGetContextInfo")

	clCreateCommandQueue  = bind("clCreateCommandQueue")
	clRetainCommandQueue  = bind("clRetainCommandQueue")
	clReleaseCommandQueue = bind("clReleaseCommandQueue")
	clGetCommandQueueInfo = bind("clGetCommandQueueInfo")
	clFlush               = bind("clFlush")
	clFinish              = bind("clFinish")

	clCreateBuffer          = bind("clCreateBuffer")
	clCreateSubBuffer       = bind("clCreateSubBuffer")
	clRetainMemObject       = bind("clRetainMemObject")
	clReleaseMemObject      = bind("clReleaseMemObject")
	clGetMemObjectInfo      = bind("clGetMemObjectInfo")
	clEnqueueReadBuffer     = bind("clEnqueueReadBuffer")
	clEnqueueWriteBuffer    = bind("clEnqueueWriteBuffer")
	clEnqueueCopyBuffer     = bind("clEnqueueCopyBuffer")
	clEnqueueMapBuffer      = bind("clEnqueueMapBuffer")
	clEnqueueUnmapMemObject = bind("clEnqueueUnmapMemObject")

	clCreateProgramWithSource = bind("clCreateProgramWithSource")
	clCreateProgramWithBinary = bind("clCreateProgramWithBinary")
	clBuildProgram            = bind("clBuildProgram")
	clGetProgramInfo          = bind("clGetProgramInfo")
	clGetProgramBuildInfo     = bind("clGetProgramBuildInfo")
	clReleaseProgram          = bind("clReleaseProgram")

	clCreateKernel     = bind("clCreateKernel")
	clSetKernelArg     = bind("clSetKernelArg")
	clGetKernelInfo    = bind("clGetKernelInfo")
	clGetKernelArgInfo = bind("clGetKernelArgInfo")
	clReleaseKernel    = bind("clReleaseKernel")

	clGetKernelWorkGroupInfo = bind("clGetKernelWorkGroupInfo")
	clEnqueueNDRangeKernel   = bind("clEnqueueNDRangeKernel")

	clEnqueueMarkerWithWaitList  = bind("clEnqueueMarkerWithWaitList")
	clEnqueueBarrierWithWaitList = bind("clEnqueueBarrierWithWaitList")
	clWaitForEvents              = bind("clWaitForEvents")
	clGetEventInfo               = bind("clGetEventInfo")
	clGetEventProfilingInfo      = bind("clGetEventProfilingInfo")
	clReleaseEvent               = bind("clReleaseEvent")
)

var functions, optional []*fn

func bind(name string) *fn {
	f := &fn{name: name}
	functions = append(functions, f)
	return f
}

// bindOptional is bind for a function that not every library has: its address may be 0.
func bindOptional(name string) *fn {
	f := &fn{name: name}
	optional = append(optional, f)
	return f
}

// library is the library that load finds.
var library *dl.Library

// load finds the library, once.
var load = sync.OnceValue(func() error {
	lib, err := dl.Open(libraries()...)
	if err != nil {
		return noDevice("no OpenCL library: %v", err)
	}
	library = lib
	for _, f := range functions {
		if f.addr, err = lib.Lookup(f.name); err != nil {
			return noDevice("the OpenCL library is older than OpenCL 1.2: %v", err)
		}
	}
	for _, f := range optional {
		f.addr, _ = lib.Lookup(f.name)
	}
	return nil
})

// libraries returns the names that the OpenCL library may have.
func libraries() []string {
	if path := os.Getenv("RESTRIDE_LIBOPENCL"); path != "" {
		return []string{path}
	}
	switch runtime.GOOS {
	case "windows":
		return []string{"OpenCL.dll"}
	case "darwin":
		return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	return []string{"libOpenCL.so.1", "libOpenCL.so"}
}

func noDevice(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{device.ErrNoDevice}, args...)...)
}

// call calls a function that returns a code.
//
//go:uintptrescapes
func (f *fn) call(args ...uintptr) error { return f.check(int32(dl.Call(f.addr, args...))) }

// create calls a function that returns a handle, with one more argument than given here: the
// address for its code.
//
//go:uintptrescapes
func (f *fn) create(args ...uintptr) (uintptr, error) {
	n := len(args)
	list := append(args[:n:n], 0, 0) // the last one is for the code, and not an argument
	list[n] = uintptr(unsafe.Pointer(&list[n+1]))
	handle := dl.Call(f.addr, list[:n+1]...)
	code := *(*int32)(unsafe.Pointer(&list[n+1]))
	if err := f.check(code); err != nil {
		return 0, err
	}
	if handle == 0 {
		return 0, &device.DriverError{Call: f.name, Name: "no error, but no handle"}
	}
	return handle, nil
}

// ask calls a function that returns information. Its arguments are the object and the property,
// in the function's own order, then the size of the result's memory, its address, and the
// address for the required size.
func (f *fn) ask(object []uintptr, room, to, need uintptr) error {
	return f.call(append(object[:len(object):len(object)], room, to, need)...)
}

// bytes returns information of any size.
func (f *fn) bytes(object ...uintptr) ([]byte, error) {
	size := new(uintptr)
	if err := f.ask(object, 0, 0, address(size)); err != nil {
		return nil, err
	}
	b := make([]byte, max(*size, 8)) // never empty, so that it has an address
	err := f.ask(object, *size, address(&b[0]), 0)
	return b[:*size], err
}

// text is bytes for a string, with white space reduced to single spaces.
func (f *fn) text(object ...uintptr) (string, error) {
	b, err := f.bytes(object...)
	s, _, _ := strings.Cut(string(b), "\x00")
	return quote.Text(strings.Join(strings.Fields(s), " ")), err
}

// number is bytes for an integer of up to 64 bits, or a handle.
func (f *fn) number(object ...uintptr) (uint64, error) {
	b, err := f.bytes(object...)
	if err != nil {
		return 0, err
	}
	if len(b) > 8 {
		return 0, fmt.Errorf("%s(%#x): %w: %d bytes, want an integer", f.name, object[1:], device.ErrDriver, len(b))
	}
	var eight [8]byte
	copy(eight[:], b)
	return binary.NativeEndian.Uint64(eight[:]), nil
}

// list returns handles: of platforms, or of a platform's devices.
func (f *fn) list(object ...uintptr) ([]uintptr, error) {
	n := new(uint32)
	if err := f.ask(object, 0, 0, address(n)); err != nil || *n == 0 {
		return nil, err
	}
	handles := make([]uintptr, *n)
	err := f.ask(object, uintptr(*n), address(&handles[0]), 0)
	return handles, err
}

// address returns a Go object's address, for arguments that are stored before the call.
// The object is on the heap, where it does not move; the caller keeps it alive by a
// later use.
func address[T any](p *T) uintptr { return escape(uintptr(unsafe.Pointer(p))) }

//go:uintptrescapes
//go:noinline
func escape(address uintptr) uintptr { return address }

// isCode reports whether an error comes from the driver and has one of the codes.
func isCode(err error, codes ...int32) bool {
	var e *device.DriverError
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.Code == int64(c) {
			return true
		}
	}
	return false
}
