package opencl

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu/gputest"
)

func TestAdopt(t *testing.T) {
	engine := openTest(t, Options{})
	h := engine.Handles()
	require.NotZero(t, h.Platform)
	require.NotZero(t, h.Context)
	require.NotZero(t, h.Device)
	gputest.Adopt(t, engine, gputest.Adopter{
		Device: func() (device.Device, error) {
			dev, err := Adopt(h, Options{})
			require.NoError(t, err)
			assert.Equal(t, h, dev.Handles())
			return dev, err
		},
		Queue: func(dev device.Device, theirs device.Queue) (device.Queue, error) {
			return dev.(*Device).AdoptQueue(CommandQueueOf(theirs))
		},
		Buffer: func(dev device.Device, theirs device.Buffer, bytes int64) (device.Buffer, error) {
			return dev.(*Device).AdoptHandle(handleOf(theirs), bytes, nil)
		},
		QueueHandle:  CommandQueueOf,
		BufferHandle: handleOf,
	})
}

func TestAdoptRefuses(t *testing.T) {
	engine, stranger := openTest(t, Options{}), openTest(t, Options{})
	h := engine.Handles()
	_, err := Adopt(Handles{}, Options{})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = Adopt(Handles{Platform: h.Platform + 8, Context: h.Context, Device: h.Device}, Options{})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = Adopt(h, Options{Planner: "none"})
	require.ErrorIs(t, err, device.ErrInvalid)

	theirs := gputest.Alloc(t, engine, 64)
	mem := handleOf(theirs)
	for _, c := range []struct {
		mem   uintptr
		bytes int64
		kind  error
		word  string
	}{
		{0, 4, device.ErrInvalid, "0x0"},
		{mem, -4, device.ErrInvalid, "-4"},
		{mem, 6, device.ErrUnsupported, "multiple"},
		{mem, 1 << 20, device.ErrInvalid, "64"},
	} {
		_, err := engine.AdoptHandle(c.mem, c.bytes, nil)
		require.ErrorIs(t, err, c.kind)
		assert.ErrorContains(t, err, c.word)
	}
	_, err = stranger.AdoptHandle(mem, 64, nil)
	require.ErrorIs(t, err, device.ErrInvalid)

	q, err := engine.NewQueue()
	require.NoError(t, err)
	_, err = stranger.AdoptQueue(CommandQueueOf(q))
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = engine.AdoptQueue(0)
	require.ErrorIs(t, err, device.ErrInvalid)
	none, err := engine.AdoptHandle(mem, 0, nil)
	require.NoError(t, err)
	require.NoError(t, none.Free())
}

// Kernels access vectors of 16 bytes: a buffer over host memory with another alignment must be
// refused, as it would crash the process.
func TestBugAdoptUnalignedHostMemory(t *testing.T) {
	dev := openTest(t, Options{})
	host := make([]byte, 8<<10)
	at := (uintptr(unsafe.Pointer(&host[0])) + 63) &^ 63
	for off, fits := range map[uintptr]bool{0: true, 4: false, 8: false, 16: true} {
		mem, err := clCreateBuffer.create(dev.driver.context, memReadWrite|memUseHostPtr, 4096, at+off)
		require.NoError(t, err)
		b, err := dev.AdoptHandle(mem, 4096, nil)
		if fits {
			require.NoError(t, err)
			require.NoError(t, b.Free())
		} else {
			require.ErrorIs(t, err, device.ErrUnsupported)
			assert.ErrorContains(t, err, "16 bytes")
		}
		require.NoError(t, clReleaseMemObject.call(mem))
	}
	runtime.KeepAlive(host)
}
