//go:build linux && (amd64 || arm64)

package opencl_test

import (
	"fmt"

	"github.com/ebitengine/purego"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/opencl"
	"github.com/restride/restride/tensor"
)

// A program runs a kernel of its own between operations on tensors: on their memory and on
// their queue, without waits and copies.
func Example_interop() {
	dev, err := opencl.OpenWith(0, opencl.Options{})
	must(err)
	fmt.Println(doubleColumns(dev)) // [2 8 4 10 6 12]
	must(dev.Close())
}

const source = `
	kernel void twice(global const float *src, global float *dst) {
		dst[get_global_id(0)] = 2 * src[get_global_id(0)];
	}`

// doubleColumns returns a matrix times two, column by column.
func doubleColumns(dev *opencl.Device) []float32 {
	s, err := tensor.NewStream(dev)
	must(err)
	x, err := tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	must(err)
	columns, err := x.Transpose(1, 0)
	must(err)
	y, err := columns.Reshape(6) // a copy, by a kernel of Restride
	must(err)
	z, err := tensor.New(s, layout.Float32, 6)
	must(err)

	// The program's kernel comes after the copy and before the transfer below: it is
	// on the same command queue.
	h := dev.Handles()
	kernel, release := build(h.Context, h.Device, source, "twice")
	for i, t := range []*tensor.Tensor{y, z} { // both dense, from element 0 of their buffers
		memory := dev.HandleOf(t.Buffer())
		check(cl.setKernelArg(kernel, uint32(i), 8, &memory))
	}
	items := uintptr(6)
	check(cl.enqueue(opencl.CommandQueueOf(s.Queue()), kernel, 1, nil, &items, nil, 0, nil, nil))

	// Restride knows nothing of that kernel: MarkUsed says what it uses. Now y may be
	// released at once, and its memory serves others only when the kernel is done.
	sharer, _ := device.As[device.Sharer](s.Queue())
	must(sharer.MarkUsed(y.Buffer(), z.Buffer()))
	must(y.Release())

	values, err := tensor.Values[float32](z)
	must(err)
	release()
	for _, t := range []*tensor.Tensor{x, columns, z} {
		must(t.Release())
	}
	must(s.Close())
	return values
}

// cl is the program's own binding to OpenCL: any binding will do.
var cl struct {
	createProgram  func(context uintptr, n uint32, texts **byte, lengths *uintptr, code *int32) uintptr
	buildProgram   func(program uintptr, n uint32, devices *uintptr, options string, notify, data uintptr) int32
	createKernel   func(program uintptr, name string, code *int32) uintptr
	setKernelArg   func(kernel uintptr, index uint32, size uintptr, value *uintptr) int32
	enqueue        func(queue, kernel uintptr, dims uint32, offset, global, local *uintptr, n uint32, waits, event *uintptr) int32
	releaseKernel  func(kernel uintptr) int32
	releaseProgram func(program uintptr) int32
}

// build compiles a kernel.
func build(context, device uintptr, source, name string) (kernel uintptr, release func()) {
	library, err := purego.Dlopen("libOpenCL.so.1", purego.RTLD_NOW)
	must(err)
	for name, f := range map[string]any{
		"clCreateProgramWithSource": &cl.createProgram,
		"clBuildProgram":            &cl.buildProgram,
		"clCreateKernel":            &cl.createKernel,
		"clSetKernelArg":            &cl.setKernelArg,
		"clEnqueueNDRangeKernel":    &cl.enqueue,
		"clReleaseKernel":           &cl.releaseKernel,
		"clReleaseProgram":          &cl.releaseProgram,
	} {
		purego.RegisterLibFunc(f, library, name)
	}
	var code int32
	text, length := &[]byte(source)[0], uintptr(len(source))
	program := cl.createProgram(context, 1, &text, &length, &code)
	check(code)
	check(cl.buildProgram(program, 1, &device, "", 0, 0))
	kernel = cl.createKernel(program, name, &code)
	check(code)
	return kernel, func() {
		check(cl.releaseKernel(kernel))
		check(cl.releaseProgram(program))
	}
}

func check(code int32) {
	if code != 0 {
		panic(fmt.Sprint("OpenCL: code ", code))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
