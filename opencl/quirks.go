package opencl

import "strings"

// quirks are what some drivers do and others do not. All that depends on whose
// driver it is begins here; the code that works around a quirk names its field.
// What compilers get wrong is worked around in the kernels (kernels/source).
type quirks struct {
	// smallPages: PoCL takes memory on small pages, so that driver.Alloc brings its
	// own on huge ones: a contiguous copy of 64 MiB takes 0.65 of the time, a
	// transpose 0.8. Not measured with other drivers, which may copy memory that is
	// not theirs.
	smallPages bool
	// compilesTwice: PoCL compiles a program once for its first launch, and once for
	// its binary. The disk cache gets binaries when the device is closed: at the
	// first launch, compilation would take twice as long.
	compilesTwice bool
	// finishForgets: clFinish waits only for what has not been flushed, also by a wait for
	// one of the queue's events (rusticl of Mesa 22.3). stream.Finish waits for a marker's.
	finishForgets bool
	// cutsLoops: llvmpipe, which is rusticl's processor, ends every loop of a
	// work-item when all of its loops have gone round 65536 times, without an error.
	// The serial kernels, for work-groups of one work-item, go round more often; those of
	// the others that might are checked (internal/planner/rounds.go).
	cutsLoops bool
}

// mostRounds is when a device that cuts loops does.
const mostRounds = 1 << 16

// quirksOf knows drivers by the name of the platform, with which info.Driver
// begins, and by that of the device.
func quirksOf(driver, device string) quirks {
	pocl := strings.HasPrefix(driver, "Portable Computing Language")
	return quirks{
		smallPages:    pocl,
		compilesTwice: pocl,
		finishForgets: strings.HasPrefix(driver, "rusticl"),
		cutsLoops:     strings.HasPrefix(device, "llvmpipe"),
	}
}

// hasClock reports whether queues keep time. rusticl's say that they do, by a
// clock that stands still, whose resolution is 0.
func hasClock(properties, resolution uint64) bool {
	return properties&profilingEnable != 0 && resolution > 0
}

// failedKernel reports whether a code tells of a kernel that failed, as NVIDIA's
// driver does, and not of a want of memory.
func failedKernel(f *fn, code int32) bool {
	return code == outOfResources && (f == clFinish || f == clWaitForEvents)
}
