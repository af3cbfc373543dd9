package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
)

// A driver that does not start says why, and what may help.
func TestDriverDoesNotStart(t *testing.T) {
	k := simulated(t)
	for fail, words := range map[string][]string{
		"cuInit=100":             {"no device", "sees no GPU", "CUDA_ERROR_NO_DEVICE (100)"},
		"cuInit=101":             {"CUDA_VISIBLE_DEVICES"},
		"cuInit=304":             {"/dev/nvidia", "(304)"},
		"cuInit=802":             {"fabric manager"},
		"cuInit=803":             {"different versions"},
		"cuInit=999":             {"kernel module", "CUDA_ERROR_UNKNOWN (999)"},
		"cuInit=3":               {"CUDA_ERROR_NOT_INITIALIZED (3)"},
		"cuDriverGetVersion=999": {"cuDriverGetVersion"},
	} {
		t.Run(fail, func(t *testing.T) {
			k.turn(t, "FAIL", fail)
			_, err := load()
			require.ErrorIs(t, err, device.ErrNoDevice)
			t.Log(err)
			assert.NotContains(t, err.Error(), "\n")
			for _, w := range words {
				assert.ErrorContains(t, err, w)
			}
		})
	}
	k.turn(t, "DRIVER_VERSION", "10020")
	_, err := load()
	require.ErrorIs(t, err, device.ErrNoDevice)
	assert.ErrorContains(t, err, "is for CUDA 10.2; at least CUDA 11.0 is needed")
}

// TestNoDevices runs this test anew in environments where there is nothing to
// find: the reason is said in a line, and the machine's other devices are there.
func TestNoDevices(t *testing.T) {
	if os.Getenv(child) != "" {
		dev, err := device.Open("cuda")
		require.Error(t, err)
		require.Nil(t, dev)
		t.Logf("reason: %v", err)
		require.NotContains(t, err.Error(), "\n")
		infos, err := device.List()
		require.Error(t, err)
		require.Len(t, infos, 1)
		_, err = Adopt(Handles{Context: 1}, Options{})
		require.Error(t, err)
		auto, err := device.Open("auto")
		require.NoError(t, err)
		assert.Equal(t, "cpu", auto.Info().ID())
		return
	}
	openTest(t)
	for name, c := range map[string]struct{ env, word string }{
		"NoLibrary":    {library + "=/no/such/library.so", "there is no NVIDIA driver"},
		"NotALibrary":  {library + "=" + junk(t), "there is no NVIDIA driver"},
		"OtherLibrary": {library + "=libc.so.6", "libc.so.6 is no NVIDIA driver"},
		"OldDriver":    {library + "=" + stub(t, 10010), "is for CUDA 10.1; at least CUDA 11.0 is needed"},
		"PoorDriver":   {library + "=" + stub(t, 12040), "functions, cuInit among them"},
		"NoGPU":        {"RESTRIDE_SIM_DEVICES=0", "sees no GPU"},
		"OldGPU":       {"RESTRIDE_SIM_CAPABILITY=61", "compute capability 6.1; the kernels need 7.0"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := inChild(t, "^TestNoDevices$", c.env)
			require.NoError(t, err, "%s", out)
			reason := strings.Join(lines(out, "reason:"), "\n")
			assert.Contains(t, reason, c.word)
			t.Log(reason)
		})
	}
}

func junk(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "junk.so")
	require.NoError(t, os.WriteFile(path, []byte("no library"), 0o600))
	return path
}

// stub builds a driver that has a version, and nothing else.
func stub(t *testing.T, version int) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "stub.cpp")
	require.NoError(t, os.WriteFile(source, []byte(`
		extern "C" int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }
		extern "C" int cuGetErrorName(int, const char **) { return 1; }
	`), 0o600))
	out, err := exec.Command("g++", "-shared", "-fPIC", "-DVERSION="+strconv.Itoa(version), "-o", source+".so", source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return source + ".so"
}

// What a driver has only of late may be missing.
func TestOptionalFunctions(t *testing.T) {
	dev := openTest(t)
	old := *dev.g.drv.(*libcuda)
	old.memAllocAsync, old.memFreeAsync, old.captureBegin, old.graphInstantiate = 0, 0, 0, 0
	plain, err := open(&old, 0, 0, Options{})
	require.NoError(t, err)
	q, b := queueOf(t, plain), alloc(t, plain, 64)
	require.NoError(t, q.Fill(row(b, 0, 16), []byte{1, 2, 3, 4}))
	_, err = q.(device.Recorder).Capture(func() error { return nil })
	require.ErrorIs(t, err, device.ErrUnsupported)
	assert.ErrorContains(t, err, "11.4")
	assert.EqualValues(t, 0x04030201, words(t, q, b)[15])
	require.NoError(t, b.Free())
	require.NoError(t, plain.Close())
}

// A call of the driver that fails gives an error that names it; the device works
// when it does not fail any more.
func TestFailedCalls(t *testing.T) {
	k := simulated(t)
	for fail, c := range map[string]struct {
		call func(*Device, device.Queue, device.Buffer) error
		kind error
		word string
	}{
		"cuMemAllocAsync=2": {func(d *Device, _ device.Queue, _ device.Buffer) error {
			_, err := d.Alloc(1 << 20)
			return err
		}, device.ErrOutOfMemory, "1048576 bytes asked for"},
		"cuMemHostAlloc=2": {func(d *Device, _ device.Queue, _ device.Buffer) error {
			_, err := d.AllocHost(1 << 20)
			return err
		}, device.ErrOutOfMemory, "cuMemHostAlloc"},
		"cuStreamCreate=2": {func(d *Device, _ device.Queue, _ device.Buffer) error {
			_, err := d.NewQueue()
			return err
		}, device.ErrOutOfMemory, "cuStreamCreate"},
		"cuEventRecord=400": {func(_ *Device, q device.Queue, _ device.Buffer) error {
			_, err := q.Record()
			return err
		}, device.ErrDriver, "CUDA_ERROR_INVALID_HANDLE (400)"},
		"cuLaunchKernel=701":      {fillOne, device.ErrDriver, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"},
		"cuModuleLoadDataEx=222":  {fillOne, device.ErrDriver, "kernel fill_"},
		"cuModuleGetFunction=500": {fillOne, device.ErrDriver, "cuModuleGetFunction"},
		"cuMemcpyHtoDAsync=1":     {fillOne, device.ErrDriver, "cuMemcpyHtoDAsync"},
		"cuCtxGetCurrent=3":       {fillOne, device.ErrDriver, "cuCtxGetCurrent"},
		"cuMemcpyDtoHAsync=1": {func(_ *Device, q device.Queue, b device.Buffer) error {
			return q.Read(make([]byte, 4), b, 0)
		}, device.ErrDriver, "cuMemcpyDtoHAsync"},
		"cuStreamSynchronize=1": {func(_ *Device, q device.Queue, _ device.Buffer) error { return q.Wait() }, device.ErrDriver, "cuStreamSynchronize"},
		"cuGraphInstantiateWithFlags=1": {func(_ *Device, q device.Queue, _ device.Buffer) error {
			_, err := q.(device.Recorder).Capture(func() error { return nil })
			return err
		}, device.ErrDriver, "cuGraphInstantiate"},
		"cuStreamEndCapture=901": {func(_ *Device, q device.Queue, _ device.Buffer) error {
			_, err := q.(device.Recorder).Capture(func() error { return nil })
			return err
		}, device.ErrDriver, "cuStreamEndCapture"},
		"cuDevicePrimaryCtxRetain=2": {func(*Device, device.Queue, device.Buffer) error {
			_, err := OpenWith(0, Options{})
			return err
		}, device.ErrOutOfMemory, "cuDevicePrimaryCtxRetain"},
	} {
		t.Run(fail, func(t *testing.T) {
			before := k.counter("allocations")
			dev := openTest(t)
			q, b := queueOf(t, dev), alloc(t, dev, 64)
			k.turn(t, "FAIL", fail)
			err := c.call(dev, q, b)
			require.ErrorIs(t, err, c.kind)
			assert.ErrorContains(t, err, c.word)
			t.Log(err)
			k.turn(t, "FAIL", "")
			if strings.HasPrefix(fail, "cuStreamEndCapture") {
				_ = dev.Close() // the driver is still capturing
				return
			}
			require.NoError(t, c.call(dev, q, b))
			require.NoError(t, fillOne(dev, q, b))
			require.NoError(t, q.Wait())
			require.NoError(t, dev.Close())
			if !strings.Contains(fail, "Retain") {
				assert.Equal(t, before, k.counter("allocations"))
			}
		})
	}
}

func fillOne(_ *Device, q device.Queue, b device.Buffer) error {
	return q.Fill(row(b, 0, 16), []byte{1, 2, 3, 4})
}

// The default build has neither a C compiler's nor another package's driver.
func TestDefaultBuild(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{.Standard}} {{.Imports}}", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) {
		assert.NotContains(t, line, "gorgonia.org")
		if strings.HasPrefix(line, "github.com/restride/") {
			assert.NotRegexp(t, `[\[ ]C[\] ]`, line, "it uses cgo")
		}
	}
}
