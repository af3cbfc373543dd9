package opencl

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/arguments"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Compile compiles a user's kernel from source in OpenCL C, for Launch of the device's queues
// (device.Launcher). options are compiler options, such as "-cl-std=CL1.2 -DN=4"; "" is none.
// Source that does not compile is a *device.DriverError with the compiler's log. Only the
// driver may cache compiled users' kernels.
func (d *Device) Compile(source, name, options string) (device.Kernel, error) {
	const op = "Compile"
	if strings.ContainsRune(name+options, 0) || name == "" {
		return nil, layout.Errorf(device.ErrInvalid, op, "the name %s or the options are no text", quote.Name(name))
	}
	var k device.Kernel
	err := gpu.While(d.Device, op, func() error {
		u, err := d.driver.compile(source, name, options)
		if err != nil {
			return fmt.Errorf("%s of kernel %s: %w", op, quote.Name(name), err)
		}
		most, _ := clGetKernelWorkGroupInfo.number(u.kernel, d.driver.properties.id, kernelWorkGroupSize)
		parameters, err := u.parameters()
		if err != nil {
			return errors.Join(err, u.Release())
		}
		k = gpu.NewKernel(d.Device, u, arguments.Kernel{Name: name, Parameters: parameters, MostThreads: uint32(min(most, 1<<31))})
		return nil
	})
	return k, err
}

// userKernel is a user's kernel. The driver stores arguments in the cl_kernel, so only one
// launch at a time may set them.
type userKernel struct {
	name            string
	program, kernel uintptr
	mu              sync.Mutex
}

func (d *driver) compile(source, name, options string) (*userKernel, error) {
	program, err := d.programs.compileWith(source, strings.TrimSpace(options+" -cl-kernel-arg-info"))
	if err != nil {
		return nil, err
	}
	kernel, err := kernelOf(program, name)
	if err != nil {
		return nil, errors.Join(err, clReleaseProgram.call(program))
	}
	return &userKernel{name: name, program: program, kernel: kernel}, nil
}

// kernelOf returns a program's kernel with a name.
func kernelOf(program uintptr, name string) (uintptr, error) {
	text := append([]byte(name), 0)
	kernel, err := clCreateKernel.create(program, uintptr(unsafe.Pointer(&text[0])))
	if isCode(err, invalidKernelName) {
		has, _ := clGetProgramInfo.text(program, programKernelNames)
		err = layout.Errorf(device.ErrInvalid, "clCreateKernel", "the source has no such kernel; it has %q", strings.Split(has, ";"))
	}
	return kernel, err
}

// Release may be called with launches in progress: the driver keeps their resources.
func (u *userKernel) Release() error {
	return errors.Join(clReleaseKernel.call(u.kernel), clReleaseProgram.call(u.program))
}

// parameters queries the kernel's parameters.
func (u *userKernel) parameters() ([]arguments.Parameter, error) {
	n, err := clGetKernelInfo.number(u.kernel, kernelNumArgs)
	if err != nil {
		return nil, err
	}
	all := make([]arguments.Parameter, n)
	for i := range all {
		p := &all[i]
		space, err := clGetKernelArgInfo.number(u.kernel, uintptr(i), kernelArgAddressQualifier)
		if isCode(err, argInfoNotAvailable) { // the driver does not report them: any it accepts is right
			p.Kind = arguments.Pointer | arguments.LocalMemory | arguments.ByValue
			continue
		}
		if err == nil {
			p.Name, err = clGetKernelArgInfo.text(u.kernel, uintptr(i), kernelArgName)
		}
		if err == nil {
			p.Type, err = clGetKernelArgInfo.text(u.kernel, uintptr(i), kernelArgTypeName)
		}
		if err != nil {
			return nil, err
		}
		switch space {
		case addressGlobal, addressConstant:
			p.Kind = arguments.Pointer
			if strings.HasPrefix(p.Type, "image") { // an object of its own, in global memory
				p.Kind = 0
			}
		case addressLocal:
			p.Kind = arguments.LocalMemory
		default:
			p.Kind, p.Bytes = valueOf(p.Type)
		}
	}
	return all, nil
}

// scalars are the types of numbers, by their names in OpenCL C.
var scalars = map[string]struct {
	kind  arguments.Kind
	bytes int
}{
	"char": {arguments.Integer, 1}, "uchar": {arguments.Integer, 1}, "unsigned char": {arguments.Integer, 1},
	"short": {arguments.Integer, 2}, "ushort": {arguments.Integer, 2}, "unsigned short": {arguments.Integer, 2},
	"int": {arguments.Integer, 4}, "uint": {arguments.Integer, 4}, "unsigned int": {arguments.Integer, 4},
	"long": {arguments.Integer, 8}, "ulong": {arguments.Integer, 8}, "unsigned long": {arguments.Integer, 8},
	"half": {arguments.Struct, 2}, "float": {arguments.Float, 4}, "double": {arguments.Float, 8},
}

// valueOf returns the kinds of value for a parameter, by the name of its type: float4 is a
// struct of 16 bytes.
func valueOf(name string) (arguments.Kind, int) {
	if name == "sampler_t" {
		return 0, 0
	}
	if s, ok := scalars[name]; ok {
		return s.kind | arguments.Struct, s.bytes
	}
	for lanes, bytes := range map[string]int{"2": 2, "3": 4, "4": 4, "8": 8, "16": 16} {
		if s, ok := scalars[strings.TrimSuffix(name, lanes)]; ok {
			return arguments.Struct, bytes * s.bytes
		}
	}
	return arguments.ByValue, 0 // a type defined in the source, or a struct
}

// LaunchProgram queues a user's kernel.
func (s *stream) LaunchProgram(p gpu.Program, grid, block [3]uint32, values []gpu.Value, _ uint32) error {
	if err := s.driver.gone(); err != nil {
		return err
	}
	u := p.(*userKernel)
	if s.capture != nil {
		return s.capture.addProgram(u, grid, block, values)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.prepare(values); err != nil {
		return err
	}
	return u.launch(s, grid, block)
}

// prepare sets the arguments.
func (u *userKernel) prepare(values []gpu.Value) error {
	for i, v := range values {
		if err := u.set(i, &v); err != nil {
			return err
		}
	}
	return nil
}

// launch queues the kernel with the arguments that are set.
func (u *userKernel) launch(s *stream, grid, block [3]uint32) error {
	global, local := new([3]uintptr), new([3]uintptr)
	for i := range global {
		global[i], local[i] = uintptr(grid[i])*uintptr(block[i]), uintptr(block[i])
	}
	return clEnqueueNDRangeKernel.call(s.handle, u.kernel, 3, 0, uintptr(unsafe.Pointer(global)), uintptr(unsafe.Pointer(local)), 0, 0, 0)
}

// set sets an argument.
func (u *userKernel) set(i int, v *gpu.Value) error {
	switch {
	case v.Kind == arguments.LocalMemory:
		return clSetKernelArg.call(u.kernel, uintptr(i), uintptr(v.Local), 0)
	case v.Kind == arguments.Pointer:
		handle := new(uintptr)
		if m, ok := v.Mem.(*memory); ok {
			*handle = m.handle
		}
		return clSetKernelArg.call(u.kernel, uintptr(i), unsafe.Sizeof(*handle), uintptr(unsafe.Pointer(handle)))
	case len(v.Bytes) == 0:
		return layout.Errorf(device.ErrInvalid, "Launch", "argument for parameter %d has no bytes", i)
	}
	at := address(unsafe.SliceData(v.Bytes))
	err := clSetKernelArg.check(int32(dl.Call(clSetKernelArg.addr, u.kernel, uintptr(i), uintptr(len(v.Bytes)), at)))
	runtime.KeepAlive(v.Bytes)
	return err
}
