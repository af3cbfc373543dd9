package opencl

import (
	"os/exec"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// quirks are peculiarities of some drivers. Everything that depends on the driver's vendor
// begins here; code that works around a quirk names its field. Compilers' errors are worked
// around in the kernels (kernels/source).
type quirks struct {
	// smallPages: PoCL allocates small pages, so driver.Alloc provides its own memory on huge
	// ones: a contiguous copy of 64 MiB takes 0.65 of the time, a transpose 0.8. Not measured
	// with other drivers, which may copy foreign memory.
	smallPages bool
	// compilesTwice: PoCL compiles a program once for its first launch, and once for
	// its binary. The disk cache gets binaries when the device is closed: at the first launch,
	// compilation would last twice as long.
	compilesTwice bool
	// finishForgets: clFinish waits only for work that has not been flushed, and a wait for one
	// of the queue's events flushes (rusticl of Mesa 22.3). stream.Finish waits for a marker's
	// event.
	finishForgets bool
	// runsLinker: PoCL runs ld, which it finds by PATH, and ends the process without it.
	runsLinker bool
	// cutsLoops: llvmpipe, rusticl's CPU driver, ends all loops of a work-item after a total of
	// 65536 iterations, without an error. The serial kernels, for work-groups of one work-item,
	// need more; other kernels that might are checked (internal/planner/rounds.go).
	cutsLoops bool
}

// mostRounds is the limit of a device that cuts loops.
const mostRounds = 1 << 16

// quirksOf knows drivers by the name of the platform, with which info.Driver
// begins, and by that of the device.
func quirksOf(driver, device string) quirks {
	pocl := isPoCL(driver)
	return quirks{
		smallPages:    pocl,
		compilesTwice: pocl,
		runsLinker:    pocl,
		finishForgets: strings.HasPrefix(driver, "rusticl"),
		cutsLoops:     strings.HasPrefix(device, "llvmpipe"),
	}
}

// isPoCL knows PoCL by the name of its platform.
func isPoCL(platform string) bool { return strings.HasPrefix(platform, "Portable Computing Language") }

// checkPrograms returns an error if a program is missing that the driver runs.
func (q quirks) checkPrograms() error {
	if !q.runsLinker {
		return nil
	}
	if _, err := exec.LookPath("ld"); err != nil {
		return layout.Errorf(device.ErrUnsupported, "Open", "PoCL links kernels by ld, which PATH does not have, and would end the process: %v", err)
	}
	return nil
}

// hasClock reports whether queues measure time. rusticl's claim to, but their clock, whose
// resolution is 0, stands still.
func hasClock(properties, resolution uint64) bool {
	return properties&profilingEnable != 0 && resolution > 0
}

// failedKernel reports whether a code means that a kernel failed, as with NVIDIA's driver, and
// not that memory is short.
func failedKernel(f *fn, code int32) bool {
	return code == outOfResources && (f == clFinish || f == clWaitForEvents)
}
