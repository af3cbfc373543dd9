package cuda

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/gpu/gputest"
)

// Functions that only recent drivers have may be missing.
func TestOptionalFunctions(t *testing.T) {
	dev := openTest(t)
	plain, err := newDevice(older(dev.driver.api), 0, 0, Options{})
	require.NoError(t, err)
	q, b := gputest.Queue(t, plain), gputest.Alloc(t, plain, 64)
	require.NoError(t, q.Fill(gputest.Words(b, 0, 16), []byte{1, 2, 3, 4}))
	_, err = q.Capture(func() error { return nil })
	require.ErrorIs(t, err, device.ErrUnsupported)
	assert.ErrorContains(t, err, "11.4")
	assert.EqualValues(t, 0x04030201, words(t, q, b)[15])
	require.NoError(t, b.Free())
	require.NoError(t, plain.Close())
}

// A failing call of the driver gives an error that names it; the device works again when the
// call does.
func TestFailedCalls(t *testing.T) {
	k := simulated(t)
	for fail, c := range map[string]struct {
		call func(*Device, device.Queue, device.Buffer) error
		kind error
		word string
	}{
		"cuMemAllocFromPoolAsync=2": {func(d *Device, _ device.Queue, _ device.Buffer) error {
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
		"cuModuleLoadDataEx=221":  {fillOne, device.ErrDriver, "the driver's compiler of PTX is missing: libnvidia-ptxjitcompiler"},
		"cuModuleLoadDataEx=803":  {fillOne, device.ErrDriver, "different versions"},
		"cuModuleGetFunction=500": {fillOne, device.ErrDriver, "cuModuleGetFunction"},
		"cuMemcpyHtoDAsync=1": {func(_ *Device, q device.Queue, b device.Buffer) error {
			return q.Write(b, 0, make([]byte, 4))
		}, device.ErrDriver, "cuMemcpyHtoDAsync"},
		"cuCtxGetCurrent=3": {fillOne, device.ErrDriver, "cuCtxGetCurrent"},
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
			dev, err := OpenWith(0, Options{})
			if err != nil {
				return err
			}
			return dev.Close() // otherwise its context would be that of later tests
		}, device.ErrOutOfMemory, "cuDevicePrimaryCtxRetain"},
	} {
		t.Run(fail, func(t *testing.T) {
			before := k.Count("allocations")
			dev := openTest(t)
			q, b := gputest.Queue(t, dev), gputest.Alloc(t, dev, 64)
			endCapture := strings.HasPrefix(fail, "cuStreamEndCapture")
			if endCapture { // with nothing in flight: Close cannot wait for a stream that still captures
				require.NoError(t, c.call(dev, q, b))
				require.NoError(t, q.Wait())
			}
			k.turn(t, "FAIL", fail)
			err := c.call(dev, q, b)
			require.ErrorIs(t, err, c.kind)
			assert.ErrorContains(t, err, c.word)
			t.Log(err)
			k.turn(t, "FAIL", "")
			if endCapture {
				_ = dev.Close() // the driver is still capturing
				return
			}
			require.NoError(t, c.call(dev, q, b))
			require.NoError(t, fillOne(dev, q, b))
			require.NoError(t, q.Wait())
			require.NoError(t, dev.Close())
			if !strings.Contains(fail, "Retain") {
				assert.Equal(t, before, k.Count("allocations"))
			}
		})
	}
}

func fillOne(_ *Device, q device.Queue, b device.Buffer) error {
	return q.Fill(gputest.Words(b, 0, 16), []byte{1, 2, 3, 4})
}

// The default build has neither a C compiler's nor another package's driver.
func TestDefaultBuild(t *testing.T) {
	_, err := os.Stat("api.go") // absent when the test binary runs on another machine
	devicetest.Require(t, "compilers", err)
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{.Standard}} {{.Imports}}", "../...").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) {
		assert.NotContains(t, line, "gorgonia.org")
		if strings.HasPrefix(line, "github.com/restride/") {
			assert.NotRegexp(t, `[\[ ]C[\] ]`, line, "it uses cgo")
		}
	}
}
