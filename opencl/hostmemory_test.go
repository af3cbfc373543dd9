package opencl

import (
	"errors"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// aligned returns memory that begins a given number of bytes behind a multiple of 64.
func aligned(n int, behind uintptr) []byte {
	b := make([]byte, n+128)
	return b[(-uintptr(unsafe.Pointer(&b[0]))&63)+behind:][:n]
}

func TestAdoptHost(t *testing.T) {
	dev := openTest(t, Options{})
	host := aligned(4096, 16)
	for i := range host {
		host[i] = byte(i)
	}
	before, told := dev.Stats(), 0
	b, err := dev.AdoptHost(host, func() { told++ })
	if !dev.driver.properties.onHost {
		require.ErrorIs(t, err, device.ErrUnsupported)
		t.Skip(err)
	}
	require.NoError(t, err)
	q, err := dev.NewQueue()
	require.NoError(t, err)
	half, err := layout.Contiguous(2048)
	require.NoError(t, err)
	reversed, err := layout.Strided([]int64{2048}, []int64{-1}, 4095)
	require.NoError(t, err)
	require.NoError(t, q.Copy(device.Operand{Buffer: b, Layout: half, Type: layout.Uint8}, device.Operand{Buffer: b, Layout: reversed, Type: layout.Uint8}))
	require.NoError(t, q.Wait())
	assert.Zero(t, told)
	require.NoError(t, b.Free())
	assert.Equal(t, 1, told)
	for i := range 2048 {
		require.Equal(t, byte(4095-i), host[i])
		require.Equal(t, byte(2048+i), host[2048+i])
	}
	after := dev.Stats()
	assert.Equal(t, before.Live, after.Live)
	assert.Equal(t, before.Peak, after.Peak)
	assert.Zero(t, after.HostToDevice+after.DeviceToHost)
	require.ErrorIs(t, b.Free(), device.ErrClosed)
	require.NoError(t, q.Close())
}

// TestBugAdoptHostCollected: Go memory must not be collected after Free with work on it in
// progress.
func TestBugAdoptHostCollected(t *testing.T) {
	dev := openTest(t, Options{})
	if !dev.driver.properties.onHost {
		t.Skip("the device has memory of its own")
	}
	q, err := dev.NewQueue()
	require.NoError(t, err)
	const slow = 64 << 20
	big, err := dev.Alloc(2 * slow)
	require.NoError(t, err)
	lower, err := layout.Contiguous(slow)
	require.NoError(t, err)
	upper, err := layout.Strided([]int64{slow}, []int64{-1}, 2*slow-1)
	require.NoError(t, err)
	small, err := layout.Contiguous(4096)
	require.NoError(t, err)
	at := func(b device.Buffer, l layout.Layout) device.Operand {
		return device.Operand{Buffer: b, Layout: l, Type: layout.Uint8}
	}
	for range 20 {
		require.NoError(t, q.Copy(at(big, lower), at(big, upper)))
	}
	collected := make(chan struct{})
	func() {
		host := aligned(4096, 0)
		runtime.AddCleanup(unsafe.SliceData(host), func(struct{}) { close(collected) }, struct{}{})
		b, err := dev.AdoptHost(host, nil)
		require.NoError(t, err)
		require.NoError(t, q.Copy(at(b, small), at(big, small)))
		require.NoError(t, b.Free())
	}()
	e, err := q.Record()
	require.NoError(t, err)
	for range 5 {
		runtime.GC()
	}
	time.Sleep(time.Millisecond) // cleanups run in a goroutine of their own
	early := false
	select {
	case <-collected:
		early = true
	default:
	}
	assert.False(t, early && !e.Done(), "with work under way")
	require.NoError(t, q.Close())
	require.NoError(t, big.Free())
	assert.Eventually(t, func() bool {
		runtime.GC()
		select {
		case <-collected:
			return true
		default:
			return false
		}
	}, time.Minute, 10*time.Millisecond, "never collected")
}

// Adopted memory that is not freed ends with the device.
func TestAdoptHostClose(t *testing.T) {
	dev, err := OpenWith(0, Options{})
	if errors.Is(err, device.ErrNoDevice) {
		t.Skip(err)
	}
	require.NoError(t, err)
	b, err := dev.AdoptHost(aligned(64, 0), nil)
	if !errors.Is(err, device.ErrUnsupported) {
		require.NoError(t, err)
	}
	require.NoError(t, dev.Close())
	if b != nil {
		require.ErrorIs(t, b.Free(), device.ErrClosed)
	}
	_, err = dev.AdoptHost(aligned(64, 0), nil)
	require.ErrorIs(t, err, device.ErrClosed)
}

func TestAdoptHostRefuses(t *testing.T) {
	dev := openTest(t, Options{})
	if !dev.driver.properties.onHost {
		t.Skip("the device has memory of its own")
	}
	for _, c := range []struct {
		host []byte
		kind error
		word string
	}{
		{nil, device.ErrInvalid, "no memory"},
		{aligned(64, 4), device.ErrUnsupported, "16 bytes"},
		{aligned(62, 0), device.ErrUnsupported, "multiple"},
	} {
		_, err := dev.AdoptHost(c.host, nil)
		require.ErrorIs(t, err, c.kind)
		assert.ErrorContains(t, err, c.word)
	}
}
