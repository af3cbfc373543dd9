package opencl

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

func random(n int, seed uint64) []byte {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// The steady state of a queue allocates nothing.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	dev := openTest(t, Options{})
	q := queueOf(t, dev)
	a, err := dev.Alloc(4096)
	require.NoError(t, err)
	b, err := dev.Alloc(4096)
	require.NoError(t, err)
	dst, src := floats(b, []int64{8, 8}, []int64{8, 1}), floats(a, []int64{8, 8}, []int64{1, 8})
	wide := device.Operand{Buffer: b, Layout: row(64), Type: layout.Int8}
	narrow := device.Operand{Buffer: a, Layout: row(64), Type: layout.Int4}
	pattern, data := []byte{1, 2, 3, 4}, make([]byte, 256)
	for name, f := range map[string]func() error{
		"Copy":    func() error { return q.Copy(dst, src) },
		"Turns":   func() error { return errors.Join(q.Copy(dst, src), q.Copy(src, dst)) },
		"Fill":    func() error { return q.Fill(dst, pattern) },
		"Convert": func() error { return q.Convert(wide, narrow) },
		"Write":   func() error { return q.Write(b, 0, data) },
		"Read":    func() error { return q.Read(data, b, 0) },
	} {
		require.NoError(t, f())
		allocs := testing.AllocsPerRun(50, func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
		if !raced {
			assert.Zero(t, allocs, name)
		}
	}
	require.NoError(t, q.Wait())
}

// Writes of all sizes, through staging and past it, with the source changed at
// once.
func TestWrites(t *testing.T) {
	for _, onHost := range []bool{true, false} {
		dev := openTest(t, Options{})
		dev.proc.onHost = onHost
		q := queueOf(t, dev)
		const size = 9 << 20
		b, err := dev.Alloc(size)
		require.NoError(t, err)
		model := random(size, 1)
		host := make([]byte, size)
		write := func(off, n int) {
			copy(model[off:off+n], random(n, uint64(off+n)))
			copy(host, model[off:off+n])
			require.NoError(t, q.Write(b, int64(off), host[:n]))
			clear(host[:n])
		}
		copy(host, model)
		require.NoError(t, q.Write(b, 0, host))
		clear(host)
		rng := rand.New(rand.NewPCG(7, 7))
		for _, n := range []int{1, 63, 64, 65, directWrite - 1, directWrite, slotSize - 1, slotSize, slotSize + 1, 4 * slotSize, 5*slotSize + 3} {
			write(rng.IntN(size-n), n)
		}
		for range 3000 {
			n := 1 + rng.IntN(3000)
			write(rng.IntN(size-n), n)
		}
		got := make([]byte, size)
		require.NoError(t, q.Read(got, b, 0))
		require.True(t, bytes.Equal(got, model), "on the host: %v", onHost)
		require.NoError(t, dev.Close())
		assert.Zero(t, dev.held, "staging memory is given back")
	}
}

func TestAsync(t *testing.T) {
	dev := openTest(t, Options{})
	q := queueOf(t, dev)
	const size = 1 << 20
	b, err := dev.Alloc(size)
	require.NoError(t, err)
	pinned, err := dev.AllocHost(size)
	require.NoError(t, err)
	require.Len(t, pinned, size)
	for i, host := range [][]byte{make([]byte, size), pinned, make([]byte, size+3)[3:]} {
		copy(host, random(size, uint64(i)))
		back := make([]byte, size)
		_, err := q.WriteAsync(b, 0, host)
		require.NoError(t, err)
		e, err := q.ReadAsync(back, b, 0)
		require.NoError(t, err)
		runtime.GC() // what is under way stays
		require.NoError(t, e.Wait())
		require.True(t, e.Done())
		assert.True(t, bytes.Equal(host, back))
	}
	_, err = q.ReadAsync(make([]byte, size), b, 0) // nobody looks
	require.NoError(t, err)
	require.NoError(t, q.Wait())
	assert.Empty(t, q.pins)
	assert.EqualValues(t, 3, dev.Stats().Uploads)
	assert.EqualValues(t, 4, dev.Stats().Downloads)

	e, err := q.WriteAsync(b, size, nil)
	require.NoError(t, err)
	require.NoError(t, e.Wait())
	_, err = q.WriteAsync(b, 1, pinned)
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = q.ReadAsync(pinned, nil, 0)
	require.ErrorIs(t, err, device.ErrInvalid)

	require.NoError(t, dev.FreeHost(pinned))
	require.ErrorIs(t, dev.FreeHost(pinned), device.ErrInvalid)
	require.ErrorIs(t, dev.FreeHost(make([]byte, 3)), device.ErrInvalid)
	_, err = dev.AllocHost(-1)
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = dev.AllocHost(1 << 60)
	require.ErrorIs(t, err, device.ErrOutOfMemory)
	none, err := dev.AllocHost(0)
	require.NoError(t, err)
	require.NoError(t, dev.FreeHost(none))
	left, err := dev.AllocHost(100)
	require.NoError(t, err)
	left[99] = 1
	_, err = q.WriteAsync(b, 0, left)
	require.NoError(t, err)
	require.NoError(t, dev.Close(), "with a transfer under way")
	assert.Empty(t, q.pins)
	require.ErrorIs(t, dev.FreeHost(left), device.ErrClosed)
	_, err = dev.AllocHost(1)
	require.ErrorIs(t, err, device.ErrClosed)
	_, err = q.WriteAsync(b, 0, nil)
	require.ErrorIs(t, err, device.ErrClosed)
}

func TestTimedEvents(t *testing.T) {
	dev, stranger := openTest(t, Options{}), openTest(t, Options{})
	q := queueOf(t, dev)
	b, err := dev.Alloc(16 << 20)
	require.NoError(t, err)
	fill(t, q, b, 0)
	from, err := q.Record()
	require.NoError(t, err)
	fill(t, q, b, 1)
	to, err := q.Record()
	require.NoError(t, err)
	require.NoError(t, q.Wait())
	d, err := to.(device.TimedEvent).Since(from)
	if errors.Is(err, device.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	assert.Positive(t, d)
	assert.Less(t, d, time.Minute)
	back, err := from.(device.TimedEvent).Since(to)
	require.NoError(t, err)
	assert.Equal(t, -d, back)

	foreign, err := queueOf(t, stranger).Record()
	require.NoError(t, err)
	for _, other := range []device.Event{nil, foreign, (*event)(nil)} {
		_, err = to.(device.TimedEvent).Since(other)
		require.ErrorIs(t, err, device.ErrInvalid)
	}
	require.NoError(t, dev.Close())
	again, err := to.(device.TimedEvent).Since(from)
	require.NoError(t, err, "events outlive all")
	assert.Equal(t, d, again)
	require.NoError(t, to.Wait())
}

// Events that nobody waits for are given back when nobody has them.
func TestEventsAreReleased(t *testing.T) {
	dev := openTest(t, Options{})
	q := queueOf(t, dev)
	marks := make([]*mark, 100)
	for i := range marks {
		e, err := q.Record()
		require.NoError(t, err)
		marks[i] = e.(*event).mark
	}
	left := func() (n int) {
		for _, m := range marks {
			m.mu.Lock()
			if m.event != 0 {
				n++
			}
			m.mu.Unlock()
		}
		return n
	}
	for range 100 {
		runtime.GC()
		if left() == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	assert.Zero(t, left())
}

// Sixteen goroutines, a queue each, all kinds of calls.
func TestManyQueues(t *testing.T) {
	dev := openTest(t, Options{})
	var group sync.WaitGroup
	shared, err := dev.Alloc(1 << 12)
	require.NoError(t, err)
	before, err := queueOf(t, dev).Record()
	require.NoError(t, err)
	for w := range 16 {
		q := queueOf(t, dev)
		group.Go(func() {
			for i := range 40 {
				data := random(1<<12, uint64(w*100+i))
				b, err := dev.Alloc(1 << 12)
				assert.NoError(t, err)
				assert.NoError(t, q.WaitFor(before))
				assert.NoError(t, q.Write(b, 0, data))
				assert.NoError(t, q.Copy(floats(shared, []int64{8}, []int64{16}), floats(b, []int64{8}, []int64{1})))
				e, err := q.Record()
				assert.NoError(t, err)
				_ = e.Done()
				got := make([]byte, len(data))
				assert.NoError(t, q.Read(got, b, 0))
				assert.True(t, e.Done())
				assert.True(t, bytes.Equal(data, got))
				assert.NoError(t, b.Free())
			}
			assert.NoError(t, q.Close())
		})
	}
	group.Wait()
	require.NoError(t, shared.Free())
}

func TestKernelName(t *testing.T) {
	dev := openTest(t, Options{})
	q := queueOf(t, dev)
	a, err := dev.Alloc(1 << 16)
	require.NoError(t, err)
	b, err := dev.Alloc(1 << 16)
	require.NoError(t, err)
	dense := floats(a, []int64{64, 64}, []int64{64, 1})
	assert.Contains(t, q.KernelName(dense, floats(b, []int64{64, 64}, []int64{64, 1})), "contiguous")
	assert.Contains(t, q.KernelName(dense, floats(b, []int64{64, 64}, []int64{1, 64})), "transpose.32")
	assert.Equal(t, "nothing", q.KernelName(floats(a, []int64{0}, []int64{1}), floats(b, []int64{0}, []int64{1})))
	assert.Empty(t, q.KernelName(dense, dense))
}
