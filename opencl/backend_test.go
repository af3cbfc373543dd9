package opencl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/opencl"
)

func TestInfo(t *testing.T) {
	infos := listed(t)
	for i, info := range infos {
		t.Logf("%+v", info)
		assert.Equal(t, i, info.Index)
		assert.NotEmpty(t, info.Vendor)
		assert.NotEmpty(t, info.Driver)
		assert.NotContains(t, info.Name+info.Vendor+info.Driver, "\x00")
		assert.Positive(t, info.Memory)
		assert.Positive(t, info.MaxAlloc)
		assert.Zero(t, info.MaxAlloc%16)
		assert.False(t, info.Strings)
	}
	assert.Equal(t, infos, listed(t))

	for _, index := range []int{-1, len(infos), 1 << 30} {
		dev, err := opencl.OpenWith(index, opencl.Options{})
		assert.Nil(t, dev)
		require.ErrorIs(t, err, device.ErrNoDevice)
		assert.NotContains(t, err.Error(), "\n")
	}
	_, err := opencl.OpenWith(0, opencl.Options{Planner: "vector"})
	require.ErrorIs(t, err, device.ErrInvalid)
	t.Setenv("RESTRIDE_OPENCL_PLANNER", "clever")
	_, err = opencl.OpenWith(0, opencl.Options{})
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.ErrorContains(t, err, "clever")
	dev, err := opencl.OpenWith(0, opencl.Options{Planner: opencl.Serial})
	require.NoError(t, err, "what the program says counts")
	require.NoError(t, dev.Close())
}

// TestNoDevices runs this test again in environments without a driver or device: the error is
// one line, and the machine's other devices work.
func TestNoDevices(t *testing.T) {
	if os.Getenv("RESTRIDE_TEST_NOTHING") != "" {
		t.Setenv("RESTRIDE_REQUIRE", "")
		dev, err := device.Open("opencl")
		require.ErrorIs(t, err, device.ErrNoDevice)
		require.Nil(t, dev)
		t.Logf("reason: %v", err)
		require.NotContains(t, err.Error(), "\n")
		infos, err := device.List()
		require.ErrorIs(t, err, device.ErrNoDevice)
		require.Len(t, infos, 1)
		if os.Getenv("RESTRIDE_LIBOPENCL") != "" {
			_, err = opencl.Adopt(opencl.Handles{Context: 1, Device: 1}, opencl.Options{})
			require.ErrorIs(t, err, device.ErrNoDevice)
		}
		auto, err := device.Open("auto")
		require.NoError(t, err)
		assert.Equal(t, "cpu", auto.Info().ID())
		listed(t) // skips the test
		return
	}
	junk := filepath.Join(t.TempDir(), "junk.so")
	require.NoError(t, os.WriteFile(junk, []byte("no library"), 0o600))
	for name, env := range map[string]string{
		"NoLibrary":    "RESTRIDE_LIBOPENCL=/no/such/library.so",
		"NotALibrary":  "RESTRIDE_LIBOPENCL=" + junk,
		"OtherLibrary": "RESTRIDE_LIBOPENCL=libc.so.6",
		"NoDriver":     "OCL_ICD_VENDORS=" + t.TempDir(),
		"BadDriver":    "OCL_ICD_VENDORS=" + junk,
		"NoCache":      "POCL_CACHE_DIR=/dev/null/cache", // of PoCL
	} {
		t.Run(name, func(t *testing.T) {
			_, err := device.Open("opencl")
			devicetest.Require(t, "opencl", err) // the loader may not be ocl-icd
			cmd := exec.Command(os.Args[0], "-test.run=^TestNoDevices$", "-test.v")
			cmd.Env = append(os.Environ(), "RESTRIDE_TEST_NOTHING=1", "RUSTICL_ENABLE=", env)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Contains(t, string(out), "--- SKIP")
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "reason:") {
					t.Log(strings.TrimSpace(line))
				}
			}
		})
	}
}
