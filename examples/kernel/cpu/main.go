// Command cpu scales a strided view by a kernel that is a Go function.
package main

import (
	"fmt"
	"log"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func scale(y []float32, by float32, x []float32, offset, rows, columns, down, right int) func(cpu.Block) {
	return func(b cpu.Block) { // of one thread
		i, j := b.At[0], b.At[1]
		y[i*columns+j] = by * x[offset+i*down+j*right]
	}
}

func main() {
	s := must(tensor.Open("cpu"))
	defer s.Close()
	scale := must(cpu.Kernel("scale", scale))
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
	fmt.Println(y)
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
