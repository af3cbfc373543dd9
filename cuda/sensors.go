package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
)

// Readings returns the values of the GPU's sensors (see device.Sensors), from NVML, a library
// that comes with the driver. For a part of a GPU (MIG), they are the whole GPU's.
func (d *Device) Readings() device.Readings {
	d.driver.sensorsOnce.Do(func() { d.driver.sensors = openNVML().sensors(d.driver.bus) })
	return d.driver.sensors.read()
}

// nvml is NVIDIA's management library, any part of which may be missing. nil has no sensors.
type nvml struct {
	handle, clock, temperature, power, reasons uintptr // functions; 0: missing
}

// openNVML finds the library, once.
var openNVML = sync.OnceValue(loadNVML)

// loadNVML looks first in the folder of the driver, if RESTRIDE_LIBCUDA names one.
func loadNVML() *nvml {
	name := "libnvidia-ml.so.1"
	if runtime.GOOS == "windows" {
		name = "nvml.dll"
	}
	names := []string{name}
	if driver := os.Getenv("RESTRIDE_LIBCUDA"); filepath.Base(driver) != driver {
		names = []string{filepath.Join(filepath.Dir(driver), name), name}
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil
	}
	find := func(names ...string) uintptr {
		for _, name := range names {
			if at, err := lib.Lookup(name); err == nil {
				return at
			}
		}
		return 0
	}
	start := find("nvmlInit_v2")
	if start == 0 || int32(dl.Call(start)) != 0 {
		return nil
	}
	return &nvml{
		handle:      find("nvmlDeviceGetHandleByPciBusId_v2"),
		clock:       find("nvmlDeviceGetClockInfo"),
		temperature: find("nvmlDeviceGetTemperature"),
		power:       find("nvmlDeviceGetPowerUsage"),
		reasons:     find("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"), // its name until 2023
	}
}

// sensors are the sensors of a GPU, found by its PCI address. Its number may differ, as
// CUDA_VISIBLE_DEVICES renumbers the devices of CUDA alone, and so may its name, where CUDA's
// device is a part of a GPU (MIG). The zero sensors read nothing.
type sensors struct {
	lib    *nvml
	handle uintptr // nvmlDevice_t
}

func (l *nvml) sensors(bus string) sensors {
	if l == nil || l.handle == 0 || bus == "" {
		return sensors{}
	}
	text, handle := append([]byte(bus), 0), new(uintptr)
	if int32(dl.Call(l.handle, uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(handle)))) != 0 {
		return sensors{}
	}
	return sensors{l, *handle}
}

// Arguments of NVML's functions.
const (
	clockCores  = 1 // of the multiprocessors
	clockMemory = 2
	sensorGPU   = 0
)

func (s sensors) read() (r device.Readings) {
	if s.lib == nil {
		return r
	}
	r.MHz = int(s.ask(s.lib.clock, clockCores))
	r.MemoryMHz = int(s.ask(s.lib.clock, clockMemory))
	r.Celsius = int(s.ask(s.lib.temperature, sensorGPU))
	milliwatts, mask := new(uint32), new(uint64)
	if s.lib.power != 0 && int32(dl.Call(s.lib.power, s.handle, uintptr(unsafe.Pointer(milliwatts)))) == 0 {
		r.Watts = float64(*milliwatts) / 1000
	}
	if s.lib.reasons != 0 && int32(dl.Call(s.lib.reasons, s.handle, uintptr(unsafe.Pointer(mask)))) == 0 {
		r.HeldBack = heldBack(*mask)
	}
	return r
}

// ask calls a function whose result is a number of 32 bits; 0 if it fails.
func (s sensors) ask(function, which uintptr) uint32 {
	value := new(uint32)
	if function == 0 || int32(dl.Call(function, s.handle, which, uintptr(unsafe.Pointer(value)))) != 0 {
		return 0
	}
	return *value
}

// reasonIdle means that no load needs a higher clock.
const reasonIdle = 1

// reasons are the names of NVML's bits.
var reasons = []string{
	"", "clocks that were set", "power cap", "slowdown by the hardware", "another GPU's clocks (sync boost)",
	"heat (by the driver)", "heat (by the hardware)", "power brake", "clocks that were set for a display",
}

// heldBack returns the names of the reasons in a mask.
func heldBack(mask uint64) []string {
	names := []string{}
	for bit := range 64 {
		switch one := uint64(1) << bit; {
		case mask&one == 0 || one == reasonIdle:
		case bit < len(reasons):
			names = append(names, reasons[bit])
		default:
			names = append(names, fmt.Sprintf("reason %#x", one))
		}
	}
	return names
}
