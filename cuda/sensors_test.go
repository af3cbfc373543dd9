package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/cudasim"
	"github.com/restride/restride/internal/gpu/gputest"
)

// The readings of the simulated GPUs.
var told = device.Readings{MHz: 1980, MemoryMHz: 2619, Celsius: 41, Watts: 312.5, HeldBack: []string{}}

// Each device has its own sensors, and they work after it is closed: they belong to the
// hardware.
func TestReadings(t *testing.T) {
	if os.Getenv(child) == "" {
		out, err := inChild(t, "^TestReadings$", "RESTRIDE_SIM_DEVICES=2")
		require.NoError(t, err, "%s", out)
		return
	}
	for i, want := range []device.Readings{told, {MHz: 1965, MemoryMHz: 2618, Celsius: 42, Watts: 312.501, HeldBack: []string{}}} {
		dev, err := OpenWith(i, Options{})
		require.NoError(t, err)
		assert.Equal(t, want, device.Sensors(dev).Readings())
		require.NoError(t, dev.Close())
		assert.Equal(t, want, dev.Readings())
	}
}

// If one function fails, only its value is missing.
func TestReadingsNotTold(t *testing.T) {
	k := simulated(t)
	dev := openTest(t)
	require.Equal(t, told, dev.Readings())
	for fail, miss := range map[string]func(*device.Readings){
		"nvmlDeviceGetClockInfo=3":                  func(r *device.Readings) { r.MHz, r.MemoryMHz = 0, 0 },
		"nvmlDeviceGetClockInfo=3:after=1":          func(r *device.Readings) { r.MemoryMHz = 0 },
		"nvmlDeviceGetTemperature=999":              func(r *device.Readings) { r.Celsius = 0 },
		"nvmlDeviceGetPowerUsage=15":                func(r *device.Readings) { r.Watts = 0 },
		"nvmlDeviceGetCurrentClocksEventReasons=13": func(r *device.Readings) { r.HeldBack = nil },
	} {
		k.turn(t, "FAIL", fail)
		want := told
		miss(&want)
		assert.Equal(t, want, dev.Readings(), fail)
	}
	k.turn(t, "FAIL", "nvmlInit=9")
	assert.Nil(t, loadNVML())
	k.turn(t, "FAIL", "nvmlDeviceGetHandleByPciBusId=4")
	assert.Zero(t, loadNVML().sensors(dev.driver.bus).read())
	k.turn(t, "FAIL", "")
	for _, bus := range []string{"", "x", "0000fffe:03:00.0", "00000000:01:00.0"} {
		assert.Zero(t, loadNVML().sensors(bus).read(), bus)
	}
	assert.Equal(t, told, loadNVML().sensors(dev.driver.bus).read())
}

func TestHeldBack(t *testing.T) {
	k := simulated(t)
	dev := openTest(t)
	for mask, want := range map[string][]string{
		"0": {}, "1": {}, "5": {"power cap"}, "0x1f8": {
			"slowdown by the hardware", "another GPU's clocks (sync boost)", "heat (by the driver)", "heat (by the hardware)",
			"power brake", "clocks that were set for a display",
		},
		"2": {"clocks that were set"}, "0x8000000000000204": {"power cap", "reason 0x200", "reason 0x8000000000000000"},
	} {
		k.turn(t, "HELD", mask)
		assert.Equal(t, want, dev.Readings().HeldBack, mask)
	}
}

// TestPoorNVML runs this test again with a driver without NVML, and with an NVML that lacks
// functions or is not a library: none of this is an error.
func TestPoorNVML(t *testing.T) {
	if os.Getenv(child) != "" {
		dev := openTest(t)
		r := dev.Readings()
		t.Logf("readings: %#v", r)
		q := gputest.Queue(t, dev)
		require.NoError(t, q.Fill(gputest.Words(gputest.Alloc(t, dev, 64), 0, 16), []byte{1, 2, 3, 4}))
		require.NoError(t, q.Wait())
		return
	}
	openTest(t)
	const nothing = "{MHz:0, MemoryMHz:0, Celsius:0, Watts:0, HeldBack:[]string(nil)}"
	for name, c := range map[string]struct{ library, want string }{
		"None":     {"", nothing},
		"NoHandle": {"extern \"C\" int nvmlInit_v2() { return 0; }", nothing},
		"NoInit":   {"extern \"C\" int nvmlDeviceGetClockInfo(void *, int, unsigned *) { return 0; }", nothing},
		"Old": {`
			extern "C" int nvmlInit_v2() { return 0; }
			extern "C" int nvmlDeviceGetHandleByPciBusId_v2(const char *, void **device) { *device = device; return 0; }
			extern "C" int nvmlDeviceGetCurrentClocksThrottleReasons(void *, unsigned long long *mask) { *mask = 4; return 0; }
		`, "{MHz:0, MemoryMHz:0, Celsius:0, Watts:0, HeldBack:[]string{\"power cap\"}}"},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := cudasim.Path()
			devicetest.Require(t, "compilers", err)
			dir := t.TempDir()
			require.NoError(t, os.Symlink(path, filepath.Join(dir, "libcuda.so.1")))
			if c.library != "" {
				source := filepath.Join(t.TempDir(), "nvml.cpp")
				require.NoError(t, os.WriteFile(source, []byte(c.library), 0o600))
				out, err := exec.Command("g++", "-shared", "-fPIC", "-o", filepath.Join(dir, "libnvidia-ml.so.1"), source).CombinedOutput()
				require.NoError(t, err, "%s", out)
			}
			out, err := inChild(t, "^TestPoorNVML$", library+"="+filepath.Join(dir, "libcuda.so.1"), "LD_LIBRARY_PATH="+dir)
			require.NoError(t, err, "%s", out)
			assert.Contains(t, out, "readings: device.Readings"+c.want)
		})
	}
}
