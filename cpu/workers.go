package cpu

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Large calls are shared out: the goroutine that calls does the work, in grains,
// and helpers take grains of it, too, as long as there are any. It never waits for a
// helper that has not come: in a busy program, where the scheduler has others to
// run, it does all of it.

// work is what can be shared.
type work interface {
	// part does the units [lo, hi).
	part(lo, hi int64, sc *scratch)
}

// share is the sharing of a piece of work.
type share struct {
	work  work
	units int64 // in all
	grain int64 // units that are taken at a time
	taken atomic.Int64

	want   int32        // the most helpers that are of use
	have   atomic.Int32 // changes under the crew's lock
	inside sync.RWMutex // held for reading by helpers
}

// left reports whether there is anything to take.
func (s *share) left() bool { return s.taken.Load() < s.units }

// crew are the helpers of all devices of the process. There are as many at work as
// the program has processors beside those that callers are on: one fewer than
// GOMAXPROCS at the most. Queues side by side share them. Who has nothing to do is
// parked, and ends after a while.
type crew struct {
	mu      sync.Mutex
	open    []*share  // that want helpers
	idle    []*helper // parked, the latest last
	alive   int
	devices int // open ones

	// least is the fewest helpers of a share that wants more and has something left;
	// -1: there are more helpers at work than should be.
	least atomic.Int32
}

type helper struct {
	wake  chan struct{} // closed: end
	timer *time.Timer
	brief bool // it does not park
	sc    scratch
}

// idleTime is short: to start a goroutine costs hardly more than to wake one.
const idleTime = 200 * time.Millisecond

var helpers crew

// run does all of a piece of work, with up to the given number of helpers.
func (c *crew) run(s *share, want int, sc *scratch) {
	s.taken.Store(0)
	s.want = int32(want)
	s.have.Store(0)
	c.offer(s)
	for s.step(sc) {
	}
	c.withdraw(s)
	// Those who are inside finish what they took. Their kernels have fenced what they
	// streamed, and the lock orders all else that they wrote before what comes next.
	s.inside.Lock()
	s.work = nil
	s.inside.Unlock()
}

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

// offer lists work.
func (c *crew) offer(s *share) {
	c.mu.Lock()
	c.open = append(c.open, s)
	c.recruit()
	c.mu.Unlock()
}

// withdraw ends an offer: nobody comes any more.
func (c *crew) withdraw(s *share) {
	c.mu.Lock()
	i := slices.Index(c.open, s)
	c.open = slices.Delete(c.open, i, i+1)
	c.recruit() // this caller's processor is free now
	c.mu.Unlock()
}

// room returns how many more helpers should be at work.
func (c *crew) room() int {
	return runtime.GOMAXPROCS(0) - max(1, len(c.open)) - c.busy()
}

func (c *crew) busy() int { return c.alive - len(c.idle) }

// recruit wakes or starts who may help.
func (c *crew) recruit() {
	room := c.balance()
	if room <= 0 {
		return
	}
	want := 0
	for _, s := range c.open {
		if s.left() {
			want += int(s.want - s.have.Load())
		}
	}
	for range min(room, want) {
		if last := len(c.idle) - 1; last >= 0 {
			c.idle[last].wake <- struct{}{} // it has room for one, and gets one
			c.idle = c.idle[:last]
			continue
		}
		c.alive++
		go c.help()
	}
}

// help is the life of a helper.
func (c *crew) help() {
	h := &helper{wake: make(chan struct{}, 1), timer: time.NewTimer(idleTime)}
	defer h.timer.Stop()
	// Who is born in a bubble of testing/synctest must not be there at its end, and
	// time does not pass there. It begins in the year 2000.
	h.brief = time.Now().Year() < 2020
	for s := c.next(h, nil); s != nil; s = c.next(h, s) {
		// To where there are fewer, in between.
		for s.step(&h.sc) && s.have.Load() <= c.least.Load()+1 {
		}
	}
}

// next returns what a helper does after it is done with the one before, if any; nil:
// it ends.
func (c *crew) next(h *helper, before *share) *share {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before != nil {
		before.have.Add(-1)
		before.inside.RUnlock() // now, and not sooner: then it may be used for other work
	}
	for c.busy() < runtime.GOMAXPROCS(0) {
		if c.balance() >= 0 {
			if s := c.neediest(); s != nil {
				s.have.Add(1)
				s.inside.RLock() // does not wait: it is listed
				c.balance()
				return s
			}
		}
		if h.brief {
			break
		}
		if !c.park(h) {
			return nil
		}
	}
	c.alive-- // it is brief, or there are fewer processors than before
	c.balance()
	return nil
}

// park waits to be woken, without the lock. False: the helper ends.
func (c *crew) park(h *helper) bool {
	c.idle = append(c.idle, h)
	c.mu.Unlock()
	h.timer.Reset(idleTime)
	told, goOn := false, false
	select {
	case _, goOn = <-h.wake:
		told = true
	case <-h.timer.C:
	}
	c.mu.Lock()
	if told {
		return goOn
	}
	if i := slices.Index(c.idle, h); i >= 0 {
		c.idle = slices.Delete(c.idle, i, i+1)
		c.alive--
		return false
	}
	_, goOn = <-h.wake // somebody was about to wake it
	return goOn
}

// neediest returns the work that has the fewest helpers of those that want one.
func (c *crew) neediest() *share {
	var found *share
	for _, s := range c.open {
		if have := s.have.Load(); have < s.want && s.left() && (found == nil || have < found.have.Load()) {
			found = s
		}
	}
	return found
}

// balance keeps c.least, and returns room.
func (c *crew) balance() int {
	room := c.room()
	least := int32(math.MaxInt32 - 1)
	if room < 0 {
		least = -1
	} else if s := c.neediest(); s != nil {
		least = s.have.Load()
	}
	c.least.Store(least)
	return room
}

// opened and closed count devices: with the last one, who is idle ends.
func (c *crew) opened() {
	c.mu.Lock()
	c.devices++
	c.mu.Unlock()
}

func (c *crew) closed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.devices--; c.devices > 0 {
		return
	}
	for _, h := range c.idle {
		close(h.wake)
	}
	c.alive -= len(c.idle)
	c.idle = nil
}

const (
	// parallelBytes is the size from which waking others pays.
	parallelBytes = 256 << 10
	// denseFactor is how many times as large a dense run must be for that: it is
	// moved as much faster than most else.
	denseFactor = 4
	// grainBytes is the most that a worker takes at a time: enough to forget the
	// cost of taking it, little enough that none waits long for the last. Of less
	// work, it takes less, down to leastGrain, so that who comes late finds some.
	grainBytes, leastGrain = 128 << 10, 16 << 10
)

// grain returns how many units a worker takes at a time.
func grain(units, bytes int64, workers int) int64 {
	size := min(max(bytes/int64(8*workers), leastGrain), grainBytes)
	return max(1, units*size/bytes)
}

// execute plans the job, runs it, and returns when it is done.
func (j *job) execute() {
	sc := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	if j.packed && j.bytes >= parallelBytes && j.executePacked(sc) {
		return
	}
	j.parts.lead = 0
	j.plan()
	cost := j.bytes
	if j.class == contiguous {
		cost /= denseFactor
	}
	n := workers(j.units, cost)
	if n == 1 || j.packed {
		j.run(0, j.units, sc)
		return
	}
	j.together(n, j.units, grain(j.units, j.bytes, n), sc)
}

// together does units with workers-1 helpers.
func (j *job) together(workers int, units, grain int64, sc *scratch) {
	j.share.work, j.share.units, j.share.grain = j, units, grain
	helpers.run(&j.share, workers-1, sc)
}

// part does the units [lo, hi): blocks, or parts of elements below a byte.
func (j *job) part(lo, hi int64, sc *scratch) {
	if j.parts.lead == 0 {
		j.run(lo, hi, sc)
		return
	}
	for part := lo; part < hi; part++ {
		j.runPart(part, sc)
	}
}

// workers returns how many may share work of this size.
func workers(units, bytes int64) int {
	if bytes < parallelBytes || units < 2 {
		return 1
	}
	return min(runtime.GOMAXPROCS(0), int(min(units, 2*bytes/parallelBytes)))
}
