package main

import (
	_ "embed" // the kernels
	"math"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/cuda"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/opencl"
)

// The kernels in OpenCL C, and as the PTX that scripts/ptx.sh makes of that. kernelFuncs has
// them in Go.
var (
	//go:embed opencl.h
	words string
	//go:embed kernels.cl
	source string
	//go:embed kernels.ptx
	ptx []byte
	//go:embed kernels16.ptx
	ptx16 []byte
)

// Work-items in a block; and of a product, rows and columns.
const blockSize, blockRows, blockColumns = 128, 4, 4

// loadKernels compiles the kernels for elements of a type. The device closes them.
func loadKernels(dev device.Device, dtype layout.DType) (map[string]device.Kernel, error) {
	image, options := ptx, ""
	if dtype == layout.Float16 {
		image, options = ptx16, "-DHALF"
	}
	all := map[string]device.Kernel{}
	for name, f := range kernelFuncs {
		var k device.Kernel
		var err error
		if d, ok := device.As[*opencl.Device](dev); ok {
			k, err = d.Compile(words+source, name, options)
		} else if d, ok := device.As[*cuda.Device](dev); ok {
			k, err = d.Load(image, name)
		} else if k, err = cpu.Kernel(name, f); dtype != layout.Float32 {
			err = layout.Errorf(device.ErrUnsupported, "gpt", "%s has no kernels for %v", dev.Info().ID(), dtype)
		}
		if err != nil {
			return nil, err
		}
		all[name] = k
	}
	return all, nil
}

// kernelFuncs are the kernels of kernels.cl in Go, and their names. A block has the same work.
var kernelFuncs = map[string]any{
	"matmul": matmul, "norm": norm, "gelu": gelu, "add": add, "advance": advance, "attention": attention, "argmax": argmax,
}

func matmul(y, x, w []float32, at, inner, columns, down, right, rows int) func(cpu.Block) {
	return func(b cpu.Block) {
		for c := b.At[0] * blockColumns; c < min(columns, (b.At[0]+1)*blockColumns); c++ {
			column := w[at+c*right:]
			for r := b.At[1] * blockRows; r < min(rows, (b.At[1]+1)*blockRows); r++ {
				row, sum := x[r*inner:][:inner], float32(0)
				if down == 1 {
					sum = dot(row, column[:inner])
				} else {
					for k, v := range row {
						sum += v * column[k*down]
					}
				}
				y[r*columns+c] = sum
			}
		}
	}
}

// dot has four sums, none of which waits for another.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + (s2 + s3)
}

func norm(y, x, scale []float32, width int, epsilon float32) func(cpu.Block) {
	return func(b cpu.Block) {
		x, y := x[b.At[0]*width:][:width], y[b.At[0]*width:]
		by := 1 / float32(math.Sqrt(float64(dot(x, x)/float32(width)+epsilon)))
		for i, v := range x {
			y[i] = v * by * scale[i]
		}
	}
}

// each returns a block's share of n elements.
func each(n int, f func(i int)) func(cpu.Block) {
	return func(b cpu.Block) {
		for i := b.At[0] * blockSize; i < min(n, (b.At[0]+1)*blockSize); i++ {
			f(i)
		}
	}
}

func gelu(y, x []float32, n int) func(cpu.Block) {
	return each(n, func(i int) {
		v := x[i]
		y[i] = v / (1 + exp(-1.5957691216*v*(1+0.044715*v*v)))
	})
}

func exp(x float32) float32 { return float32(math.Exp(float64(x))) }

func add(y, a, b []float32, n int) func(cpu.Block) {
	return each(n, func(i int) { y[i] = a[i] + b[i] })
}

func advance(y, x, by []int64, n int) func(cpu.Block) {
	return each(n, func(i int) { y[i] = x[i] + by[0] })
}

func attention(y,
	q []float32, qAt, _, heads, _, width, qByA, qByB, _, qByD int,
	k []float32, kAt, _, _, places, _, kByA, kByB, kByC, kByD int,
	v []float32, vAt, _, _, _, _, vByA, vByB, vByC, vByD int,
	lengths []int64, scale float32) func(cpu.Block) {
	return func(b cpu.Block) {
		head, sequence := b.At[0], b.At[1]
		query, mixed := q[qAt+sequence*qByA+head*qByB:], y[(sequence*heads+head)*width:][:width]
		keys, values := k[kAt+sequence*kByA+head*kByB:], v[vAt+sequence*vByA+head*vByB:]
		clear(mixed)
		most, sum := float32(math.Inf(-1)), float32(0)
		for j := range min(int(lengths[sequence]), places) {
			likeness := float32(0)
			for d := range width {
				likeness += scale * query[d*qByD] * keys[j*kByC+d*kByD]
			}
			weight := float32(1)
			if likeness > most {
				shrunk := exp(most - likeness)
				most, sum = likeness, sum*shrunk
				for d := range mixed {
					mixed[d] *= shrunk
				}
			} else {
				weight = exp(likeness - most)
			}
			sum += weight
			for d := range mixed {
				mixed[d] += weight * values[j*vByC+d*vByD]
			}
		}
		for d := range mixed {
			mixed[d] /= sum
		}
	}
}

func argmax(y []int64, x []float32, columns int) func(cpu.Block) {
	return func(b cpu.Block) {
		row, best := x[b.At[0]*columns:][:columns], 0
		for i, v := range row {
			if v > row[best] {
				best = i
			}
		}
		y[b.At[0]] = int64(best)
	}
}
