// Command opencl scales a strided view by an OpenCL kernel of its own.
package main

import (
	"fmt"
	"log"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/opencl"
	"github.com/restride/restride/tensor"
)

const source = `kernel void scale(global float *y, float by, global const float *x,
	long offset, long rows, long columns, long down, long right) {
	size_t i = get_global_id(0), j = get_global_id(1);
	y[i * columns + j] = by * x[offset + i * down + j * right];
}`

func main() {
	s := must(tensor.Open("opencl"))
	defer s.Close()
	scale := must(s.Device().(*opencl.Device).Compile(source, "scale", ""))
	x := must(tensor.FromSlice(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3))
	defer x.Release()
	view := must(x.Transpose()) // [3,2]: no bytes move
	defer view.Release()
	y := must(tensor.Empty(s, layout.Float32, 3, 2))
	defer y.Release()
	grid, block := device.Dim3{3, 2}, device.Dim3{1}
	if err := s.Launch(scale, grid, block, y, float32(10), device.Strided(view)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(y) // waits for the kernel
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
