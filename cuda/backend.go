package cuda

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
)

func init() { device.Register(backend{}) }

type backend struct{}

func (backend) Name() string { return "cuda" }

// List returns the GPUs that the driver sees; the error gives the reasons why others are
// unusable. The first call loads the driver.
func (backend) List() ([]device.Info, error) {
	a, err := openAPI()
	if err != nil {
		return nil, err
	}
	n, err := a.deviceCount()
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: the NVIDIA driver (%s) sees no GPU", device.ErrNoDevice, a.name())
	}
	var all []device.Info
	for i := range n {
		_, info, why := usable(a, i)
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

// Device is a CUDA device. It has the methods of device.Device, device.DriverCopier,
// device.GLSharer, device.HostAllocator, device.Preloader and device.Trimmer beside those below.
// Its queues are device.Allocator, AsyncQueue, KernelNamer, PeerQueue, Recorder and Sharer, too,
// and their events device.TimedEvent.
type Device struct {
	*gpu.Device
	driver *driver
}

// Options are options of a device. The zero Options suit most uses.
type Options struct {
	// PlainMemory allocates by cuMemAlloc, not from the device's own pool
	// (cuMemAllocFromPoolAsync): only the former can be shared with other processes and
	// devices. To free it, the driver waits for the device.
	PlainMemory bool
	// Kept is the most freed memory, in bytes, that the device's pool keeps for later
	// allocations instead of returning it to the system. 0: an eighth of the device's memory,
	// at most 1 GiB. Below 0: none.
	Kept int64
	// Cubins are compiled kernels, as make cubins puts them into an archive (which
	// zip.NewReader opens), and replace the compilation of PTX where they fit the GPU, the
	// driver and this version of the module. nil: the archive of a build with the tag cubins,
	// or none.
	Cubins fs.FS
}

// OpenWith opens the device with an index, with its primary context, which programs of
// CUDA's runtime API share.
func OpenWith(index int, o Options) (*Device, error) {
	a, err := openAPI()
	if err != nil {
		return nil, err
	}
	n, err := a.deviceCount()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= n {
		return nil, fmt.Errorf("%w: there is no CUDA device %d of %d", device.ErrNoDevice, index, n)
	}
	return newDevice(a, index, 0, o)
}

func newDevice(a api, ordinal int, ctx cuContext, o Options) (*Device, error) {
	d, err := newDriver(a, ordinal, ctx, o)
	if err != nil {
		return nil, err
	}
	return &Device{gpu.New(d), d}, nil
}
