// Package budget counts memory before it is allocated, and refuses allocations that would
// exceed a limit. It counts memory whose size depends on a caller's data: buffers of devices,
// strings, files and their decoded content. It does not count small fixed costs.
//
//	SetLimit bounds all of it, on the host and on devices
//	├─ Process: host memory, by default within the system's limits
//	│  ├─ cpu and OpenCL devices whose memory is the host's
//	│  ├─ host memory of other devices' transfers
//	│  └─ strings, readers of files
//	└─ each device with memory of its own
package budget

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/restride/restride/internal/sysmem"
	"github.com/restride/restride/layout"
)

// ErrOutOfMemory: the requested memory is not available.
var ErrOutOfMemory = errors.New("out of memory")

// A Budget is memory in use and its limit. Budgets form a tree: an allocation counts in its
// budget and all budgets above. All methods may be called from any goroutine.
type Budget struct {
	above *Budget
	begin func() (bytes int64, source string) // the limit until one is set; may be nil
	inUse atomic.Int64
	limit atomic.Pointer[limit]
}

type limit struct {
	bytes  int64
	source string
}

var unlimited = &limit{bytes: math.MaxInt64}

var all Budget

var process = Budget{above: &all, begin: sysmem.Grant}

// Process returns the budget of this process's memory on the host. Its initial limit is the
// system's: see package sysmem for what counts.
func Process() *Budget { return &process }

// SetLimit bounds the memory of the process, on the host and on devices together, instead of
// the system's limit. Errors name the source, such as "--max-memory". restore restores the
// previous limits.
func SetLimit(bytes int64, source string) (restore func()) {
	was, wasHost := all.now(), process.now()
	all.SetLimit(bytes, source)
	process.SetLimit(bytes, source)
	return func() {
		all.limit.Store(was)
		process.limit.Store(wasHost)
	}
}

// ForDevice returns a budget for a device's memory, a part of the host's or separate from it. A
// limit of 0 means no limit.
func ForDevice(id string, ofHost bool, bytes int64) *Budget {
	b := &Budget{above: &all}
	if ofHost {
		b.above = &process
	}
	if bytes > 0 {
		b.SetLimit(bytes, "the memory of "+id)
	}
	return b
}

// New returns a budget that is not part of another.
func New(bytes int64, source string) *Budget {
	b := new(Budget)
	b.SetLimit(bytes, source)
	return b
}

// SetLimit sets the limit. Memory in use may exceed it.
func (b *Budget) SetLimit(bytes int64, source string) { b.limit.Store(&limit{bytes, source}) }

// Limit returns the limit and its source; math.MaxInt64 means no limit.
func (b *Budget) Limit() (bytes int64, source string) {
	l := b.now()
	return l.bytes, l.source
}

func (b *Budget) now() *limit {
	if l := b.limit.Load(); l != nil {
		return l
	}
	l := unlimited
	if b.begin != nil {
		bytes, source := b.begin()
		l = &limit{bytes, source}
	}
	b.limit.CompareAndSwap(nil, l)
	return b.limit.Load()
}

// InUse returns the bytes taken and not returned.
func (b *Budget) InUse() int64 { return b.inUse.Load() }

// Take counts bytes that the caller is about to allocate for what, such as "Alloc" or "the
// strings of Cast". Beyond a limit, when no idle memory is left to free, it returns
// ErrOutOfMemory and counts nothing.
func (b *Budget) Take(what string, bytes int64) error {
	full := b.take(bytes)
	if full == nil {
		return nil
	}
	// Twice: the first frees idle memory, the second waits for the garbage collector.
	for _, relieve := range []func(*Budget, int64){freeIdle, collect} {
		relieve(full, bytes)
		if full = b.take(bytes); full == nil {
			return nil
		}
	}
	l := full.now()
	return layout.Errorf(ErrOutOfMemory, what, "%d bytes are asked for, %d are in use, and the limit is %d (%s)", bytes, full.InUse(), l.bytes, l.source)
}

// take counts bytes in b and all budgets above, or returns one that has too little left.
func (b *Budget) take(bytes int64) (full *Budget) {
	if b == nil {
		return nil
	}
	most := b.now().bytes
	for {
		n := b.inUse.Load()
		if bytes > most-n {
			return b
		}
		if b.inUse.CompareAndSwap(n, n+bytes) {
			break
		}
	}
	if full = b.above.take(bytes); full != nil {
		b.inUse.Add(-bytes)
	}
	return full
}

// Give returns counted bytes.
func (b *Budget) Give(bytes int64) {
	for ; b != nil; b = b.above {
		b.inUse.Add(-bytes)
	}
}

// has reports whether bytes could be taken.
func (b *Budget) has(bytes int64) bool { return bytes <= b.now().bytes-b.InUse() }

// Pools are asked to free idle memory when memory is short.
var pools struct {
	sync.Mutex
	next int
	free map[int]func()
}

// OnShortage registers free, which a Take that exceeds a limit calls: it must free idle memory.
// It must not take memory, nor wait for a lock that callers of Take hold.
func OnShortage(free func()) (stop func()) {
	pools.Lock()
	defer pools.Unlock()
	if pools.free == nil {
		pools.free = map[int]func(){}
	}
	key := pools.next
	pools.next++
	pools.free[key] = free
	return func() {
		pools.Lock()
		defer pools.Unlock()
		delete(pools.free, key)
	}
}

func freeIdle(*Budget, int64) {
	pools.Lock()
	idle := make([]func(), 0, len(pools.free))
	for _, free := range pools.free {
		idle = append(idle, free)
	}
	pools.Unlock()
	for _, free := range idle {
		free()
	}
}

// garbage counts the bytes of TakeFor, which the garbage collector returns.
var garbage atomic.Int64

// TakeFor is Take for Go memory that lives as long as p, and is returned by the garbage
// collector.
func TakeFor[T any](b *Budget, p *T, what string, bytes int64) error {
	if err := b.Take(what, bytes); err != nil {
		return err
	}
	giveWith(b, p, bytes)
	return nil
}

// giveWith returns bytes when p is garbage.
func giveWith[T any](b *Budget, p *T, bytes int64) {
	garbage.Add(bytes)
	runtime.AddCleanup(p, func(bytes int64) {
		b.Give(bytes)
		garbage.Add(-bytes)
	}, bytes)
}

// step is the number of bytes that Steps takes in one call.
const step = 64 << 10

// Steps returns a function that counts many small parts with few calls of take: one for each 64
// KiB, in advance.
func Steps(take func(bytes int64) error) func(bytes int64) error {
	credit := int64(0)
	return func(bytes int64) error {
		if credit >= bytes {
			credit -= bytes
			return nil
		}
		more := max(step, bytes-credit)
		if err := take(more); err != nil {
			return err
		}
		credit += more - bytes
		return nil
	}
}

// small is the number of bytes up to which Make does not count.
const small = 32 << 10

// Make makes a slice of n elements that is counted, unless it is small, for as long as
// it lives.
func Make[T any](b *Budget, what string, n int64) ([]T, error) {
	var element T
	bytes, size := int64(math.MaxInt64), int64(unsafe.Sizeof(element))
	if size == 0 || n <= bytes/size {
		bytes = n * size
	}
	if bytes < small {
		return make([]T, n), nil
	}
	if err := b.Take(what, bytes); err != nil {
		return nil, err
	}
	s := make([]T, n)
	giveWith(b, &s[0], bytes)
	return s, nil
}

// collectWait is the time that a Take waits for the garbage collector's cleanups, which run
// after it, without a guarantee of when.
const collectWait = 100 * time.Millisecond

// collect makes the garbage collector return bytes of TakeFor, if that can be enough.
func collect(full *Budget, bytes int64) {
	if l := full.now().bytes; garbage.Load() == 0 || bytes > l || full.InUse()-garbage.Load() > l-bytes {
		return
	}
	runtime.GC()
	for end := time.Now().Add(collectWait); !full.has(bytes) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// String shows use and limit.
func (b *Budget) String() string {
	l := b.now()
	if l == unlimited {
		return fmt.Sprintf("%d bytes in use", b.InUse())
	}
	return fmt.Sprintf("%d of %d bytes in use (%s)", b.InUse(), l.bytes, l.source)
}
