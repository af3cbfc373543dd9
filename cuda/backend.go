package cuda

import (
	"errors"
	"fmt"

	"github.com/restride/restride/device"
)

func init() { device.Register(backend{}) }

type backend struct{}

func (backend) Name() string { return "cuda" }

// List returns the GPUs that the driver sees, and says of others why they are of
// no use. The driver is loaded by the first call.
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
		_, info, why := usable(drv, i)
		if why != nil {
			err = errors.Join(err, why)
			continue
		}
		all = append(all, info)
	}
	return all, err
}

func (backend) Open(index int) (device.Device, error) {
	dev, err := OpenWith(index, Options{})
	if err != nil {
		return nil, err
	}
	return dev, nil
}
