package cuda

import (
	"errors"
	"fmt"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// ErrLost means that a kernel in the device's context failed, possibly another library's, and
// destroyed the context, or that the context was destroyed otherwise. Every later call fails;
// the device can only be closed. Other devices are not affected.
var ErrLost = errors.New("the device's context is lost: all that is left is to close it")

// Codes of CUDA's driver that are handled.
const (
	codeInvalidValue   = 1
	codeOutOfMemory    = 2
	codeNoDevice       = 100
	codeInvalidImage   = 200
	codeInvalidContext = 201
	codeNoBinary       = 209
	codeNotReady       = 600
	codeNotSupported   = 801
)

// codeOf returns the code of a driver's error; 0 for another.
func codeOf(err error) int64 {
	var e *device.DriverError
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// lost are the codes after which a context is lost.
var lost = map[int64]bool{
	4:   true, // the driver is shutting down
	214: true, // uncorrectable ECC error
	220: true, // uncorrectable NVLink error
	700: true, // illegal address
	702: true, // launch timeout
	709: true, // context is destroyed
	710: true, // assert
	714: true, // hardware stack error
	715: true, // illegal instruction
	716: true, // misaligned address
	717: true, // invalid address space
	718: true, // invalid PC
	719: true, // launch failed
}

// driverError returns the error of a call's result.
func driverError(call string, code int64, name, log string) error {
	err := &device.DriverError{Call: call, Code: code, Name: name, Log: log}
	switch {
	case code == codeOutOfMemory:
		return fmt.Errorf("%w: %w", device.ErrOutOfMemory, err)
	case code == codeNotSupported:
		return fmt.Errorf("%w: %w", device.ErrUnsupported, err)
	// For other calls the error may refer to the context of another device.
	case lost[code], code == codeInvalidContext && call == "cuCtxSetCurrent":
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return err
}

// hints explain why the driver does not start, by the code of cuInit.
var hints = map[int64]string{
	34:  "the library is a stub, for linking only",
	46:  "another process has the GPU for itself, or it is just being reset",
	100: "it sees no GPU",
	101: "CUDA_VISIBLE_DEVICES names a GPU that is not there",
	304: "the system refuses: may this user open /dev/nvidia*?",
	802: "the system is not ready: is the fabric manager running?",
	803: "the library and the kernel module are of different versions",
	804: "the library is newer than the kernel module and this GPU allow",
	999: "the kernel module may not be loaded, or this user may not open /dev/nvidia-uvm",
}

// loadHints explain why modules are not loaded, by the code of cuModuleLoadDataEx.
var loadHints = map[int64]string{
	209: "this GPU has no kernel in the archive of cubins",
	218: "the driver's compiler of PTX refuses the kernel, or libnvidia-ptxjitcompiler is another driver's",
	221: "the driver's compiler of PTX is missing: libnvidia-ptxjitcompiler, in containers by NVIDIA_DRIVER_CAPABILITIES=compute,utility",
	222: "the driver is older than the kernels' PTX",
	223: "compilation of PTX is disabled: CUDA_DISABLE_PTX_JIT, or CUDA_FORCE_JIT=0",
	803: "the driver's library and its kernel module are of different versions",
}

// loadError is the error of cuModuleLoadDataEx.
func loadError(code int64, name, log string) error {
	err := driverError("cuModuleLoadDataEx", code, name, log)
	if hint := loadHints[code]; hint != "" {
		return fmt.Errorf("%s: %w", hint, err)
	}
	return err
}

// codeNames are those of codes that older drivers do not know.
var codeNames = map[int64]string{
	34: "CUDA_ERROR_STUB_LIBRARY", 46: "CUDA_ERROR_DEVICE_UNAVAILABLE", 221: "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
	222: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", 223: "CUDA_ERROR_JIT_COMPILATION_DISABLED", 802: "CUDA_ERROR_SYSTEM_NOT_READY",
	803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", 804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
}

// startError is the error of a driver that does not start.
func startError(name string, err error) error {
	hint := ""
	if text := hints[codeOf(err)]; text != "" {
		hint = " (" + text + ")"
	}
	if codeOf(err) == codeNoDevice { // it is there, and does not refuse
		return fmt.Errorf("%w: the NVIDIA driver %s does not start%s: %v", device.ErrNoDevice, name, hint, err)
	}
	return fmt.Errorf("%w: the NVIDIA driver %s does not start%s: %w", device.ErrNoDevice, name, hint, err)
}

// minVersion is the oldest driver version with all required functions: CUDA 11.0.
const minVersion = 11000

// checkVersion refuses a driver that is too old.
func checkVersion(name string, v int) error {
	if v >= minVersion {
		return nil
	}
	return fmt.Errorf("%w: %w: the NVIDIA driver %s is for CUDA %s; at least CUDA %s is needed", device.ErrNoDevice, device.ErrUnsupported,
		name, versionString(v), versionString(minVersion))
}

func versionString(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// errNoReplay is the error of captures with drivers that lack graphs.
var errNoReplay = layout.Errorf(device.ErrUnsupported, "Capture", "this driver cannot replay work: it is for a CUDA before 11.4")

// errNoParameters is the error for a cubin's kernel with drivers that do not report parameters.
var errNoParameters = layout.Errorf(device.ErrUnsupported, "Load", "this driver does not tell what parameters a cubin's kernel has: it is for a CUDA before 12.4; load PTX")

// text returns the C string in a slice.
func text(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}
