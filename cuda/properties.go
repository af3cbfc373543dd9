package cuda

import (
	"fmt"

	"github.com/restride/restride/device"
)

// properties are the driver's description of a device.
type properties struct {
	name         string
	memory       int64
	major, minor int    // compute capability
	units        int    // multiprocessors; 0: unknown
	pools        bool   // memory can be allocated in the order of a stream
	clock        int    // kHz; 0: unknown
	bus          string // the PCI address in NVML's form; "": unknown
}

// pciAddress returns a device's PCI address: domain, bus, device and function 0; "" if the
// driver does not report it.
func pciAddress(attribute func(code int) (int, error)) string {
	var address [3]int
	for i, code := range []int{50, 33, 34} { // CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, .._BUS_ID, .._DEVICE_ID
		var err error
		if address[i], err = attribute(code); err != nil {
			return ""
		}
	}
	return fmt.Sprintf("%08x:%02x:%02x.0", address[0], address[1], address[2])
}

// minCapability is the oldest compute capability that the kernels are built for.
const minCapability = 70

// usable returns the properties of a device, or the reason why it is unusable.
func usable(a api, ordinal int) (properties, device.Info, error) {
	p, err := a.properties(ordinal)
	if err != nil {
		return properties{}, device.Info{}, err
	}
	if p.major*10+p.minor < minCapability {
		return properties{}, device.Info{}, fmt.Errorf("%w: cuda:%d, %s, has compute capability %d.%d; the kernels need %d.%d",
			device.ErrUnsupported, ordinal, p.name, p.major, p.minor, minCapability/10, minCapability%10)
	}
	v, err := a.version()
	return p, device.Info{
		Backend: "cuda", Index: ordinal, Name: p.name, Vendor: "NVIDIA", Kind: device.GPU,
		Driver: fmt.Sprintf("CUDA %s, compute capability %d.%d", versionString(v), p.major, p.minor),
		Memory: p.memory, MHz: max(p.clock, 0) / 1000, MaxAlloc: p.memory &^ 15,
	}, err
}
