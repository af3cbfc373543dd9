package cuda

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
	"github.com/restride/restride/internal/race"
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
	dev := openTest(t)
	q := queueOf(t, dev)
	dsts, src := copies(t, dev)
	wide := device.Operand{Buffer: dsts[0].Buffer, Layout: row(nil, 0, 64).Layout, Type: layout.Int8}
	narrow := device.Operand{Buffer: src.Buffer, Layout: row(nil, 0, 64).Layout, Type: layout.Int4}
	single := wide
	single.Type = layout.Float32
	pattern, data := []byte{1, 2, 3, 4}, make([]byte, 256)
	for name, f := range map[string]func() error{
		"Copy":    func() error { return q.Copy(dsts[0], src) },
		"Turns":   func() error { return errors.Join(q.Copy(dsts[0], src), q.Fill(dsts[1], pattern)) },
		"Fill":    func() error { return q.Fill(dsts[0], pattern) },
		"Convert": func() error { return q.Convert(wide, narrow, device.Rounding{}) },
		"Cast":    func() error { return q.Convert(single, narrow, device.Rounding{}) },
		"Write":   func() error { return q.Write(dsts[0].Buffer, 0, data) },
		"Read":    func() error { return q.Read(data, dsts[0].Buffer, 0) },
	} {
		require.NoError(t, f())
		allocs := testing.AllocsPerRun(50, func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
		if !race.Enabled { // under it sync.Pool, which purego uses, forgets at random
			assert.Zero(t, allocs, name)
		}
	}
	require.NoError(t, q.Wait())
}

// Transfers that are not waited for, from and to pinned memory and Go's.
func TestAsync(t *testing.T) {
	dev := openTest(t)
	q := queueOf(t, dev).(device.AsyncQueue)
	const size = 1 << 20
	b := alloc(t, dev, size)
	pinned, err := dev.AllocHost(size)
	require.NoError(t, err)
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
	left, err := dev.AllocHost(100)
	require.NoError(t, err)
	_, err = q.WriteAsync(b, 0, left)
	require.NoError(t, err)
	require.NoError(t, dev.Close(), "with a transfer under way")
}

// Events keep time, and outlive their queue and device.
func TestEvents(t *testing.T) {
	dev := openTest(t)
	q := queueOf(t, dev)
	b := alloc(t, dev, 1<<20)
	from, err := q.Record()
	require.NoError(t, err)
	require.NoError(t, q.Fill(row(b, 0, 1<<18), []byte{1, 2, 3, 4}))
	to, err := q.Record()
	require.NoError(t, err)
	require.NoError(t, to.Wait())
	d, err := to.(device.TimedEvent).Since(from)
	require.NoError(t, err)
	assert.Positive(t, d)
	assert.Less(t, d, time.Minute)
	require.NoError(t, q.Close())
	_, err = to.(device.TimedEvent).Since(from)
	require.NoError(t, err)
	require.NoError(t, dev.Close())
	assert.True(t, from.Done())
	require.NoError(t, from.Wait())
	_, err = to.(device.TimedEvent).Since(from)
	require.ErrorIs(t, err, device.ErrClosed)
	runtime.GC() // they are released after all is gone
}

// Few events serve many marks.
func TestEventsAreReused(t *testing.T) {
	k := simulated(t)
	dev := openTest(t)
	s, err := dev.driver.NewStream()
	require.NoError(t, err)
	before := k.counter("cuEventCreate")
	for range 100 {
		m, err := s.Record()
		require.NoError(t, err)
		require.NoError(t, m.Wait())
		m.Release()
	}
	assert.LessOrEqual(t, k.counter("cuEventCreate")-before, 1)
	require.NoError(t, s.Close())
}

// Descriptors of launches that are forgotten come back, and at the end all does.
func TestDescriptorsAreFreed(t *testing.T) {
	k := simulated(t)
	before := k.counter("allocations")
	dev := openTest(t)
	q := queueOf(t, dev)
	b := alloc(t, dev, 1<<13)
	strides := []int64{512, 256, 128, 64, 32, 16, 8, 4, 1} // too many axes to be remembered
	dims := []int64{2, 2, 2, 2, 2, 2, 2, 2, 2}
	for range mostRetired + 100 {
		require.NoError(t, q.Fill(floats(b, dims, strides), []byte{1, 2, 3, 4}))
	}
	assert.Less(t, k.counter("allocations")-before, mostRetired)

	// Those of a graph stay as long as it; others need not wait for that.
	r, err := q.(device.Recorder).Capture(func() error { return q.Fill(floats(b, dims, strides), []byte{5, 6, 7, 8}) })
	require.NoError(t, err)
	for range 2 * mostRetired {
		require.NoError(t, q.Fill(floats(b, dims, strides), []byte{1, 2, 3, 4}))
	}
	assert.Less(t, k.counter("allocations")-before, mostRetired+100)
	require.NoError(t, r.Run())
	got := make([]byte, 4)
	require.NoError(t, q.Read(got, b, 0))
	assert.Equal(t, []byte{5, 6, 7, 8}, got)
	require.NoError(t, r.Close())
	require.NoError(t, dev.Close())
	assert.Equal(t, before, k.counter("allocations"))
}

// Sixteen goroutines, a queue each, all kinds of calls; then Close with work in
// flight.
func TestManyQueues(t *testing.T) {
	dev := openTest(t)
	shared := alloc(t, dev, 1<<12)
	before, err := queueOf(t, dev).Record()
	require.NoError(t, err)
	var group sync.WaitGroup
	for w := range 16 {
		q := queueOf(t, dev)
		group.Go(func() {
			for i := range 40 {
				data := random(1<<12, uint64(w*100+i))
				b, err := dev.Alloc(1 << 12)
				assert.NoError(t, err)
				assert.NoError(t, q.WaitFor(before))
				assert.NoError(t, q.Write(b, 0, data))
				assert.NoError(t, q.Copy(floats(shared, []int64{8}, []int64{16}), floats(b, []int64{8}, []int64{int64(1 + i)})))
				e, err := q.Record()
				assert.NoError(t, err)
				_ = e.Done()
				got := make([]byte, len(data))
				assert.NoError(t, q.Read(got, b, 0))
				assert.True(t, e.Done())
				assert.True(t, bytes.Equal(data, got))
				assert.NoError(t, q.Fill(row(b, 0, 8), []byte{1, 2, 3, 4}))
				assert.NoError(t, b.Free())
			}
		})
	}
	group.Wait()
	require.NoError(t, dev.Close())
}

// A device is closed while goroutines are at it: each call works, or says that
// the device is closed.
func TestCloseMeanwhile(t *testing.T) {
	for range 5 {
		dev := openTest(t)
		var group sync.WaitGroup
		for range 8 {
			q := queueOf(t, dev)
			b := alloc(t, dev, 1<<12)
			group.Go(func() {
				for {
					err := q.Fill(row(b, 0, 1<<10), []byte{1, 2, 3, 4})
					if err == nil {
						var e device.Event
						if e, err = q.Record(); err == nil {
							_ = e.Done()
							err = e.Wait()
						}
					}
					if err != nil {
						assert.ErrorIs(t, err, device.ErrClosed)
						return
					}
				}
			})
		}
		time.Sleep(10 * time.Millisecond)
		require.NoError(t, dev.Close())
		group.Wait()
		runtime.GC()
	}
}
