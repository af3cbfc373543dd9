//go:build gorgonia

package cuda

import (
	"gorgonia.org/cu"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// AdoptCU is [Adopt] for a context of gorgonia.org/cu, of any device. The context must live
// until the device is closed: the context of a *cu.Ctx is destroyed when the *cu.Ctx is
// garbage. It may be current on other threads, such as the *cu.Ctx's own.
func AdoptCU(ctx cu.CUContext, o Options) (*Device, error) {
	a, err := openAPI()
	if err != nil {
		return nil, err
	}
	h := Handles{Context: from(ctx)}
	if h.Context == 0 {
		return nil, layout.Errorf(device.ErrInvalid, "AdoptCU", "the context is nil")
	}
	if h.Ordinal, err = ordinalOf(a, cuContext(h.Context)); err != nil {
		return nil, err
	}
	return Adopt(h, o)
}

// AdoptDevicePtr is [Device.AdoptHandle] for memory of gorgonia.org/cu.
func (d *Device) AdoptDevicePtr(p cu.DevicePtr, bytes int64) (device.Buffer, error) {
	return d.AdoptHandle(uintptr(p), bytes, nil)
}

// AdoptCUStream is [Device.AdoptStream] for a stream of gorgonia.org/cu;
// cu.NoStream is the legacy default stream.
func (d *Device) AdoptCUStream(s cu.Stream) (device.Queue, error) {
	return d.AdoptStream(from(s))
}

// CUContext returns the device's context, as [Device.Handles] does.
func (d *Device) CUContext() cu.CUContext { return as[cu.CUContext](d.driver.ctx) }

// DevicePtrOf is [Device.HandleOf] for gorgonia.org/cu.
func DevicePtrOf(b device.Buffer) cu.DevicePtr { return cu.DevicePtr(handleOf(b)) }

// CUStreamOf is [StreamOf] for gorgonia.org/cu.
func CUStreamOf(q device.Queue) cu.Stream { return as[cu.Stream](StreamOf(q)) }
