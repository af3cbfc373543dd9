package gpu_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/planner"
)

// fake is a driver in memory, whose streams are goroutines that a test can hold. It performs
// transfers, and only inspects launches. Use of freed memory fails the test.
type fake struct {
	t          testing.TB
	properties gpu.Properties

	mu     sync.Mutex
	next   map[string][]func() error // actions of the next calls of a name
	mems   int                       // live allocations, including parameters
	hosts  map[*byte]int
	queues int
	loaded []planner.Spec // by LoadKernel
	closed bool
	events atomic.Int64
}

// newFake returns a driver of a device with 1 GiB of pinned memory.
func newFake(t testing.TB) *fake {
	info := device.Info{Backend: "fake", Name: "a goroutine", Kind: device.GPU, Memory: 1 << 30, MaxAlloc: 1 << 29}
	return &fake{
		t: t, properties: gpu.Properties{Info: info, Pinned: true},
		next: map[string][]func() error{}, hosts: map[*byte]int{},
	}
}

// then sets the action of the next call of a name without one, performed at the call's end (of
// Finish, after all work); or of "work", performed in the stream's order.
func (f *fake) then(name string, do func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next[name] = append(f.next[name], do)
}

// fail makes that call return an error.
func (f *fake) fail(name string, err error) { f.then(name, func() error { return err }) }

func (f *fake) call(name string) error {
	f.mu.Lock()
	if f.closed && name != "EventWait" {
		f.t.Errorf("%s of a closed driver", name)
	}
	do := func() error { return nil }
	if all := f.next[name]; len(all) > 0 {
		do, f.next[name] = all[0], all[1:]
	}
	f.mu.Unlock()
	return do()
}

// empty checks that everything was released.
func (f *fake) empty() {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	assert.True(f.t, f.closed)
	assert.Zero(f.t, f.mems)
	assert.Empty(f.t, f.hosts)
	assert.Zero(f.t, f.queues)
}

func (f *fake) Properties() gpu.Properties { return f.properties }

// mem is the fake's memory.
type mem struct {
	bytes []byte
	freed atomic.Bool
}

func (f *fake) Alloc(bytes int64) (gpu.Mem, error) {
	if err := f.call("Alloc"); err != nil {
		return nil, err
	}
	assert.Zero(f.t, bytes%16)
	f.count(&f.mems, 1)
	return &mem{bytes: make([]byte, bytes)}, nil
}

func (f *fake) count(what *int, n int) {
	f.mu.Lock()
	*what += n
	f.mu.Unlock()
}

func (f *fake) Free(m gpu.Mem) error {
	assert.False(f.t, m.(*mem).freed.Swap(true), "freed twice")
	clear(m.(*mem).bytes) // so that the race detector finds work in progress
	f.count(&f.mems, -1)
	return f.call("Free")
}

// PartAlign exceeds the size of a status.
func (f *fake) PartAlign() int64 { return 64 }

func (f *fake) Part(m gpu.Mem, off, bytes int64) (gpu.Mem, error) {
	assert.Zero(f.t, off%f.PartAlign())
	if err := f.call("Part"); err != nil {
		return nil, err
	}
	f.count(&f.mems, 1)
	return &mem{bytes: m.(*mem).bytes[off:][:bytes]}, nil
}

func (f *fake) FreePart(m gpu.Mem) error {
	assert.False(f.t, m.(*mem).freed.Swap(true), "a part is freed twice")
	f.count(&f.mems, -1)
	return f.call("FreePart")
}

func (f *fake) LoadParameters(parameters []byte) (gpu.Mem, error) {
	if err := f.call("LoadParameters"); err != nil {
		return nil, err
	}
	f.count(&f.mems, 1)
	return &mem{bytes: parameters}, nil
}

func (f *fake) LoadKernel(s planner.Spec) error {
	err := f.call("LoadKernel")
	if err == nil {
		f.mu.Lock()
		f.loaded = append(f.loaded, s)
		f.mu.Unlock()
	}
	return err
}

// FreeParameters may come while work uses them.
func (f *fake) FreeParameters(gpu.Mem) { f.count(&f.mems, -1) }

func (f *fake) AllocHost(bytes int64) ([]byte, error) {
	if err := f.call("AllocHost"); err != nil {
		return nil, err
	}
	if bytes > 1<<40 {
		return nil, device.ErrOutOfMemory
	}
	h := make([]byte, bytes)
	f.mu.Lock()
	f.hosts[&h[0]] = len(h)
	f.mu.Unlock()
	return h, nil
}

// hostBlocks is the number of blocks of host memory.
func (f *fake) hostBlocks() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.hosts)
}

func (f *fake) FreeHost(h []byte) error {
	at := unsafe.SliceData(h)
	f.mu.Lock()
	n := f.hosts[at]
	delete(f.hosts, at)
	f.mu.Unlock()
	assert.NotZero(f.t, n, "host memory is freed twice")
	for i := range h {
		h[i] = 0xee // which late reads still get
	}
	return f.call("FreeHost")
}

func (f *fake) NewStream() (gpu.Stream, error) {
	if err := f.call("NewStream"); err != nil {
		return nil, err
	}
	f.count(&f.queues, 1)
	s := &stream{f: f, jobs: make(chan job, 1<<14)}
	go s.run()
	return s, nil
}

func (f *fake) Close() error {
	err := f.call("Close")
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	return err
}

// stream is the fake's queue of work.
type stream struct {
	f    *fake
	jobs chan job
	busy sync.WaitGroup // jobs that are not done
	gate sync.Mutex     // held while a job runs, or by a test

	mu  sync.Mutex
	err error // of work

	noted [2]int64 // the status of the next take: an index and its extent; 0: none
}

// job is a transfer, a launch or a function.
type job struct {
	to, from []byte
	mems     [planner.MaxArguments]*mem
	do       func()
}

func (s *stream) run() {
	for j := range s.jobs {
		s.gate.Lock()
		for _, m := range j.mems {
			if m != nil && m.freed.Load() {
				s.f.t.Error("work on memory that is freed")
			}
		}
		err := s.f.call("work")
		if err == nil {
			copy(j.to, j.from)
		}
		if j.do != nil {
			j.do()
		}
		s.mu.Lock()
		if s.err == nil {
			s.err = err
		}
		s.mu.Unlock()
		s.gate.Unlock()
		s.busy.Done()
	}
}

func (s *stream) queue(name string, j job) error {
	if err := s.f.call(name); err != nil {
		return err
	}
	s.busy.Add(1)
	s.jobs <- j
	return nil
}

func (s *stream) Upload(dst gpu.Mem, off int64, src []byte) error {
	m := dst.(*mem)
	return s.queue("Upload", job{to: m.bytes[off:][:len(src)], from: src, mems: [planner.MaxArguments]*mem{m}})
}

func (s *stream) Download(dst []byte, src gpu.Mem, off int64) error {
	m := src.(*mem)
	return s.queue("Download", job{to: dst, from: m.bytes[off:][:len(dst)], mems: [planner.MaxArguments]*mem{m}})
}

func (s *stream) Launch(l *planner.Launch, args []gpu.Argument) error {
	var j job
	for i, a := range args {
		m, ok := a.Mem.(*mem)
		if !ok {
			continue
		}
		j.mems[i] = m
		if l.Arguments[i].Is == planner.Status && s.noted[1] > 0 {
			status, noted := m.bytes, s.noted
			j.do = func() { note(status, noted[0], noted[1]) }
			s.noted = [2]int64{}
		}
	}
	return s.queue("Launch", j)
}

func (s *stream) Finish() error {
	s.busy.Wait()
	s.mu.Lock()
	err := s.err
	s.err = nil
	s.mu.Unlock()
	if e := s.f.call("Finish"); err == nil {
		err = e
	}
	return err
}

func (s *stream) Close() error {
	s.f.count(&s.f.queues, -1)
	close(s.jobs)
	return s.f.call("CloseStream")
}

// event is a point in a stream.
type event struct {
	f        *fake
	reached  chan struct{}
	at       time.Time
	released atomic.Bool
}

func (s *stream) Record() (gpu.Event, error) {
	e := &event{f: s.f, reached: make(chan struct{})}
	if err := s.queue("Record", job{do: func() { e.at = time.Now(); close(e.reached) }}); err != nil {
		return nil, err
	}
	s.f.events.Add(1)
	return e, nil
}

func (s *stream) WaitFor(of gpu.Event) error {
	return s.queue("WaitFor", job{do: func() { <-of.(*event).reached }})
}

func (e *event) Done() bool {
	assert.False(e.f.t, e.released.Load(), "Done of an event that is released")
	select {
	case <-e.reached:
		return true
	default:
		return false
	}
}

func (e *event) Wait() error {
	assert.False(e.f.t, e.released.Load(), "Wait of an event that is released")
	<-e.reached
	return e.f.call("EventWait")
}

func (e *event) Since(earlier gpu.Event) (time.Duration, error) {
	return e.at.Sub(earlier.(*event).at), nil
}

func (e *event) Release() {
	if e.released.Swap(true) {
		panic(fmt.Sprint("an event is released twice: ", e.at))
	}
	e.f.events.Add(-1)
}
