package opencl

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// aligned returns memory that begins so many bytes behind a multiple of 64.
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

// Adopted memory that is not given back ends with the device.
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
