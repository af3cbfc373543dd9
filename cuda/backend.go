package cuda

import (
	"errors"
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/engine"
)

func init() { device.Register(backend{}) }

type backend struct{}

func (backend) Name() string { return "cuda" }

// List returns the GPUs that the driver sees. The driver is loaded by the first
// call.
func (backend) List() ([]device.Info, error) {
	drv, err := openDriver()
	if err != nil {
		return nil, err
	}
	n, err := drv.deviceCount()
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: the NVIDIA driver (%s) sees no GPU", device.ErrNoDevice, drv.name())
	}
	var all []device.Info
	for i := range n {
		info, infoErr := infoOf(drv, i)
		if infoErr != nil {
			err = errors.Join(err, infoErr)
			continue
		}
		all = append(all, info)
	}
	return all, err
}

func (backend) Open(index int) (device.Device, error) {
	drv, err := openDriver()
	if err != nil {
		return nil, err
	}
	n, err := drv.deviceCount()
	if err != nil {
		return nil, err
	}
	if index >= n {
		return nil, fmt.Errorf("%w: the NVIDIA driver sees %d, not %d", device.ErrNoDevice, n, index+1)
	}
	g, err := openGPU(drv, index)
	if err != nil {
		return nil, err
	}
	return engine.New(g), nil
}

func infoOf(drv driver, ordinal int) (device.Info, error) {
	f, err := drv.describe(ordinal)
	if err != nil {
		return device.Info{}, err
	}
	v, err := drv.version()
	if err != nil {
		return device.Info{}, err
	}
	return device.Info{
		Backend: "cuda", Index: ordinal, Name: f.name, Vendor: "NVIDIA", Kind: device.GPU,
		Driver: fmt.Sprintf("CUDA %s, compute capability %d.%d", versionString(v), f.major, f.minor),
		Memory: f.memory, MaxAlloc: f.memory,
	}, nil
}
