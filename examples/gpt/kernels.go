package main

import (
	_ "embed" // the kernels

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/cuda"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/opencl"
)

// The kernels: in OpenCL C, as the PTX that scripts/ptx.sh makes of that, and in Go
// (kernels_cpu.go).
var (
	//go:embed opencl.h
	openclWords string
	//go:embed kernels.cl
	source string
	//go:embed kernels.ptx
	ptx []byte
	//go:embed kernels16.ptx
	ptx16 []byte
)

const (
	blockSize    = 128 // work-items in a block
	blockRows    = 4   // of a product
	blockColumns = 4
)

type kernels map[string]device.Kernel

// loadKernels compiles the kernels for elements of a type. The device closes them.
func loadKernels(dev device.Device, dtype layout.DType) (kernels, error) {
	image, options := ptx, ""
	if dtype == layout.Float16 {
		image, options = ptx16, "-DHALF"
	}
	all := kernels{}
	for name, f := range kernelFuncs {
		var k device.Kernel
		var err error
		if d, ok := device.As[*opencl.Device](dev); ok {
			k, err = d.Compile(openclWords+source, name, options)
		} else if d, ok := device.As[*cuda.Device](dev); ok {
			k, err = d.Load(image, name)
		} else if dtype == layout.Float32 {
			k, err = cpu.Kernel(name, f)
		} else {
			err = layout.Errorf(device.ErrUnsupported, "gpt", "there are no kernels for %v on %s", dtype, dev.Info().ID())
		}
		if err != nil {
			return nil, err
		}
		all[name] = k
	}
	return all, nil
}
