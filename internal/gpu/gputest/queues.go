package gputest

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
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/layout"
)

// Queues runs the tests of queues, events and transfers, each on devices from open, which the
// end of the test closes.
func Queues(t *testing.T, open func(testing.TB) *gpu.Device) {
	for name, test := range map[string]func(*testing.T, func(testing.TB) *gpu.Device){
		"SteadyState":    steadyState,
		"Async":          async,
		"TimedEvents":    timedEvents,
		"ManyQueues":     manyQueues,
		"Chains":         chains,
		"CloseMeanwhile": closeMeanwhile,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// The steady state of a queue allocates nothing.
func steadyState(t *testing.T, open func(testing.TB) *gpu.Device) {
	dev := open(t)
	q := Queue(t, dev)
	a, b := Alloc(t, dev, 4096), Alloc(t, dev, 4096)
	dst, src := Matrix(b, []int64{8, 8}, []int64{8, 1}), Matrix(a, []int64{8, 8}, []int64{1, 8})
	wide, narrow := Bytes(b, 64), Bytes(a, 64)
	half := wide
	half.Type = layout.Float16
	wide.Type, narrow.Type = layout.Int8, layout.Int4
	pattern, data := []byte{1, 2, 3, 4}, make([]byte, 256)
	to, from, at, by := Take(Alloc(t, dev, 64), Alloc(t, dev, 64), a)
	indices, zero := []layout.Index{by}, []byte{0}
	for name, f := range map[string]func() error{
		"Copy":      func() error { return q.Copy(dst, src) },
		"TwoCopies": func() error { return errors.Join(q.Copy(dst, src), q.Copy(src, dst)) },
		"Fill":      func() error { return q.Fill(dst, pattern) },
		"Convert":   func() error { return q.Convert(wide, narrow, device.Rounding{}) },
		"Cast":      func() error { return q.Convert(half, narrow, device.Rounding{Unsaturated: true}) },
		"Take": func() error {
			return errors.Join(q.Fill(Bytes(a, 64), zero), q.Take(to, from, at, indices...), q.Wait())
		},
		"Write": func() error { return q.Write(b, 0, data) },
		"Read":  func() error { return q.Read(data, b, 0) },
		"Wait":  q.Wait,
	} {
		require.NoError(t, f())
		allocs := testing.AllocsPerRun(50, func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
		if !race.Enabled { // under it, sync.Pool, which purego uses, drops items at random
			assert.Zero(t, allocs, name)
		}
	}
	require.NoError(t, q.Wait())
}

// Take is a take of bytes: its operands and the index.
func Take(dst, src, at device.Buffer) (d, s, a device.Operand, by layout.Index) {
	const n = 8
	d, s, a = Bytes(dst, n), operand(src, layout.Uint8, []int64{n}, []int64{0}, 0), Bytes(at, n)
	a.Type = layout.Int64
	return d, s, a, layout.Index{Extent: n, Stride: 1}
}

// spoil makes the first bytes of a buffer depend on an index out of range.
func spoil(tb testing.TB, q *gpu.Queue, b device.Buffer) {
	at := Alloc(tb, q, 64)
	require.NoError(tb, q.Write(at, 0, bytes.Repeat([]byte{100, 0, 0, 0, 0, 0, 0, 0}, 8)))
	d, s, a, by := Take(b, Alloc(tb, q, 64), at)
	require.NoError(tb, q.Take(d, s, a, by))
}

// Transfers without waits, between devices and both pinned and Go memory.
func async(t *testing.T, open func(testing.TB) *gpu.Device) {
	dev := open(t)
	q := Queue(t, dev)
	const size = 1 << 20
	b := Alloc(t, dev, size)
	pinned, err := dev.AllocHost(size)
	require.NoError(t, err)
	for i, host := range [][]byte{make([]byte, size), pinned, make([]byte, size+3)[3:]} {
		copy(host, Random(size, uint64(i)))
		back := make([]byte, size)
		_, err := q.WriteAsync(b, 0, host)
		require.NoError(t, err)
		e, err := q.ReadAsync(back, b, 0)
		require.NoError(t, err)
		runtime.GC() // memory in use must survive
		require.NoError(t, e.Wait())
		require.True(t, e.Done())
		assert.True(t, bytes.Equal(host, back))
	}
	_, err = q.ReadAsync(make([]byte, size), b, 0) // its event is dropped
	require.NoError(t, err)
	require.NoError(t, q.Wait())
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
	left, err := dev.AllocHost(100)
	require.NoError(t, err)
	_, err = q.WriteAsync(b, 0, left)
	require.NoError(t, err)
	require.NoError(t, dev.Close(), "with a transfer under way")
	_, err = q.WriteAsync(b, 0, nil)
	require.ErrorIs(t, err, device.ErrClosed)
}

// Events measure time, and outlive their queue and device; not every driver keeps the times of
// a closed device.
func timedEvents(t *testing.T, open func(testing.TB) *gpu.Device) {
	dev, stranger := open(t), open(t)
	q := Queue(t, dev)
	b := Alloc(t, dev, 16<<20)
	Fill(t, q, b, 0)
	from, err := q.Record()
	require.NoError(t, err)
	Fill(t, q, b, 1)
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

	foreign, err := Queue(t, stranger).Record()
	require.NoError(t, err)
	for _, other := range []device.Event{nil, foreign} {
		_, err = to.(device.TimedEvent).Since(other)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorIs(t, q.WaitFor(other), device.ErrInvalid)
	}
	require.NoError(t, q.Close())
	again, err := to.(device.TimedEvent).Since(from)
	require.NoError(t, err)
	assert.Equal(t, d, again)
	require.NoError(t, dev.Close())
	again, err = to.(device.TimedEvent).Since(from)
	if err != nil {
		require.ErrorIs(t, err, device.ErrClosed)
	} else {
		assert.Equal(t, d, again)
	}
	for _, e := range []device.Event{from, to} {
		require.NoError(t, e.Wait())
		assert.True(t, e.Done())
	}
	runtime.GC() // releases the events after everything else
}

// Sixteen goroutines, with a queue each, make all kinds of calls; every other queue is closed
// by the device.
func manyQueues(t *testing.T, open func(testing.TB) *gpu.Device) {
	dev := open(t)
	var group sync.WaitGroup
	shared := Alloc(t, dev, 1<<12)
	before, err := Queue(t, dev).Record()
	require.NoError(t, err)
	for w := range 16 {
		q := Queue(t, dev)
		group.Go(func() {
			for i := range 40 {
				data := Random(1<<12, uint64(w*100+i))
				b, err := dev.Alloc(1 << 12)
				assert.NoError(t, err)
				assert.NoError(t, q.WaitFor(before))
				assert.NoError(t, q.Write(b, 0, data))
				assert.NoError(t, q.Copy(Matrix(shared, []int64{8}, []int64{16}), Matrix(b, []int64{8}, []int64{int64(1 + i)})))
				e, err := q.Record()
				assert.NoError(t, err)
				_ = e.Done()
				got := make([]byte, len(data))
				assert.NoError(t, q.Read(got, b, 0))
				assert.True(t, e.Done())
				assert.True(t, bytes.Equal(data, got))
				assert.NoError(t, q.Fill(Words(b, 0, 8), []byte{1, 2, 3, 4}))
				assert.NoError(t, b.Free())
			}
			if w%2 == 0 {
				assert.NoError(t, q.Close())
			}
		})
	}
	group.Wait()
	require.NoError(t, shared.Free())
	require.NoError(t, dev.Close())
}

// A chain of calls that runs ahead of the device needs no more memory than one that waits, and
// computes the same result.
func chains(t *testing.T, open func(testing.TB) *gpu.Device) {
	dev := open(t)
	q := Queue(t, dev)
	const size = 1 << 16
	want := Random(size, 7)
	x := Alloc(t, q, size)
	require.NoError(t, q.Write(x, 0, want))
	for range 200 {
		y := Alloc(t, q, size)
		require.NoError(t, q.Copy(Bytes(y, size), Bytes(x, size)))
		require.NoError(t, x.Free())
		x = y
	}
	assert.LessOrEqual(t, dev.Stats().Reserved, int64(3*size))
	require.Equal(t, want, Read(t, q, x))
	require.NoError(t, x.Free())
}

// Device.Close may come at any time, with goroutines at work: each call succeeds, or reports
// that the device is closed.
func closeMeanwhile(t *testing.T, open func(testing.TB) *gpu.Device) {
	for range 5 {
		dev := open(t)
		var group sync.WaitGroup
		for range 16 {
			q := Queue(t, dev)
			group.Go(func() {
				for {
					b, err := dev.Alloc(4096)
					if err == nil {
						err = q.Fill(Bytes(b, 4096), []byte{1})
					}
					if err == nil && rand.IntN(4) == 0 {
						var e device.Event
						if e, err = q.Record(); err == nil {
							_ = e.Done()
							err = e.Wait()
						}
					}
					if err == nil {
						err = b.Free()
					}
					if err != nil {
						assert.ErrorIs(t, err, device.ErrClosed)
						_ = q.Close()
						return
					}
					if rand.IntN(100) == 0 {
						assert.NotErrorIs(t, q.Close(), device.ErrDriver)
						return
					}
				}
			})
		}
		for dev.Stats().Launches < 50 {
			runtime.Gosched()
		}
		require.NoError(t, dev.Close())
		group.Wait()
		assert.Zero(t, dev.Stats().Reserved)
		runtime.GC() // releases events of a driver that is closed
	}
}
