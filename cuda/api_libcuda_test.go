//go:build !gorgonia

package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/glcontext"
	"github.com/restride/restride/internal/gpu/gputest"
)

func gpuHere() bool {
	l, err := load(libraryNames()...)
	if err != nil {
		return false
	}
	_, _, err = usable(l, 0)
	return err == nil
}

// older is a driver without functions newer than CUDA 11.0.
func older(a api) api {
	old := *a.(*libcuda)
	old.memAllocAsync, old.memFreeAsync, old.captureBegin, old.graphInstantiate = 0, 0, 0, 0
	return &old
}

// A driver that does not start gives the reason, and a hint.
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
			_, err := load(libraryNames()...)
			require.ErrorIs(t, err, device.ErrNoDevice)
			t.Log(err)
			assert.NotContains(t, err.Error(), "\n")
			for _, w := range words {
				assert.ErrorContains(t, err, w)
			}
		})
	}
	k.turn(t, "DRIVER_VERSION", "10020")
	_, err := load(libraryNames()...)
	require.ErrorIs(t, err, device.ErrNoDevice)
	assert.ErrorContains(t, err, "is for CUDA 10.2; at least CUDA 11.0 is needed")
}

// TestNoDevices runs this test again in environments without a driver or device: the error is
// one line, and the machine's other devices work.
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

// stub builds a driver that has a version, and no other function.
func stub(t *testing.T, version int) string {
	t.Helper()
	_, err := exec.LookPath("g++")
	devicetest.Require(t, "compilers", err)
	source := filepath.Join(t.TempDir(), "stub.cpp")
	require.NoError(t, os.WriteFile(source, []byte(`
		extern "C" int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }
		extern "C" int cuGetErrorName(int, const char **) { return 1; }
	`), 0o600))
	out, err := exec.Command("g++", "-shared", "-fPIC", "-DVERSION="+strconv.Itoa(version), "-o", source+".so", source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return source + ".so"
}

// BenchmarkOverhead is this module's share of the time of a copy: the driver's functions are
// replaced by a function of the C library that does nothing. LaunchAlone is one call of that
// function with a launch's arguments.
func BenchmarkOverhead(b *testing.B) {
	lib, err := dl.Open("libc.so.6")
	if err != nil {
		b.Skip(err)
	}
	nothing, err := lib.Lookup("pthread_equal") // 0, as the first two arguments differ
	if err != nil {
		b.Skip(err)
	}
	dev := openTest(b)
	q := gputest.Queue(b, dev)
	dsts, src := gputest.Copies(b, dev)
	require.NoError(b, q.Copy(dsts[0], src))
	require.NoError(b, q.Wait())

	l := dev.driver.api.(*libcuda)
	launch, get := l.launchKernel, l.ctxGet
	l.launchKernel, l.ctxGet = nothing, nothing
	defer func() { l.launchKernel, l.ctxGet = launch, get }()
	b.Run("Copy", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if err := q.Copy(dsts[i&1], src); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("LaunchAlone", func(b *testing.B) {
		params := make([]unsafe.Pointer, 7)
		f := new(frame)
		b.ReportAllocs()
		for range b.N {
			if err := l.launch(f, 2, 1, 256, 0, params); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A driver without the functions that share memory with GL.
func TestNoGL(t *testing.T) {
	err := (&driver{api: newLibcuda(new(driverLibrary))}).CheckGL(glcontext.Context{})
	require.ErrorIs(t, err, device.ErrUnsupported)
	assert.ErrorContains(t, err, "this driver shares no memory with GL")
}
