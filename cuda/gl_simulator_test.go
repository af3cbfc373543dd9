package cuda

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
)

// The faults of a program, or of the device, that the simulator must find. Each ends the
// context, so that each has a process of its own.
var glFaults = map[string]struct {
	commit func(*testing.T, *gputest.GL, *Device) error
	words  []string
}{
	"UseAfterUnmap": {useAfterUnmap, []string{"points to no memory", "ILLEGAL_ADDRESS"}},
	"UseUnordered":  {useUnordered, []string{"ILLEGAL_ADDRESS"}},
	"WriteToRead":   {writeToRead, []string{"a graphics resource was written that is registered to be read"}},
	"BeyondTheEnd":  {beyondTheEnd, []string{"offset 64 of an allocation of 64 bytes", "ILLEGAL_ADDRESS"}},
	"DeletedMapped": {deletedMapped, []string{"a GL buffer was deleted, or unmapped, while a graphics resource was mapped"}},
}

func TestGLFaults(t *testing.T) {
	if name := os.Getenv("RESTRIDE_TEST_FAULT"); name != "" {
		gl, dev := openGL(t)
		err := glFaults[name].commit(t, gl, dev)
		require.ErrorIs(t, err, ErrLost)
		require.ErrorIs(t, dev.Close(), ErrLost)
		t.Log("found:", err)
		return
	}
	_, err := gputest.NewGL(t)
	devicetest.Require(t, "gl", err)
	for name, fault := range glFaults {
		t.Run(name, func(t *testing.T) {
			out, err := inChild(t, "^TestGLFaults$", "RESTRIDE_TEST_FAULT="+name, "RESTRIDE_SIM_DELAY=2000")
			require.NoError(t, err, "%s", out)
			require.Contains(t, out, "found:")
			for _, word := range fault.words {
				assert.Contains(t, out, word)
			}
		})
	}
}

// lend acquires a buffer of 64 bytes, and returns a second Buffer over its memory, which the
// device does not know to belong to GL.
func lend(t *testing.T, gl *gputest.GL, dev *Device, use device.GLUse) (device.GLBuffer, *gpu.Queue, device.Buffer) {
	b, err := dev.ShareGL(gl.Buffer(t, make([]byte, 64)), use)
	require.NoError(t, err)
	q := gputest.Queue(t, dev)
	m, err := b.Acquire(q)
	require.NoError(t, err)
	require.NoError(t, q.Wait())
	again, err := dev.AdoptHandle(handleOf(m), 64, nil)
	require.NoError(t, err)
	return b, q, again
}

func useAfterUnmap(t *testing.T, gl *gputest.GL, dev *Device) error {
	b, q, again := lend(t, gl, dev, device.GLReadWrite)
	require.NoError(t, b.Release(q))
	gputest.Fill(t, q, again, 1)
	return q.Wait()
}

// Another queue's work that does not wait for that of Acquire.
func useUnordered(t *testing.T, gl *gputest.GL, dev *Device) error {
	b, err := dev.ShareGL(gl.Buffer(t, make([]byte, 64)), device.GLReadWrite)
	require.NoError(t, err)
	q, other := gputest.Queue(t, dev), gputest.Queue(t, dev)
	own := gputest.Alloc(t, dev, 64)
	gputest.Fill(t, other, own, 1)
	require.NoError(t, other.Wait())
	simulated(t).turn(t, "DELAY", "20000")
	for range 50 { // q is late
		gputest.Fill(t, q, own, 1)
	}
	m, err := b.Acquire(q)
	require.NoError(t, err)
	gputest.Fill(t, other, m, 1)
	return other.Wait()
}

func writeToRead(t *testing.T, gl *gputest.GL, dev *Device) error {
	b, q, again := lend(t, gl, dev, device.GLRead)
	gputest.Fill(t, q, again, 1)
	return b.Release(q)
}

func beyondTheEnd(t *testing.T, gl *gputest.GL, dev *Device) error {
	k := simulated(t)
	_, q, again := lend(t, gl, dev, device.GLWrite)
	k.turn(t, "PLANT", "oob")
	gputest.Fill(t, q, again, 1)
	return q.Wait()
}

func deletedMapped(t *testing.T, gl *gputest.GL, dev *Device) error {
	name := gl.Buffer(t, make([]byte, 64))
	m, err := dev.driver.ShareGL(name, 64, device.GLReadWrite)
	require.NoError(t, err)
	q := gputest.Queue(t, dev)
	_, err = m.Acquire(q.Stream())
	require.NoError(t, err)
	require.NoError(t, q.Wait())
	gl.Delete(t, name)
	return m.Release(q.Stream())
}

// Calls that the device never makes.
func TestSimulatedGraphics(t *testing.T) {
	simulated(t)
	gl, dev := openGL(t)
	d := dev.driver
	q := gputest.Queue(t, dev)
	s := q.Stream().(*stream).handle
	name := gl.Buffer(t, make([]byte, 64))
	code := func(want int64, f func() error) {
		t.Helper()
		assert.EqualValues(t, want, codeOf(d.with(func(*frame) error { return f() })))
	}
	var r cuResource
	ok := func(f func() error) { t.Helper(); require.NoError(t, d.with(func(*frame) error { return f() })) }
	register := func() (err error) { r, err = d.api.registerGL(name, 0); return err }
	mapped := func() error { _, _, err := d.api.mapped(r); return err }
	mapIt := func() error { return d.api.mapResource(r, s) }
	unmap := func() error { return d.api.unmapResource(r, s) }
	unregister := func() error { return d.api.unregister(r) }
	onGL := func() error { _, err := d.api.onGL(0); return err }
	const invalidValue, alreadyMapped, notMapped, wrongContext, invalidHandle, noCapture = 1, 208, 211, 219, 400, 900

	gputest.Elsewhere(func() { code(wrongContext, register); code(wrongContext, onGL) })
	code(invalidValue, func() error { _, err := d.api.registerGL(12345, 0); return err })
	code(invalidValue, func() error { _, err := d.api.registerGL(name, 3); return err })
	code(invalidValue, func() error { _, err := d.api.registerGL(gl.Name(t), 0); return err })
	ok(register)
	code(notMapped, mapped)
	code(notMapped, unmap)
	gputest.Elsewhere(func() { code(wrongContext, mapIt); code(wrongContext, unregister) })
	ok(mapIt)
	code(alreadyMapped, mapIt)
	code(alreadyMapped, unregister) // closed while it is mapped
	gputest.Elsewhere(func() { code(wrongContext, unmap) })
	capture, err := q.Capture(func() error { code(noCapture, unmap); return nil })
	require.NoError(t, err)
	require.NoError(t, capture.Close())
	ok(mapped)
	ok(unmap)
	ok(unregister)
	code(invalidHandle, unregister)
	code(invalidHandle, mapIt)
}

// The address changes each time; a discarded content is gone; and GL cannot use a lent buffer.
func TestSimulatedGLMemory(t *testing.T) {
	simulated(t)
	gl, dev := openGL(t)
	data := bytes.Repeat([]byte{42}, 64)
	name := gl.Buffer(t, data)
	q := gputest.Queue(t, dev)
	seen := map[uintptr]bool{}
	for _, use := range []device.GLUse{device.GLRead, device.GLReadWrite, device.GLWrite} {
		b, err := dev.ShareGL(name, use)
		require.NoError(t, err)
		for range 3 {
			m, err := b.Acquire(q)
			require.NoError(t, err)
			assert.False(t, seen[handleOf(m)])
			seen[handleOf(m)] = true
			assert.Equal(t, use != device.GLWrite, bytes.Equal(data, gputest.Read(t, q, m)))
			assert.NotZero(t, gl.TryBytes(name, 64))
			require.NoError(t, b.Release(q))
			if use == device.GLWrite {
				gl.Write(t, name, data)
			}
		}
		require.NoError(t, b.Close())
	}
}
