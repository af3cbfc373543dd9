package cuda

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu/gputest"
)

func TestAdopt(t *testing.T) {
	engine := openTest(t)
	h := engine.Handles()
	require.NotZero(t, h.Context)
	gputest.Adopt(t, engine, gputest.Adopter{
		Device: func() (device.Device, error) {
			dev, err := Adopt(h, Options{})
			require.NoError(t, err)
			assert.Equal(t, h, dev.Handles())
			return dev, err
		},
		Queue: func(dev device.Device, theirs device.Queue) (device.Queue, error) {
			return dev.(*Device).AdoptStream(StreamOf(theirs))
		},
		Buffer: func(dev device.Device, theirs device.Buffer, bytes int64) (device.Buffer, error) {
			return dev.(*Device).AdoptHandle(handleOf(theirs), bytes, nil)
		},
		QueueHandle:  StreamOf,
		BufferHandle: handleOf,
	})
}

// The default stream is a valid stream, and a part of an allocation is valid memory.
func TestAdoptDefaultStream(t *testing.T) {
	dev := openTest(t)
	q, err := dev.AdoptStream(0)
	require.NoError(t, err)
	memory := gputest.Alloc(t, dev, 64)
	b, err := dev.AdoptHandle(handleOf(memory)+16, 48, nil)
	require.NoError(t, err)
	require.NoError(t, q.Write(b, 0, []byte{1, 2, 3, 4}))
	require.NoError(t, q.Copy(gputest.Words(b, 4, 1), gputest.Words(b, 0, 1)))
	assert.Equal(t, []byte{1, 2, 3, 4}, gputest.Read(t, q, memory)[32:36])
	require.NoError(t, q.Close())
	require.NoError(t, dev.Close())
	_, err = dev.AdoptStream(0)
	require.ErrorIs(t, err, device.ErrClosed)
}

func TestAdoptRefuses(t *testing.T) {
	dev := openTest(t)
	h := dev.Handles()
	_, err := Adopt(Handles{}, Options{})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = Adopt(Handles{h.Context, h.Ordinal + 1}, Options{})
	require.ErrorIs(t, err, device.ErrInvalid)

	at := handleOf(gputest.Alloc(t, dev, 64))
	host, err := dev.AllocHost(64)
	require.NoError(t, err)
	for _, c := range []struct {
		at    uintptr
		bytes int64
		kind  error
		word  string
	}{
		{0, 4, device.ErrInvalid, "0x0"},
		{at, -4, device.ErrInvalid, "-4"},
		{at, 6, device.ErrUnsupported, "multiple"},
		{at + 8, 8, device.ErrUnsupported, "multiple"},
		{at, 1 << 30, device.ErrInvalid, "of an allocation"},
		{uintptr(unsafe.Pointer(unsafe.SliceData(host))), 64, device.ErrUnsupported, "host"},
		{1 << 20, 64, device.ErrInvalid, "cuPointerGetAttribute"},
	} {
		_, err := dev.AdoptHandle(c.at, c.bytes, nil)
		require.ErrorIs(t, err, c.kind)
		assert.ErrorContains(t, err, c.word)
	}
	_, err = dev.AdoptStream(perThread)
	require.ErrorIs(t, err, device.ErrUnsupported)
	none, err := dev.AdoptHandle(at, 0, nil)
	require.NoError(t, err)
	require.NoError(t, none.Free())

	// Memory that is not from the driver's pool.
	plain, err := OpenWith(0, Options{PlainMemory: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, plain.Close()) }()
	other, err := Adopt(plain.Handles(), Options{PlainMemory: true})
	require.NoError(t, err)
	_, err = other.AdoptHandle(handleOf(gputest.Alloc(t, plain, 64)), 64, nil)
	require.NoError(t, err)
	require.NoError(t, other.Close())
}
