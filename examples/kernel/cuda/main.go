// Command cuda scales a strided view by a CUDA kernel of its own.
package main

import (
	_ "embed" // scale.ptx
	"fmt"
	"log"

	"github.com/restride/restride/cuda"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// What clang makes of scale.cu; nvcc --ptx does, too.
//
//go:embed scale.ptx
var ptx []byte

func main() {
	s := must(tensor.Open("cuda"))
	defer s.Close()
	scale := must(s.Device().(*cuda.Device).Load(ptx, "scale"))
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
