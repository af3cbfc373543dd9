package gpu

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/internal/backend"
)

// deferredFrees are the blocks of freed buffers whose work is not known to be done: only then
// may the pool hand them out again. Alloc polls the queues, and waits only when too many frees
// are deferred.
type deferredFrees struct {
	number atomic.Int64 // of entries; read without the lock

	mu      sync.Mutex
	entries []deferredFree
	bytes   int64
}

// deferredFree is the block of a freed buffer, or adopted memory whose owner must be told.
type deferredFree struct {
	block *block // nil: adopted
	size  int64  // of the buffer
	uses  []use
	done  func() // of adopted memory
}

func (f *deferredFree) pending() bool { return f.pendingBut(nil) }

// pendingBut is pending, except for the work of a queue.
func (f *deferredFree) pendingBut(q *timeline) bool {
	for _, u := range f.uses {
		if u.q != q && u.pending() {
			return true
		}
	}
	return false
}

// mostFreed is the most frees that may be deferred, however small the blocks.
const mostFreed = 1024

// add defers a free, or gives the block to the pool if nothing uses it any more.
func (l *deferredFrees) add(d *Device, f deferredFree) {
	if !f.pending() {
		d.putBack(f)
		return
	}
	for _, u := range f.uses {
		u.q.want(u.seq)
	}
	l.mu.Lock()
	l.entries = append(l.entries, f)
	l.bytes += backend.SizeClass(f.size)
	l.number.Add(1)
	l.mu.Unlock()
}

// putBack gives a block to the pool, or tells the owner of adopted memory.
func (d *Device) putBack(f deferredFree) {
	if f.block == nil {
		go f.done() // it may use the device, which has a call in progress
		return
	}
	_ = d.pool.Put(f.block, f.size) // the driver accepts its own blocks
}

// tell ensures that done is called when the work on adopted memory is over. It is part of a
// call, so that Close, which waits for the work, finds the deferred entry. It returns a
// function to call after the call, which calls done if the work is over already.
func (d *Device) tell(uses []use, done func()) (after func()) {
	f := deferredFree{uses: uses, done: done}
	if !f.pending() {
		return done
	}
	d.deferred.add(d, f)
	return func() {
		go func() {
			if d.begin("Free") != nil {
				return // Close told
			}
			defer d.end()
			f.await()
			d.deferred.collect(d)
		}()
	}
}

// await waits for the work, except that of captures, which may run again.
func (f *deferredFree) await() {
	for _, u := range f.uses {
		if !u.pending() || u.q.dev == nil {
			continue
		}
		if e, err := u.q.Record(); err == nil {
			_ = e.Wait() // the queue's Wait returns its error
		}
	}
}

// sweep gives the pool the blocks whose work is done. It waits only if too many
// frees are deferred.
func (l *deferredFrees) sweep(d *Device) {
	if l.number.Load() == 0 {
		return
	}
	for _, q := range d.openQueues() {
		q.poll()
	}
	l.collect(d)
	if l.full(d) {
		l.wait(d)
	}
}

func (l *deferredFrees) full(d *Device) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes > d.idleCap() || len(l.entries) > mostFreed
}

// wait waits for the work of all frees that are deferred now. It returns false if there were
// none.
func (l *deferredFrees) wait(d *Device) bool {
	if l.number.Load() == 0 {
		return false
	}
	for _, q := range d.openQueues() {
		q.catchUp()
	}
	l.collect(d)
	return true
}

// take returns a block for a buffer of a size whose work follows all present work of a queue:
// only work of that queue may still use the block.
func (l *deferredFrees) take(size int64, after *Queue) (f deferredFree, ok bool) {
	if after == nil || l.number.Load() == 0 {
		return deferredFree{}, false
	}
	class := backend.SizeClass(size)
	l.mu.Lock()
	defer l.mu.Unlock()
	// The newest first: its memory is the likeliest to be in the cache.
	for i := len(l.entries) - 1; i >= 0; i-- {
		f := l.entries[i]
		if f.block == nil || backend.SizeClass(f.size) != class || f.pendingBut(&after.timeline) {
			continue
		}
		l.bytes -= class
		l.entries = slices.Delete(l.entries, i, i+1)
		l.number.Add(-1)
		return f, true
	}
	return deferredFree{}, false
}

// collect gives the pool the blocks whose work is known to be done.
func (l *deferredFrees) collect(d *Device) {
	var done []deferredFree
	l.mu.Lock()
	kept := l.entries[:0]
	for _, f := range l.entries {
		if f.pending() {
			kept = append(kept, f)
		} else {
			done = append(done, f)
			l.bytes -= backend.SizeClass(f.size)
		}
	}
	clear(l.entries[len(kept):])
	l.entries = kept
	l.number.Store(int64(len(kept)))
	l.mu.Unlock()
	for _, f := range done {
		d.putBack(f)
	}
}
