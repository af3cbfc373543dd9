package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// counted is work whose units are counted, and may be held up.
type counted struct {
	done  []atomic.Int32
	hold  func(unit int64)
	share share
}

func (c *counted) part(lo, hi int64, _ *scratch) {
	for u := lo; u < hi; u++ {
		if c.hold != nil {
			c.hold(u)
		}
		c.done[u].Add(1)
	}
}

func (c *counted) run(all *workers, units, grain int64, want int) {
	c.done = make([]atomic.Int32, units)
	c.share.work, c.share.units, c.share.grain = c, units, grain
	all.run(&c.share, want, new(scratch))
}

func (c *counted) once(t *testing.T) {
	t.Helper()
	for u := range c.done {
		if n := c.done[u].Load(); n != 1 {
			t.Fatalf("unit %d was done %d times", u, n)
		}
	}
}

func processors(t *testing.T, n int) {
	old := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

func (w *workers) state() (alive, idle, open int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.alive, len(w.idle), len(w.open)
}

func TestWorkersDoAllOnce(t *testing.T) {
	processors(t, 4)
	var all workers
	var most atomic.Int32
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			var w counted
			for units := int64(1); units < 400; units += 7 {
				w.run(&all, units, 1+units%5, int(units%6))
				w.once(t)
				alive, _, _ := all.state()
				most.Store(max(most.Load(), int32(alive)))
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, most.Load(), int32(3), "one processor fewer than there are")
	_, _, open := all.state()
	require.Zero(t, open)
}

// Workers come, up to one for each processor but the caller's, and to the limit.
func TestWorkersHelp(t *testing.T) {
	processors(t, 4)
	var all workers
	for _, want := range []int{0, 1, 2, 3, 10} {
		var w counted
		var at, most atomic.Int32
		w.hold = func(int64) {
			n := at.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(2 * time.Millisecond)
			at.Add(-1)
		}
		w.run(&all, 40, 1, want)
		w.once(t)
		require.EqualValues(t, 1+min(want, 3), most.Load(), "%d wanted", want)
	}
}

// A call does not wait for workers that have not come: here all processors are
// kept from them.
func TestNobodyWaitsForWorkers(t *testing.T) {
	processors(t, 2)
	var all workers
	var first, second counted
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	first.hold = func(unit int64) {
		if unit == 1 {
			once.Do(func() { close(entered) })
			<-release
		}
	}
	var group sync.WaitGroup
	group.Go(func() { first.run(&all, 2, 1, 1) })
	<-entered // caller or worker: one of them is held, and the other is through or waits for it
	finished := make(chan struct{})
	go func() {
		second.run(&all, 100, 1, 1)
		close(finished)
	}()
	select {
	case <-finished:
	case <-time.After(20 * time.Second):
		t.Fatal("a call waits for another's work")
	}
	second.once(t)
	close(release)
	group.Wait()
	first.once(t)
}

// Who is at work beside two calls leaves the one for the other.
func TestWorkersAreFair(t *testing.T) {
	processors(t, 6)
	var all workers
	var long, late counted
	inLate := map[int64]bool{}
	var mu sync.Mutex
	started := make(chan struct{})
	var once sync.Once
	var helped atomic.Int32
	long.hold = func(unit int64) {
		if unit > 20 {
			once.Do(func() { close(started) })
		}
		time.Sleep(time.Millisecond)
	}
	var at atomic.Int32
	late.hold = func(unit int64) {
		n := at.Add(1)
		for m := helped.Load(); n > m && !helped.CompareAndSwap(m, n); m = helped.Load() {
		}
		time.Sleep(time.Millisecond)
		at.Add(-1)
		mu.Lock()
		inLate[unit] = true
		mu.Unlock()
	}
	var group sync.WaitGroup
	group.Go(func() { long.run(&all, 600, 1, 5) })
	<-started
	late.run(&all, 60, 1, 5)
	late.once(t)
	require.GreaterOrEqual(t, helped.Load(), int32(2), "its caller and some of four workers")
	require.LessOrEqual(t, helped.Load(), int32(4))
	require.Len(t, inLate, 60)
	group.Wait()
	long.once(t)
}

func TestWorkersFollowGOMAXPROCS(t *testing.T) {
	processors(t, 8)
	var all workers
	slow := func(int64) { time.Sleep(time.Millisecond) }
	w := counted{hold: slow}
	w.run(&all, 100, 1, 7)
	alive, _, _ := all.state()
	require.Equal(t, 7, alive)
	runtime.GOMAXPROCS(2)
	w.run(&all, 100, 1, 7)
	require.Eventually(t, func() bool {
		alive, _, _ := all.state()
		return alive <= 7
	}, 10*time.Second, time.Millisecond)
	runtime.GOMAXPROCS(1)
	var at, most atomic.Int32
	w.hold = func(int64) {
		most.Store(max(most.Load(), at.Add(1)))
		time.Sleep(time.Millisecond)
		at.Add(-1)
	}
	w.run(&all, 20, 1, 7)
	require.EqualValues(t, 1, most.Load())
	w.once(t)
}

// Workers with nothing to do end: after a while, and with the last device.
func TestWorkersEnd(t *testing.T) {
	processors(t, 4)
	var all workers
	gone := func() bool {
		alive, idle, _ := all.state()
		return alive == 0 && idle == 0
	}
	slow := func(int64) { time.Sleep(time.Millisecond) }
	w := counted{hold: slow}
	w.run(&all, 40, 1, 3)
	alive, _, _ := all.state()
	require.NotZero(t, alive)
	require.Eventually(t, gone, 30*time.Second, 5*time.Millisecond)

	all.opened()
	all.opened()
	w.run(&all, 40, 1, 3)
	all.closed()
	require.Eventually(t, func() bool { alive, idle, _ := all.state(); return idle == alive }, 30*time.Second, time.Millisecond)
	all.closed()
	require.True(t, gone(), "at once")
	w.run(&all, 40, 1, 3) // it still works
	w.once(t)
}

// A bubble of testing/synctest takes every goroutine that is left in it for a
// deadlock, and panics where one from outside touches a channel that was made in it.
func TestWorkersInBubbles(t *testing.T) {
	processors(t, 4)
	var all workers
	calls := func(t *testing.T) {
		for range 20 {
			w := counted{hold: func(int64) { runtime.Gosched() }}
			w.run(&all, 2000, 1, 3)
			w.once(t)
		}
	}
	synctest.Test(t, func(t *testing.T) { calls(t) }) // workers are born inside
	calls(t)
	synctest.Test(t, func(t *testing.T) { calls(t) }) // and these outside
	calls(t)
}

// meet is work that is done when two have come: what a worker costs until it is there.
type meet struct{ came atomic.Int32 }

func (m *meet) part(int64, int64, *scratch) {
	m.came.Add(1)
	for m.came.Load() < 2 {
	}
}

// BenchmarkWorkers compares a parked worker with a new goroutine, by the time until both
// are at work and done, and that of a call which finds nobody to help.
func BenchmarkWorkers(b *testing.B) {
	if runtime.GOMAXPROCS(0) < 2 {
		b.Skip("one processor")
	}
	b.Run("workers", func(b *testing.B) {
		var all workers
		for b.Loop() {
			var m meet
			s := share{work: &m, units: 2, grain: 1}
			all.run(&s, 1, nil)
		}
	})
	b.Run("go", func(b *testing.B) {
		var wait sync.WaitGroup
		for b.Loop() {
			var m meet
			wait.Go(func() { m.part(0, 1, nil) })
			m.part(1, 2, nil)
			wait.Wait()
		}
	})
	b.Run("workers-late", func(b *testing.B) { // whoever comes, comes too late
		var all workers
		var w counted
		w.done = make([]atomic.Int32, 2)
		for b.Loop() {
			w.share.work, w.share.units, w.share.grain = &w, 2, 1
			all.run(&w.share, 1, nil)
		}
	})
	b.Run("go-late", func(b *testing.B) {
		var wait sync.WaitGroup
		for b.Loop() {
			wait.Go(func() {})
			wait.Wait()
		}
	})
}
