//go:build gorgonia

package cuda

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/gpu/gputest"
	"github.com/restride/restride/layout"
)

// gpuHere: without a GPU, gorgonia.org/cu has already ended the process.
func gpuHere() bool { return true }

// older is a driver without functions newer than CUDA 11.0.
func older(a api) api {
	old := *a.(*gorgoniaCU).libcuda
	old.memAllocAsync, old.memFreeAsync, old.captureBegin, old.graphInstantiate = 0, 0, 0, 0
	return &gorgoniaCU{&old}
}

// A machine without a GPU, or with a driver that is too old for the kernels: this package
// reports it if gorgonia.org/cu lets the process live.
func TestGorgoniaStart(t *testing.T) {
	if os.Getenv(child) != "" {
		_, err := device.Open("cuda")
		require.Error(t, err)
		t.Logf("reason: %v", err)
		return
	}
	_ = simulated(t)
	for env, word := range map[string]string{
		"RESTRIDE_SIM_DRIVER_VERSION=10020":        "is for CUDA 10.2; at least CUDA 11.0 is needed",
		"RESTRIDE_SIM_CAPABILITY=61":               "compute capability 6.1; the kernels need 7.0",
		"RESTRIDE_SIM_FAIL=cuDriverGetVersion=999": "cuDriverGetVersion: CUDA_ERROR_UNKNOWN (999)",
	} {
		t.Run(env, func(t *testing.T) {
			out, err := inChild(t, "^TestGorgoniaStart$", env)
			require.NoError(t, err, "%s", out)
			assert.Contains(t, strings.Join(lines(out, "reason:"), "\n"), word)
		})
	}
	for _, env := range []string{"RESTRIDE_SIM_DEVICES=0", "RESTRIDE_SIM_FAIL=cuInit=999"} {
		t.Run(env, func(t *testing.T) {
			out, err := inChild(t, "^TestGorgoniaStart$", env)
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the package's comment says that it ends the process")
			assert.Equal(t, 1, exit.ExitCode())
			assert.Contains(t, out, "Error in initialization")
			assert.NotContains(t, out, "=== RUN")
		})
	}
}

// locked is a context of gorgonia.org/cu that is current on the test's thread.
func locked(t *testing.T) cu.CUContext {
	t.Helper()
	gpu, err := cu.GetDevice(0)
	require.NoError(t, err)
	ctx, err := gpu.MakeContext(cu.SchedAuto)
	require.NoError(t, err)
	require.NoError(t, ctx.Lock())
	t.Cleanup(func() {
		require.NoError(t, ctx.Unlock())
		require.NoError(t, ctx.Destroy())
	})
	return ctx
}

// current is the thread's context according to gorgonia.org/cu.
func current(t *testing.T) cu.CUContext {
	t.Helper()
	ctx, err := cu.CurrentContext()
	require.NoError(t, err)
	return ctx
}

// A context, a stream and memory of gorgonia.org/cu, in order with this package's.
func TestAdoptCU(t *testing.T) {
	k := simulated(t)
	allocations := k.Count("allocations")
	ctx := locked(t)
	stream, err := cu.MakeStream(cu.NonBlocking)
	require.NoError(t, err)
	memory, err := cu.MemAlloc(128)
	require.NoError(t, err)

	dev, err := AdoptCU(ctx, Options{})
	require.NoError(t, err)
	assert.Equal(t, ctx, dev.CUContext())
	assert.Zero(t, dev.Handles().Ordinal)
	q, err := dev.AdoptCUStream(stream)
	require.NoError(t, err)
	assert.Equal(t, stream, CUStreamOf(q))
	b, err := dev.AdoptDevicePtr(memory, 128)
	require.NoError(t, err)
	assert.Equal(t, memory, DevicePtrOf(b))

	// Work of theirs, ours, theirs on one stream, without waits in between.
	host, got := make([]float32, 16), make([]float32, 16)
	for i := range host {
		host[i] = float32(i)
	}
	require.NoError(t, cu.MemcpyHtoDAsync(memory, unsafe.Pointer(&host[0]), 64, stream))
	to, err := layout.Strided([]int64{4, 4}, []int64{4, 1}, 16)
	require.NoError(t, err)
	at := device.Operand{Buffer: b, Layout: to, Type: layout.Float32}
	require.NoError(t, q.Copy(at, gputest.Matrix(b, []int64{4, 4}, []int64{1, 4})))
	require.NoError(t, cu.MemcpyDtoHAsync(unsafe.Pointer(&got[0]), memory+64, 64, stream))
	require.NoError(t, stream.Synchronize())
	assert.Equal(t, []float32{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15}, got)
	assert.Equal(t, ctx, current(t), "their context is still the thread's")

	// Our memory and stream, their calls.
	own, mine := gputest.Alloc(t, dev, 64), gputest.Queue(t, dev)
	require.NoError(t, mine.Fill(gputest.Words(own, 0, 16), []byte{1, 2, 3, 4}))
	require.NoError(t, cu.MemcpyDtoDAsync(memory, DevicePtrOf(own), 64, CUStreamOf(mine)))
	require.NoError(t, mine.MarkUsed(own, b))
	require.NoError(t, own.Free())
	raw := make([]byte, 4)
	require.NoError(t, mine.Read(raw, b, 60))
	assert.Equal(t, []byte{1, 2, 3, 4}, raw)

	legacy, err := dev.AdoptCUStream(cu.NoStream)
	require.NoError(t, err)
	require.NoError(t, legacy.Fill(gputest.Words(b, 0, 32), []byte{0, 0, 128, 63}))
	require.NoError(t, cu.MemcpyDtoH(unsafe.Pointer(&got[0]), memory, 64))
	assert.EqualValues(t, 1, got[15])

	require.NoError(t, b.Free())
	require.NoError(t, dev.Close())
	assert.Equal(t, ctx, current(t))
	require.NoError(t, cu.MemFree(memory))
	require.NoError(t, stream.Destroy())
	assert.Equal(t, allocations, k.Count("allocations"))
}

func TestAdoptCURefuses(t *testing.T) {
	_, err := AdoptCU(cu.CUContext{}, Options{})
	require.ErrorIs(t, err, device.ErrInvalid)
	dev := openTest(t)
	theirs := locked(t)
	stream, err := cu.MakeStream(cu.DefaultStream)
	require.NoError(t, err)
	_, err = dev.AdoptCUStream(stream)
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.ErrorContains(t, err, "another context")
	_, err = dev.AdoptDevicePtr(0, 64)
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = dev.AdoptDevicePtr(DevicePtrOf(gputest.Alloc(t, dev, 64)), 1<<20)
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.Zero(t, DevicePtrOf(nil))
	assert.Equal(t, cu.NoStream, CUStreamOf(nil))
	require.NoError(t, stream.Destroy())
	assert.Equal(t, theirs, current(t))
}

// A *cu.Ctx has a thread of its own; this package can use its context, too.
func TestAdoptCtx(t *testing.T) {
	openTest(t)
	gpu, err := cu.GetDevice(0)
	require.NoError(t, err)
	ctx := cu.NewContext(gpu, cu.SchedAuto)
	memory, err := ctx.MemAlloc(64)
	require.NoError(t, err)
	dev, err := AdoptCU(ctx.CUDAContext(), Options{})
	require.NoError(t, err)
	q := gputest.Queue(t, dev)
	b, err := dev.AdoptDevicePtr(memory, 64)
	require.NoError(t, err)
	require.NoError(t, q.Fill(gputest.Words(b, 0, 16), []byte{1, 2, 3, 4}))
	require.NoError(t, q.Wait())
	got := make([]byte, 64)
	ctx.MemcpyDtoH(unsafe.Pointer(&got[0]), memory, 64)
	require.NoError(t, ctx.Error())
	assert.Equal(t, []byte{1, 2, 3, 4}, got[60:])
	require.NoError(t, dev.Close())
	ctx.MemFree(memory)
	require.NoError(t, ctx.Error())
	require.NoError(t, ctx.Close())
}

// An error of gorgonia.org/cu has the driver's code and name, its kind in this package, and the
// compiler's log.
func TestGorgoniaErrors(t *testing.T) {
	k := simulated(t)
	a, err := openAPI()
	require.NoError(t, err)
	dev := openTest(t)
	fails := func(code int, kind error) {
		t.Helper()
		k.turn(t, "FAIL", fmt.Sprint("cuMemAlloc=", code))
		err := dev.driver.with(func(*frame) error {
			_, err := a.alloc(16)
			return err
		})
		require.ErrorIs(t, err, kind)
		var failed *device.DriverError
		require.ErrorAs(t, err, &failed)
		assert.EqualValues(t, code, failed.Code)
		assert.Equal(t, "cuMemAlloc", failed.Call)
	}
	for code, kind := range map[int]error{2: device.ErrOutOfMemory, 801: device.ErrUnsupported, 1: device.ErrDriver, 12345: device.ErrDriver} {
		fails(code, kind)
	}
	k.turn(t, "FAIL", "")
	other := errors.New("not a number")
	assert.Equal(t, other, a.(*gorgoniaCU).told("cuInit", other))
	err = dev.driver.with(func(*frame) error {
		_, err := a.load([]byte(".version 99.9\n.target sm_70\n.address_size 64\n\x00"))
		return err
	})
	var failed *device.DriverError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "cuModuleLoadDataEx", failed.Call)
	assert.NotEmpty(t, failed.Log)
	t.Log(err)
	fails(700, ErrLost) // all later calls would fail likewise
}

// Functions that the simulator lacks are linked, and report that they are not supported.
func TestAbsentFunctions(t *testing.T) {
	_ = simulated(t)
	locked(t)
	p, err := cu.MemAlloc(64)
	require.NoError(t, err)
	require.ErrorIs(t, cu.MemsetD8(p, 1, 64), cu.NotSupported)
	require.NoError(t, cu.MemFree(p))
	lib, err := dl.Open(os.Getenv(library))
	require.NoError(t, err)
	f, err := lib.Lookup("cuMemsetD8_v2")
	require.NoError(t, err)
	assert.EqualValues(t, codeNotSupported, int32(dl.Call(f, uintptr(p), 1, 64)))
}

// A launch must not write Go pointers into memory fresh from malloc: while the collector marks,
// the write barrier treats the former content as a pointer, too. Here that content is an
// address of memory that the collector has freed.
func TestLaunchWhileTheCollectorMarks(t *testing.T) {
	if os.Getenv(child) == "" {
		_ = simulated(t)
		out, err := inChild(t, "^TestLaunchWhileTheCollectorMarks$")
		require.NoError(t, err, "%s", out)
		return
	}
	libc, err := dl.Open("libc.so.6")
	require.NoError(t, err)
	malloc, err := libc.Lookup("malloc")
	require.NoError(t, err)
	free, err := libc.Lookup("free")
	require.NoError(t, err)
	runtime.LockOSThread() // malloc caches freed memory by thread
	defer runtime.UnlockOSThread()

	dev := openTest(t)
	q := gputest.Queue(t, dev)
	dsts, src := gputest.Copies(t, dev)
	require.NoError(t, q.Copy(dsts[0], src))

	gone := uintptr(unsafe.Pointer(unsafe.SliceData(make([]byte, 64<<20))))
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
			}
		}
	}()
	for i := range 3000 {
		var blocks [6]uintptr
		n := 7 + 2*(i&1) // parameters of a copy, and of a take
		for j := range blocks {
			blocks[j] = dl.Call(malloc, uintptr(n)*8)
			words := unsafe.Slice((*uintptr)(dl.Pointer(blocks[j])), n)
			for w := range words {
				words[w] = gone
			}
		}
		for _, b := range blocks {
			dl.Call(free, b)
		}
		require.NoError(t, q.Copy(dsts[i&1], src))
	}
	require.NoError(t, q.Wait())
}
