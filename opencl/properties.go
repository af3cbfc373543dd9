package opencl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
)

// properties are the driver's description of a device.
type properties struct {
	platform, id uintptr
	info         device.Info
	version      string     // of OpenCL
	units        int        // a GPU's compute units; 0: unknown
	groupSize    uint64     // the most work-items in a group
	partAlign    int64      // of sub-buffers, in bytes
	atomics32    bool       // atomic operations have at most 32 bits
	onHost       bool       // the device is the host's processor, and its memory the host's
	hasClock     bool       // its queues measure time
	arithmetic   arithmetic // claimed by the device
	quirks
}

// propertiesOf queries a driver about a device. The error says why the device is unusable.
func propertiesOf(platform, id uintptr) (properties, error) {
	p := properties{platform: platform, id: id}
	var errs []error
	text := func(key uintptr) string {
		s, err := clGetDeviceInfo.text(id, key)
		errs = append(errs, err)
		return s
	}
	number := func(key uintptr) uint64 {
		n, err := clGetDeviceInfo.number(id, key)
		errs = append(errs, err)
		return n
	}
	of := func(key uintptr) string {
		s, err := clGetPlatformInfo.text(platform, key)
		errs = append(errs, err)
		return s
	}
	p.info = device.Info{
		Backend:  "opencl",
		Name:     text(deviceName),
		Vendor:   text(deviceVendor),
		Driver:   strings.Join([]string{of(platformName), of(platformVersion), "driver " + text(driverVersion)}, ", "),
		Kind:     kind(number(deviceType)),
		Memory:   int64(min(number(deviceGlobalMemSize), 1<<62)),
		MaxAlloc: int64(min(number(deviceMaxMemAllocSize), 1<<62)) &^ 15,
	}
	p.groupSize = number(deviceMaxWorkGroupSize)
	p.partAlign = int64(min(number(deviceMemBaseAddrAlign), 1<<20)) / 8
	p.version = text(deviceVersion)
	extensions := strings.Fields(text(deviceExtensions))
	p.atomics32 = !slices.Contains(extensions, "cl_khr_int64_base_atomics")
	little, available, compiler := number(deviceEndianLittle), number(deviceAvailable), number(deviceCompilerAvailable)
	for _, err := range errs {
		if err != nil {
			return p, err
		}
	}
	// If the driver no longer knows the query, the answer is no.
	unified, _ := clGetDeviceInfo.number(id, deviceHostUnifiedMemory)
	resolution, _ := clGetDeviceInfo.number(id, deviceTimerResolution)
	clock, _ := clGetDeviceInfo.number(id, deviceMaxClock)
	if p.info.Kind == device.GPU {
		units, _ := clGetDeviceInfo.number(id, deviceMaxComputeUnits)
		p.units = int(min(units, 1<<16))
	}
	single, _ := clGetDeviceInfo.number(id, deviceSingleFPConfig)
	double, _ := clGetDeviceInfo.number(id, deviceDoubleFPConfig)
	p.arithmetic = claimed(single, double, slices.Contains(extensions, "cl_khr_fp64"))
	queues, _ := clGetDeviceInfo.number(id, deviceQueueProperties)
	p.info.MHz = int(min(clock, 1<<20))
	p.onHost = unified == yes && p.info.Kind == device.CPU
	p.hasClock = hasClock(queues, resolution)
	p.quirks = quirksOf(p.info.Driver, p.info.Name)
	if p.info.Name == "" {
		p.info.Name = "a device without a name"
	}
	var reason string
	switch {
	case available != yes:
		reason = "is not available"
	case compiler != yes:
		reason = "has no compiler"
	case little != yes:
		reason = "is big-endian"
	case !newEnough(p.version):
		reason = fmt.Sprintf("has %q; OpenCL 1.2 is needed", p.version)
	case p.info.Kind != device.CPU && p.groupSize < planner.GroupSize:
		reason = fmt.Sprintf("has work-groups of at most %d work-items; %d are needed", p.groupSize, planner.GroupSize)
	default:
		return p, nil
	}
	return p, fmt.Errorf("%s %s", p.info.Name, reason)
}

func kind(deviceType uint64) device.Kind {
	switch {
	case deviceType&typeGPU != 0:
		return device.GPU
	case deviceType&typeCPU != 0:
		return device.CPU
	}
	return device.Accelerator
}

// newEnough reports whether a version, such as "OpenCL 3.0 ...", is 1.2 or later.
func newEnough(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "OpenCL %d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 1 || major == 1 && minor >= 2
}
