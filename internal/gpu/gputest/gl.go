package gputest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
)

// OpenGL makes a GL context current on the thread of a test, and opens a device that
// shares memory with it.
type OpenGL func(*testing.T) (*GL, device.Device)

// ShareGL tests memory that a device shares with GL.
func ShareGL(t *testing.T, open OpenGL) {
	for name, test := range map[string]func(*testing.T, *GL, device.Device){
		"Copy": copyGL, "Order": orderGL, "Queues": queuesGL, "Uses": usesGL, "Free": freeGL, "Refuses": refusesGL,
		"Changed": changedGL, "Threads": threadsGL, "Capture": captureGL, "Sizes": sizesGL, "CloseDevice": closeDeviceGL,
	} {
		t.Run(name, func(t *testing.T) {
			gl, dev := open(t)
			require.NoError(t, dev.(device.GLSharer).CheckGL())
			test(t, gl, dev)
			assert.Zero(t, gl.Error())
		})
	}
}

// share registers a GL buffer that holds data with a device.
func share(t *testing.T, gl *GL, dev device.Device, data []byte, use device.GLUse) (uint32, device.GLBuffer) {
	t.Helper()
	name := gl.Buffer(t, data)
	b, err := dev.(device.GLSharer).ShareGL(name, use)
	require.NoError(t, err)
	require.EqualValues(t, len(data), b.Bytes())
	return name, b
}

// acquire and release must not fail.
func acquire(t *testing.T, b device.GLBuffer, q device.Queue) device.Buffer {
	t.Helper()
	m, err := b.Acquire(q)
	require.NoError(t, err)
	require.Equal(t, b.Bytes(), m.Size())
	return m
}

func release(t *testing.T, b device.GLBuffer, q device.Queue) {
	t.Helper()
	require.NoError(t, b.Release(q))
}

// square is a buffer of n by n float32, as it is or transposed.
func square(b device.Buffer, n int64, transposed bool) device.Operand {
	if transposed {
		return Matrix(b, []int64{n, n}, []int64{1, n})
	}
	return Matrix(b, []int64{n, n}, []int64{n, 1})
}

func transpose(data []byte, n int) []byte {
	t := make([]byte, len(data))
	for i := range n * n {
		copy(t[4*i:4*i+4], data[4*(i%n*n+i/n):])
	}
	return t
}

// A matrix in one GL buffer is transposed into another one.
func copyGL(t *testing.T, gl *GL, dev device.Device) {
	const n = 128
	data := Random(4*n*n, 1)
	from, src := share(t, gl, dev, data, device.GLRead)
	to, dst := share(t, gl, dev, make([]byte, len(data)), device.GLWrite)
	q := Queue(t, dev)
	before := dev.Stats()
	for range 3 {
		x, y := acquire(t, src, q), acquire(t, dst, q)
		require.NoError(t, q.Copy(square(y, n, false), square(x, n, true)))
		release(t, src, q)
		release(t, dst, q)
		require.Equal(t, transpose(data, n), gl.Bytes(t, to, len(data)))
		require.Equal(t, data, gl.Bytes(t, from, len(data)))
		data = transpose(data, n)
		gl.Write(t, from, data)
	}
	after := dev.Stats()
	assert.Zero(t, after.HostToDevice-before.HostToDevice+after.DeviceToHost-before.DeviceToHost)
	assert.Equal(t, before.Live, after.Live)
	for _, b := range []device.GLBuffer{src, dst} {
		require.NoError(t, b.Close())
		require.ErrorIs(t, b.Close(), device.ErrClosed)
		_, err := b.Acquire(q)
		require.ErrorIs(t, err, device.ErrClosed)
		require.ErrorIs(t, b.Release(q), device.ErrClosed)
	}
	require.NoError(t, q.Close())
	require.Equal(t, transpose(transpose(data, n), n), gl.Bytes(t, from, len(data)))
}

// Alternating work of GL and the device is done in order.
func orderGL(t *testing.T, gl *GL, dev device.Device) {
	name, b := share(t, gl, dev, make([]byte, 4096), device.GLReadWrite)
	q := Queue(t, dev)
	own := Alloc(t, dev, 4096)
	for i := range byte(20) {
		gl.Write(t, name, []byte{i, i, i, i, i})
		m := acquire(t, b, q)
		require.NoError(t, q.Copy(Words(own, 0, 1), Words(m, 0, 1)))
		require.NoError(t, q.Fill(Words(m, 0, 1), []byte{i + 1, i, i, i}))
		release(t, b, q)
		require.Equal(t, []byte{i + 1, i, i, i, i}, gl.Bytes(t, name, 5))
		require.Equal(t, []byte{i, i, i, i}, Read(t, q, own)[:4])
	}
}

// Work of other queues is done before Release, too.
func queuesGL(t *testing.T, gl *GL, dev device.Device) {
	const size = 1 << 16
	name, b := share(t, gl, dev, make([]byte, size), device.GLReadWrite)
	q, other, third := Queue(t, dev), Queue(t, dev), Queue(t, dev)
	for i := range byte(10) {
		m := acquire(t, b, q)
		e, err := q.Record()
		require.NoError(t, err)
		require.NoError(t, other.WaitFor(e))
		for range 3 {
			Fill(t, other, m, 99)
		}
		Fill(t, other, m, i)
		release(t, b, third) // neither is it the queue of Acquire
		require.NotContains(t, gl.Bytes(t, name, size), i+1)
		require.Equal(t, i, gl.Bytes(t, name, size)[size-1])
	}
	// A closed queue has done its work.
	m := acquire(t, b, q)
	Fill(t, q, m, 77)
	require.NoError(t, q.Close())
	release(t, b, other)
	require.EqualValues(t, 77, gl.Bytes(t, name, size)[size-1])
}

func usesGL(t *testing.T, gl *GL, dev device.Device) {
	data := Random(64, 2)
	name, b := share(t, gl, dev, data, device.GLRead)
	q := Queue(t, dev)
	m, own := acquire(t, b, q), Alloc(t, dev, 64)
	refused := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, device.ErrInvalid)
		assert.ErrorContains(t, err, "shared to be read")
	}
	refused(q.Fill(Words(m, 0, 1), []byte{1, 2, 3, 4}))
	refused(q.Copy(Words(m, 0, 1), Words(own, 0, 1)))
	refused(q.Convert(Words(m, 0, 1), Words(own, 0, 1), device.Rounding{}))
	refused(q.Write(m, 0, []byte{1}))
	_, err := q.WriteAsync(m, 0, []byte{1})
	refused(err)
	assert.Equal(t, data, Read(t, q, m))
	release(t, b, q)
	assert.Equal(t, data, gl.Bytes(t, name, 64))
	_, err = dev.(device.GLSharer).ShareGL(name, device.GLWrite+1)
	require.ErrorIs(t, err, device.ErrInvalid)
}

// Free frees the buffer, but neither GL's nor the driver's memory.
func freeGL(t *testing.T, gl *GL, dev device.Device) {
	name, b := share(t, gl, dev, make([]byte, 64), device.GLReadWrite)
	q := Queue(t, dev)
	for i := range byte(3) {
		m := acquire(t, b, q)
		Fill(t, q, m, i+1)
		require.NoError(t, m.Free())
		require.ErrorIs(t, q.Fill(Words(m, 0, 1), []byte{0, 0, 0, 0}), device.ErrClosed)
		_, err := b.Acquire(q)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorIs(t, b.Close(), device.ErrInvalid)
		release(t, b, q)
		require.ErrorIs(t, m.Free(), device.ErrClosed)
		assert.Equal(t, i+1, gl.Bytes(t, name, 64)[63])
	}
}

func refusesGL(t *testing.T, gl *GL, dev device.Device) {
	name, b := share(t, gl, dev, make([]byte, 64), device.GLReadWrite)
	q := Queue(t, dev)
	invalid := func(err error, word string) {
		t.Helper()
		require.ErrorIs(t, err, device.ErrInvalid)
		assert.ErrorContains(t, err, word)
	}
	invalid(b.Release(q), "is not acquired")
	_, err := b.Acquire(nil)
	invalid(err, "queue")
	twice, err := dev.(device.GLSharer).ShareGL(name, device.GLRead)
	require.NoError(t, err)
	m := acquire(t, b, q)
	_, err = b.Acquire(q)
	invalid(err, "acquired already")
	_, err = twice.Acquire(q)
	invalid(err, "shared twice")
	invalid(b.Close(), "Release comes before")
	invalid(b.Release(nil), "queue")
	require.NoError(t, q.Copy(Words(m, 0, 1), Words(m, 4, 1))) // as if nothing were
	release(t, b, q)
	invalid(b.Release(q), "is not acquired")

	// The buffer is invalid now, even while its memory is acquired again.
	stale := func() {
		t.Helper()
		for _, err := range []error{
			q.Copy(Words(m, 0, 1), Words(m, 4, 1)), q.Read(make([]byte, 4), m, 0), q.Write(m, 0, make([]byte, 4)), q.MarkUsed(m), m.Free(),
		} {
			require.ErrorIs(t, err, device.ErrClosed)
		}
	}
	stale()
	acquire(t, b, q)
	stale()
	require.NoError(t, q.Close())
	other := Queue(t, dev)
	invalid(b.Release(q), "closed")
	release(t, b, other)
	acquire(t, twice, other)
	release(t, twice, other)
	require.NoError(t, b.Close())
	require.NoError(t, twice.Close())
}

// A buffer that GL has changed.
func changedGL(t *testing.T, gl *GL, dev device.Device) {
	sharer, q := dev.(device.GLSharer), Queue(t, dev)
	for name, word := range map[uint32]string{0: "no buffer 0", 12345: "no buffer 12345", gl.Name(t): "no storage"} {
		_, err := sharer.ShareGL(name, device.GLRead)
		require.ErrorIs(t, err, device.ErrInvalid)
		assert.ErrorContains(t, err, word)
	}
	_, err := sharer.ShareGL(gl.Buffer(t, make([]byte, 6)), device.GLRead)
	require.ErrorIs(t, err, device.ErrUnsupported)
	assert.ErrorContains(t, err, "multiple")

	refused := func(b device.GLBuffer, word string) {
		t.Helper()
		_, err := b.Acquire(q)
		require.ErrorIs(t, err, device.ErrInvalid)
		assert.ErrorContains(t, err, word)
	}
	name, b := share(t, gl, dev, make([]byte, 64), device.GLReadWrite)
	gl.Map(t, name, 64)
	refused(b, "mapped by GL")
	gl.Unmap(t, name)
	acquire(t, b, q)
	release(t, b, q)
	gl.Store(t, name, make([]byte, 128))
	refused(b, "has 128 bytes now, and had 64")
	gl.Delete(t, name)
	refused(b, "was deleted")
	require.NoError(t, b.Close())

	name, b = share(t, gl, dev, make([]byte, 64), device.GLReadWrite)
	m := acquire(t, b, q)
	require.NoError(t, q.Wait())
	gl.Delete(t, name)
	err = b.Release(q)
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.ErrorContains(t, err, "was deleted while it was acquired")
	require.ErrorIs(t, q.Fill(Words(m, 0, 1), make([]byte, 4)), device.ErrClosed)
	require.ErrorIs(t, b.Close(), device.ErrClosed)
}

// Calls from a thread without the context are refused, and change nothing.
func threadsGL(t *testing.T, gl *GL, dev device.Device) {
	name, b := share(t, gl, dev, make([]byte, 64), device.GLReadWrite)
	q := Queue(t, dev)
	wrong := func(word string) {
		t.Helper()
		_, acquire := b.Acquire(q)
		_, share := dev.(device.GLSharer).ShareGL(name, device.GLRead)
		for _, err := range []error{acquire, b.Release(q), b.Close()} {
			require.ErrorIs(t, err, device.ErrInvalid)
			assert.ErrorContains(t, err, word)
		}
		if word == "current" {
			require.ErrorIs(t, share, device.ErrInvalid)
			require.ErrorIs(t, dev.(device.GLSharer).CheckGL(), device.ErrInvalid)
		}
	}
	Elsewhere(func() { wrong("current") })
	m := acquire(t, b, q)
	Elsewhere(func() {
		wrong("current")
		Fill(t, q, m, 5) // work is queued from any thread
	})
	release(t, b, q)
	assert.EqualValues(t, 5, gl.Bytes(t, name, 64)[63])
	other, err := NewGL(t)
	require.NoError(t, err)
	wrong("on the calling thread")
	require.NoError(t, other.Context.Detach())
	require.NoError(t, gl.Context.MakeCurrent())
	require.NoError(t, b.Close())
}

// A capture must not contain the address of a GL buffer.
func captureGL(t *testing.T, gl *GL, dev device.Device) {
	name, b := share(t, gl, dev, make([]byte, 64), device.GLReadWrite)
	q := Queue(t, dev)
	m, own := acquire(t, b, q), Alloc(t, dev, 64)
	_, err := q.Capture(func() error { return nil })
	if err != nil {
		require.ErrorIs(t, err, device.ErrUnsupported)
		return
	}
	_, err = q.Capture(func() error {
		for _, err := range []error{
			q.Copy(Words(own, 0, 1), Words(m, 0, 1)), q.Fill(Words(m, 0, 1), make([]byte, 4)),
		} {
			require.ErrorIs(t, err, device.ErrInvalid)
			assert.ErrorContains(t, err, "no part of a capture")
		}
		require.ErrorIs(t, b.Release(q), device.ErrInvalid)
		return q.Fill(Words(own, 0, 1), make([]byte, 4))
	})
	require.NoError(t, err)
	release(t, b, q)
	require.ErrorIs(t, q.Fill(Words(m, 0, 1), make([]byte, 4)), device.ErrClosed)

	// A queue that captures cannot report its progress: Release is refused until it can.
	m, other := acquire(t, b, q), Queue(t, dev)
	e, err := q.Record()
	require.NoError(t, err)
	require.NoError(t, other.WaitFor(e))
	Fill(t, other, m, 6)
	_, err = other.Capture(func() error {
		require.ErrorIs(t, b.Release(q), device.ErrInvalid)
		return nil
	})
	require.NoError(t, err)
	release(t, b, q)
	assert.EqualValues(t, 6, gl.Bytes(t, name, 64)[63])
}

func sizesGL(t *testing.T, gl *GL, dev device.Device) {
	q := Queue(t, dev)
	for _, size := range []int{4, 12, 16, 60, 4100, 1<<20 + 4} {
		data := Random(size, uint64(size))
		name, b := share(t, gl, dev, data, device.GLReadWrite)
		m := acquire(t, b, q)
		require.Equal(t, data, Read(t, q, m))
		Fill(t, q, m, 3)
		release(t, b, q)
		got := gl.Bytes(t, name, size)
		assert.EqualValues(t, []byte{3, 3}, []byte{got[0], got[size-1]})
		require.NoError(t, b.Close())
		gl.Delete(t, name)
	}
}

// Close of the device releases what it can: on the thread of the context, everything.
func closeDeviceGL(t *testing.T, gl *GL, dev device.Device) {
	name, b := share(t, gl, dev, make([]byte, 64), device.GLReadWrite)
	_, idle := share(t, gl, dev, make([]byte, 64), device.GLRead)
	q := Queue(t, dev)
	m := acquire(t, b, q)
	Fill(t, q, m, 8)
	require.NoError(t, dev.Close())
	assert.EqualValues(t, 8, gl.Bytes(t, name, 64)[63])
	for _, b := range []device.GLBuffer{b, idle} {
		_, err := b.Acquire(q)
		require.ErrorIs(t, err, device.ErrClosed)
		require.ErrorIs(t, b.Release(q), device.ErrClosed)
		require.ErrorIs(t, b.Close(), device.ErrClosed)
	}
	_, err := dev.(device.GLSharer).ShareGL(name, device.GLRead)
	require.ErrorIs(t, err, device.ErrClosed)
	require.ErrorIs(t, dev.(device.GLSharer).CheckGL(), device.ErrClosed)
}
