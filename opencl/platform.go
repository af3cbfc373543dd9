package opencl

import (
	"fmt"
	"strings"
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/kernels"
)

// processor is a device as its driver describes it.
type processor struct {
	platform, id uintptr
	info         device.Info
	version      string // of OpenCL
	groupSize    uint64 // the most work-items in a group
	onHost       bool   // it is the host's processor, and its memory is the host's
	hugePages    bool   // it runs best on huge pages of our own
	profiling    bool   // its queues keep time
	loops        bool   // it runs long loops to their end
	forgetful    bool   // clFinish waits only for what was not flushed before
	late         bool   // it compiles a program once for the first launch, and once for its binary
}

// machine is what the machine's drivers have, in their order.
type machine struct {
	usable  []processor
	skipped []string // platforms and devices that are of no use, with the reason
	err     error
}

// devices asks the drivers, once: their devices do not come and go.
var devices = sync.OnceValue(func() (m machine) {
	if m.err = load(); m.err != nil {
		return m
	}
	platforms, err := clGetPlatformIDs.list()
	if isCode(err, platformNotFound) || err == nil && len(platforms) == 0 {
		m.err = noDevice("the OpenCL library finds no driver (%s gives no platform)", clGetPlatformIDs.name)
		return m
	}
	if err != nil {
		m.err = err
		return m
	}
	for _, p := range platforms {
		m.add(p)
	}
	if len(m.usable) == 0 {
		m.err = noDevice("%s", strings.Join(m.skipped, "; "))
	}
	return m
})

// add adds a platform's devices.
func (m *machine) add(platform uintptr) {
	name, err := clGetPlatformInfo.text(platform, platformName)
	if err != nil {
		name = "a platform"
	}
	ids, err := clGetDeviceIDs.list(platform, typeAll)
	switch {
	case isCode(err, deviceNotFound) || err == nil && len(ids) == 0:
		m.skipped = append(m.skipped, name+" has no devices")
		return
	case err != nil:
		m.skipped = append(m.skipped, fmt.Sprintf("%s: %v", name, err))
		return
	}
	for _, id := range ids {
		p, err := describe(platform, id)
		if err != nil {
			m.skipped = append(m.skipped, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		p.info.Index = len(m.usable)
		m.usable = append(m.usable, p)
	}
}

// describe asks a driver about a device. The error says why it is of no use.
func describe(platform, id uintptr) (processor, error) {
	p := processor{platform: platform, id: id}
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
	p.version = text(deviceVersion)
	little, available, compiler := number(deviceEndianLittle), number(deviceAvailable), number(deviceCompilerAvailable)
	for _, err := range errs {
		if err != nil {
			return p, err
		}
	}
	// What a driver may not know any more is taken for a no.
	unified, _ := clGetDeviceInfo.number(id, deviceHostUnifiedMemory)
	resolution, _ := clGetDeviceInfo.number(id, deviceTimerResolution)
	clock, _ := clGetDeviceInfo.number(id, deviceMaxClock)
	p.info.MHz = int(min(clock, 1<<20))
	properties, _ := clGetDeviceInfo.number(id, deviceQueueProperties)
	p.onHost = unified == yes && p.info.Kind == device.CPU
	p.profiling = properties&profilingEnable != 0 && resolution > 0 // rusticl's clock has none, and stands still

	// PoCL's own memory is on small pages. (A contiguous copy of 64 MiB takes 0.65
	// of its time on huge ones, a transpose 0.8. Other drivers have not been
	// measured, and may copy memory that is not theirs.)
	pocl := strings.HasPrefix(p.info.Driver, "Portable Computing Language")
	p.hugePages = p.onHost && pocl
	// To compile twice at the first launch would take twice as long.
	p.late = pocl

	// In Mesa 22.3 clFinish returns at once where clFlush has sent all there was.
	p.forgetful = strings.HasPrefix(p.info.Driver, "rusticl")

	// llvmpipe, which is rusticl's processor, ends every loop of a work-item when
	// all of its loops have gone round 65536 times, and says nothing of it. Kernels
	// for work-groups of one work-item go round more often.
	p.loops = !strings.HasPrefix(p.info.Name, "llvmpipe")

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
	case p.info.Kind != device.CPU && p.groupSize < kernels.GroupSize:
		reason = fmt.Sprintf("has work-groups of at most %d work-items; %d are needed", p.groupSize, kernels.GroupSize)
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

// newEnough reports whether a version, as "OpenCL 3.0 ...", is 1.2 or later.
func newEnough(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "OpenCL %d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 1 || major == 1 && minor >= 2
}
