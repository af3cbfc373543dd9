//go:build gorgonia

package cuda_test

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/restride/restride/cuda"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// A program that has a context, a stream and memory of gorgonia.org/cu transposes
// a matrix in that memory, on that stream.
func ExampleAdoptCU() {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	// The program's own.
	gpu, err := cu.GetDevice(0)
	must(err)
	ctx, err := gpu.MakeContext(cu.SchedAuto)
	must(err)
	must(ctx.Lock())
	stream, err := cu.MakeStream(cu.NonBlocking)
	must(err)
	memory, err := cu.MemAlloc(24)
	must(err)
	host := []float32{1, 2, 3, 4, 5, 6}
	must(cu.MemcpyHtoDAsync(memory, unsafe.Pointer(&host[0]), 24, stream))

	// The same objects, adopted: without copies, and without ownership.
	dev, err := cuda.AdoptCU(ctx, cuda.Options{})
	must(err)
	q, err := dev.AdoptCUStream(stream)
	must(err)
	s := tensor.Adopt(dev, q)
	b, err := dev.AdoptDevicePtr(memory, 24)
	must(err)
	l, err := layout.Strided([]int64{2, 3}, []int64{3, 1}, 0)
	must(err)
	x, err := tensor.OwnBuffer(s, b, layout.Float32, l)
	must(err)
	view, err := x.Transpose(1, 0)
	must(err)
	y, err := view.Reshape(6) // a copy, by a kernel on the stream
	must(err)

	// The result, for the program's own kernels.
	result := cuda.DevicePtrOf(y.Buffer())
	must(cu.MemcpyDtoHAsync(unsafe.Pointer(&host[0]), result, 24, stream))
	must(q.(device.Sharer).MarkUsed(y.Buffer()))
	must(stream.Synchronize())
	fmt.Println(host)

	for _, t := range []*tensor.Tensor{y, view, x} {
		must(t.Release())
	}
	must(s.Close())
	must(dev.Close())
	must(cu.MemFree(memory))
	must(stream.Destroy())
	must(ctx.Unlock())
	must(ctx.Destroy())
	// Output: [1 4 2 5 3 6]
}
