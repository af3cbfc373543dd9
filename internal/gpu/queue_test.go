package gpu_test

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

// The steady state of a queue allocates nothing.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		dev := open(nil)
		q := queueOf(t, dev)
		a, b := alloc(t, dev, 4096), alloc(t, dev, 4096)
		dst, src := floats(b, []int64{8, 8}, []int64{8, 1}), floats(a, []int64{8, 8}, []int64{1, 8})
		wide, narrow := row(b, 64), row(a, 64)
		half := wide
		half.Type = layout.Float16
		wide.Type, narrow.Type = layout.Int8, layout.Int4
		pattern, data := []byte{1, 2, 3, 4}, make([]byte, 256)
		to, from, at, by := gathered(alloc(t, dev, 64), alloc(t, dev, 64), a)
		indices, zero := []device.Index{by}, []byte{0}
		for name, f := range map[string]func() error{
			"Copy":    func() error { return q.Copy(dst, src) },
			"Turns":   func() error { return errors.Join(q.Copy(dst, src), q.Copy(src, dst)) },
			"Fill":    func() error { return q.Fill(dst, pattern) },
			"Convert": func() error { return q.Convert(wide, narrow, device.Rounding{}) },
			"Cast":    func() error { return q.Convert(half, narrow, device.Rounding{Unsaturated: true}) },
			"Take":    func() error { return errors.Join(q.Fill(row(a, 64), zero), q.Take(to, from, at, indices...), q.Wait()) },
			"Write":   func() error { return q.Write(b, 0, data) },
			"Read":    func() error { return q.Read(data, b, 0) },
			"Wait":    q.Wait,
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
	})
}

// Writes of all sizes, through staging and past it, with the source changed at
// once.
func TestWrites(t *testing.T) {
	const direct = 256 << 10
	each(t, func(t *testing.T, open maker) {
		for name, change := range map[string]func(*gpu.Properties){
			"direct":     func(t *gpu.Properties) { t.Direct, t.Pinned = direct, false },
			"staged":     func(t *gpu.Properties) { t.Direct, t.Pinned = 0, true },
			"not pinned": func(t *gpu.Properties) { t.Direct, t.Pinned = 0, false },
		} {
			dev := open(change)
			q := queueOf(t, dev)
			const size = 9 << 20
			b := alloc(t, dev, size)
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
			const slot = gpu.SlotSize
			for _, n := range []int{1, 63, 64, 65, direct - 1, direct, slot - 1, slot, slot + 1, 4 * slot, 5*slot + 3} {
				write(rng.IntN(size-n), n)
			}
			for range 3000 {
				n := 1 + rng.IntN(3000)
				write(rng.IntN(size-n), n)
			}
			got := make([]byte, size)
			require.NoError(t, q.Read(got, b, 0))
			require.True(t, bytes.Equal(got, model), name)
			require.NoError(t, dev.Close())
			assert.Zero(t, dev.Held(), "staging memory is given back")
		}
	})
}

// Staging memory is written anew when the device has read it, and not before.
func TestStagingWaits(t *testing.T) {
	const slot = gpu.SlotSize
	f := newFake(t)
	dev := open(t, f)
	q := queueOf(t, dev)
	b := alloc(t, dev, 8*slot)
	model := random(8*slot, 1)
	letGo := hold(t, q)
	require.NoError(t, q.Write(b, 0, model[:4*slot]), "there is room for as much")
	assert.Equal(t, 4, f.hostBlocks(), "four slots")
	assert.EqualValues(t, 4, f.events.Load())
	done := make(chan error)
	go func() { done <- q.Write(b, 4*slot, model[4*slot:]) }()
	select {
	case <-done:
		t.Error("there is no room for more")
	case <-time.After(20 * time.Millisecond):
	}
	letGo()
	require.NoError(t, <-done)
	assert.Positive(t, dev.Stats().Waits, "Write has waited")
	got := make([]byte, 8*slot)
	require.NoError(t, q.Read(got, b, 0))
	assert.True(t, bytes.Equal(model, got))
	require.NoError(t, q.Close())
	assert.Zero(t, f.hostBlocks())
	assert.Zero(t, f.events.Load())
}

// Without pinned memory, Go's does.
func TestStagingWithoutPinnedMemory(t *testing.T) {
	f := newFake(t)
	f.fail("AllocHost", device.ErrOutOfMemory)
	dev := open(t, f)
	q := queueOf(t, dev)
	b := alloc(t, dev, 3)
	require.NoError(t, q.Write(b, 0, []byte{1, 2, 3}))
	got := make([]byte, 3)
	require.NoError(t, q.Read(got, b, 0))
	assert.Equal(t, []byte{1, 2, 3}, got)
	assert.Equal(t, b.BlockSize(), dev.Held())
}

func TestAsync(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		dev := open(nil)
		q := queueOf(t, dev)
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
		_, err = q.ReadAsync(make([]byte, size), b, 0) // nobody looks
		require.NoError(t, err)
		require.NoError(t, q.Wait())
		assert.Zero(t, q.Pins())
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
		assert.Zero(t, q.Pins())
		_, err = q.WriteAsync(b, 0, nil)
		require.ErrorIs(t, err, device.ErrClosed)
	})
}

func TestTimedEvents(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		dev, stranger := open(nil), open(nil)
		q := queueOf(t, dev)
		b := alloc(t, dev, 16<<20)
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
		for _, other := range []device.Event{nil, foreign, (*gpu.QueueEvent)(nil)} {
			_, err = to.(device.TimedEvent).Since(other)
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorIs(t, q.WaitFor(other), device.ErrInvalid)
		}
		require.NoError(t, dev.Close())
		again, err := to.(device.TimedEvent).Since(from)
		require.NoError(t, err, "events outlive all")
		assert.Equal(t, d, again)
		require.NoError(t, to.Wait())
		assert.True(t, to.Done())
	})
}

// An event is done when its point is reached, however that is known, and makes
// another queue wait until then.
func TestEvents(t *testing.T) {
	dev := open(t, newFake(t))
	q, other := queueOf(t, dev), queueOf(t, dev)
	b := alloc(t, dev, 64)
	letGo := hold(t, q)
	fill(t, q, b, 1)
	e, err := q.Record()
	require.NoError(t, err)
	_, err = e.(device.TimedEvent).Since(e)
	require.ErrorIs(t, err, device.ErrInvalid, "it is not done")
	require.NoError(t, q.WaitFor(e), "which it does anyway")
	require.NoError(t, other.WaitFor(e))
	after, err := other.Record()
	require.NoError(t, err)
	time.Sleep(5 * time.Millisecond)
	assert.False(t, e.Done())
	assert.False(t, after.Done())
	letGo()
	require.NoError(t, after.Wait())
	assert.True(t, e.Done())
	require.NoError(t, e.Wait())
	require.NoError(t, q.Close())
	assert.True(t, e.Done())
	require.NoError(t, e.Wait())
	require.NoError(t, other.WaitFor(e))
}

// An event waits for work that others queued on the stream, too.
func TestBugEventsOfOthersWork(t *testing.T) {
	dev := open(t, newFake(t))
	q := queueOf(t, dev)
	letGo := hold(t, q)
	require.NoError(t, q.Stream().(*stream).queue("theirs", job{}))
	e, err := q.Record()
	require.NoError(t, err)
	assert.False(t, e.Done())
	letGo()
	require.NoError(t, e.Wait())
	assert.True(t, e.Done())
}

// Events that nobody waits for are given back when nobody has them.
func TestEventsAreReleased(t *testing.T) {
	f := newFake(t)
	q := queueOf(t, open(t, f))
	kept, err := q.Record()
	require.NoError(t, err)
	for range 100 {
		_, err := q.Record()
		require.NoError(t, err)
	}
	for range 100 {
		runtime.GC()
		if f.events.Load() == 1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	assert.EqualValues(t, 1, f.events.Load())
	require.NoError(t, kept.Wait())
}

// Sixteen goroutines, a queue each, all kinds of calls.
func TestManyQueues(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		dev := open(nil)
		var group sync.WaitGroup
		shared := alloc(t, dev, 1<<12)
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
	})
}

func TestKernelName(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		dev := open(nil)
		q := queueOf(t, dev)
		a, b := alloc(t, dev, 1<<16), alloc(t, dev, 1<<16)
		dense := floats(a, []int64{64, 64}, []int64{64, 1})
		assert.Contains(t, q.KernelName(dense, floats(b, []int64{64, 64}, []int64{64, 1})), "dense")
		assert.Contains(t, q.KernelName(dense, floats(b, []int64{64, 64}, []int64{1, 64})), "transpose.32")
		assert.Equal(t, "nothing", q.KernelName(floats(a, []int64{0}, []int64{1}), floats(b, []int64{0}, []int64{1})))
		assert.Empty(t, q.KernelName(dense, dense))
	})
}
