package main

import (
	_ "embed" // the kernels

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/cuda"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/opencl"
)

// The kernels: in OpenCL C, and as the PTX that scripts/ptx.sh makes of that. kernelFuncs are
// the same in Go.
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
