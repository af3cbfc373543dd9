package cpu

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A large call is shared: the calling goroutine works through it in grains, and workers take
// grains of it, too, while there are any. It never waits for a worker that has not started: in a
// busy program, where the scheduler has other goroutines to run, the caller does everything.

const (
	// parallelBytes is the size from which waking workers pays off.
	parallelBytes = 256 << 10
	// denseFactor is how many times larger a dense run must be for that: dense runs move
	// faster than most other copies by this factor.
	denseFactor = 4
	// grainBytes is the largest grain: large enough to hide the cost of taking it, small
	// enough that nobody waits long for the last one. Smaller calls have smaller grains, down
	// to leastGrain, so that late workers find some.
	grainBytes, leastGrain = 128 << 10, 16 << 10
)

// parallelism returns how many goroutines, including the caller, may share work of a size.
func parallelism(units, bytes int64) int {
	if bytes < parallelBytes || units < 2 {
		return 1
	}
	return min(runtime.GOMAXPROCS(0), int(min(units, 2*bytes/parallelBytes)))
}

// grainOf returns the number of units that a goroutine takes at a time.
func grainOf(units, bytes int64, goroutines int) int64 {
	size := min(max(bytes/int64(8*goroutines), leastGrain), grainBytes)
	return max(1, units*size/bytes)
}

// separable reports whether elements below a byte share no byte between groups of 64: they are one
// run that begins with a byte. axis returns an axis's extent and step, in elements.
func separable(origin int64, bits, rank int, axis func(k int) (n, step int64)) bool {
	next := int64(1)
	for k := rank - 1; k >= 0; k-- {
		n, step := axis(k)
		if step != next {
			return false
		}
		next *= n
	}
	return origin*int64(bits)%8 == 0
}

// work is work that can be shared.
type work interface {
	// part does the units [lo, hi).
	part(lo, hi int64, sc *scratch)
}

// share is the sharing of a piece of work.
type share struct {
	work  work
	units int64 // in total
	grain int64 // units taken at a time
	taken atomic.Int64

	want   int32        // the most useful number of workers
	have   atomic.Int32 // changes under the lock of workers
	inside sync.RWMutex // held for reading by workers
}

// left reports whether there are units to take.
func (s *share) left() bool { return s.taken.Load() < s.units }

// step does one grain. False: there was none left.
func (s *share) step(sc *scratch) bool {
	hi := s.taken.Add(s.grain)
	lo := hi - s.grain
	if lo >= s.units {
		return false
	}
	s.work.part(lo, min(hi, s.units), sc)
	return true
}

// workers are the workers of all devices of the process. Together with the callers, they use as
// many processors as the program has: at most one worker fewer than GOMAXPROCS. Concurrent queues
// share them. Idle workers are parked, and end after a while.
type workers struct {
	mu      sync.Mutex
	open    []*share  // which want workers
	idle    []*worker // parked, the latest last
	alive   int
	devices int // open devices

	// least is the fewest workers of a share that wants more and has units left; -1: too many
	// workers are busy.
	least atomic.Int32
}

type worker struct {
	wake  chan struct{} // closed: end
	timer *time.Timer
	brief bool // does not park
	sc    scratch
}

// idleTime is short: starting a goroutine costs hardly more than waking one.
const idleTime = 200 * time.Millisecond

var allWorkers workers

// run does all of a piece of work, with up to want workers.
func (w *workers) run(s *share, want int, sc *scratch) {
	s.taken.Store(0)
	s.want = int32(want)
	s.have.Store(0)
	w.offer(s)
	defer w.end(s) // deferred: a user's kernel may end the goroutine
	for s.step(sc) {
	}
}

// end ends the sharing of work, and waits for workers.
func (w *workers) end(s *share) {
	w.withdraw(s)
	// Workers inside finish their grains. Each has fenced its streamed stores, and the lock
	// orders its other writes before later work.
	s.inside.Lock()
	s.work = nil
	s.inside.Unlock()
}

// offer lists work.
func (w *workers) offer(s *share) {
	w.mu.Lock()
	w.open = append(w.open, s)
	w.recruit()
	w.mu.Unlock()
}

// withdraw ends an offer: no more workers come.
func (w *workers) withdraw(s *share) {
	w.mu.Lock()
	i := slices.Index(w.open, s)
	w.open = slices.Delete(w.open, i, i+1)
	w.recruit() // this caller's processor is free now
	w.mu.Unlock()
}

// room returns how many more workers should be busy.
func (w *workers) room() int {
	return runtime.GOMAXPROCS(0) - max(1, len(w.open)) - w.busy()
}

func (w *workers) busy() int { return w.alive - len(w.idle) }

// recruit wakes or starts the workers that shares want and room allows.
func (w *workers) recruit() {
	room := w.balance()
	if room <= 0 {
		return
	}
	want := 0
	for _, s := range w.open {
		if s.left() {
			want += int(s.want - s.have.Load())
		}
	}
	for range min(room, want) {
		if last := len(w.idle) - 1; last >= 0 {
			w.idle[last].wake <- struct{}{} // its buffer is empty
			w.idle = w.idle[:last]
			continue
		}
		w.alive++
		go w.serve()
	}
}

// serve is the main loop of a worker.
func (w *workers) serve() {
	me := &worker{wake: make(chan struct{}, 1), timer: time.NewTimer(idleTime)}
	defer me.timer.Stop()
	// A goroutine started in a bubble of testing/synctest must end in it, and time does not
	// pass there. A bubble's time begins in the year 2000.
	me.brief = time.Now().Year() < 2020
	var s *share
	defer func() {
		if s != nil { // a user's kernel has ended the goroutine
			w.abandon(s)
		}
	}()
	for s = w.next(me, nil); s != nil; s = w.next(me, s) {
		// Between grains, the worker leaves for a share with fewer workers.
		for s.step(&me.sc) && s.have.Load() <= w.least.Load()+1 {
		}
	}
}

// next returns a worker's next share after before, or nil if it should end.
func (w *workers) next(me *worker, before *share) *share {
	w.mu.Lock()
	defer w.mu.Unlock()
	if before != nil {
		before.have.Add(-1)
		before.inside.RUnlock() // not sooner: the share may be reused from now on
	}
	for w.busy() < runtime.GOMAXPROCS(0) {
		if w.balance() >= 0 {
			if s := w.neediest(); s != nil {
				s.have.Add(1)
				s.inside.RLock() // does not wait: it is listed
				w.balance()
				return s
			}
		}
		if me.brief {
			break
		}
		if !w.park(me) {
			return nil
		}
	}
	w.alive-- // it is brief, or there are fewer processors than before
	w.balance()
	return nil
}

// abandon ends a worker within a share.
func (w *workers) abandon(s *share) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.have.Add(-1)
	s.inside.RUnlock()
	w.alive--
	w.recruit()
}

// park waits to be woken, without the lock. False: the worker ends.
func (w *workers) park(me *worker) bool {
	w.idle = append(w.idle, me)
	w.mu.Unlock()
	me.timer.Reset(idleTime)
	told, goOn := false, false
	select {
	case _, goOn = <-me.wake:
		told = true
	case <-me.timer.C:
	}
	w.mu.Lock()
	if told {
		return goOn
	}
	if i := slices.Index(w.idle, me); i >= 0 {
		w.idle = slices.Delete(w.idle, i, i+1)
		w.alive--
		return false
	}
	_, goOn = <-me.wake // it was being woken
	return goOn
}

// neediest returns the share with the fewest workers that wants more.
func (w *workers) neediest() *share {
	var found *share
	for _, s := range w.open {
		if have := s.have.Load(); have < s.want && s.left() && (found == nil || have < found.have.Load()) {
			found = s
		}
	}
	return found
}

// balance updates least, and returns room.
func (w *workers) balance() int {
	room := w.room()
	least := int32(math.MaxInt32 - 1)
	if room < 0 {
		least = -1
	} else if s := w.neediest(); s != nil {
		least = s.have.Load()
	}
	w.least.Store(least)
	return room
}

// opened and closed count devices: idle workers end with the last one.
func (w *workers) opened() {
	w.mu.Lock()
	w.devices++
	w.mu.Unlock()
}

func (w *workers) closed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.devices--; w.devices > 0 {
		return
	}
	for _, me := range w.idle {
		close(me.wake)
	}
	w.alive -= len(w.idle)
	w.idle = nil
}
