package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// run is the state of a Run. Three goroutines pass slots on, each through a
// channel that has room for all of them: feed (Source, upload), work (Work,
// download) and drain (Sink).
type run struct {
	Stages
	stream   *tensor.Stream
	dev      device.Device
	up, down device.Queue
	// Abilities of these, nil where they lack them.
	writer, reader device.AsyncQueue
	memories       device.HostMemory
	pinner         device.HostAllocator

	async bool // both queues transfer without waiting
	host  bool // calls return when their work is done
	slots []*slot

	free, filled, worked chan *slot

	// Written by drain, except notPinned.
	stats     Stats
	untimed   bool
	notPinned atomic.Bool
}

// newRun allocates all memory whose size is known. Even after an error, the run must be closed.
func newRun(s *tensor.Stream, st Stages) (r *run, err error) {
	r = &run{Stages: st, stream: s, dev: s.Device(), host: s.IsHost()}
	if r.Depth == 0 {
		r.Depth = 2
	}
	if r.up, err = r.dev.NewQueue(); err != nil {
		return r, err
	}
	if r.down, err = r.dev.NewQueue(); err != nil {
		return r, err
	}
	r.writer, _ = device.As[device.AsyncQueue](r.up)
	r.reader, _ = device.As[device.AsyncQueue](r.down)
	r.async = r.writer != nil && r.reader != nil
	r.memories, _ = device.As[device.HostMemory](r.dev)
	r.pinner, _ = device.As[device.HostAllocator](r.dev)
	r.free = make(chan *slot, r.Depth)
	r.filled = make(chan *slot, r.Depth)
	r.worked = make(chan *slot, r.Depth)
	for range r.Depth {
		p := &slot{r: r}
		r.slots = append(r.slots, p)
		if err := p.prepare(); err != nil {
			return r, fmt.Errorf("pipeline: memory for %d batches: %w", r.Depth, err)
		}
		r.free <- p
	}
	return r, nil
}

var errEnded = errors.New("pipeline: a stage did not return")

// flow runs the stages to their end.
func (r *run) flow(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	begin := time.Now()
	var failed atomic.Bool
	stage := func(f func(context.Context) error) {
		err := errEnded // if f panics or ends its goroutine, like a test's FailNow
		defer func() {
			if err != nil {
				failed.Store(true)
				stop(err) // of several, the first is the cause
			}
		}()
		err = f(ctx)
	}
	var others sync.WaitGroup
	others.Go(func() { stage(r.feed) })
	others.Go(func() { stage(r.drain) })
	func() {
		defer others.Wait()
		stage(r.work)
	}()
	r.stats.Wall = time.Since(begin)
	if failed.Load() {
		return context.Cause(ctx)
	}
	return nil
}

// next returns the next slot, nil when there are no more.
func next(ctx context.Context, from <-chan *slot) (*slot, error) {
	if ctx.Err() == nil {
		select {
		case p := <-from:
			return p, nil
		case <-ctx.Done():
		}
	}
	return nil, context.Cause(ctx)
}

// feed makes Source fill slots, and uploads them.
func (r *run) feed(ctx context.Context) error {
	for number := int64(0); ; number++ {
		p, err := next(ctx, r.free)
		if err != nil {
			return err
		}
		p.number = number
		p.widen()
		begin := time.Now()
		err = r.Source(ctx, p.in)
		p.source = time.Since(begin)
		switch {
		case err == io.EOF:
			close(r.filled)
			return nil
		case err != nil:
			return p.fail("source", err)
		}
		if err := p.upload(); err != nil {
			return p.fail("upload", err)
		}
		r.filled <- p
	}
}

// work calls Work, and downloads its results.
func (r *run) work(ctx context.Context) error {
	for {
		p, err := next(ctx, r.filled)
		if err != nil {
			return err
		}
		if p == nil {
			close(r.worked)
			return nil
		}
		if err := p.work(ctx); err != nil {
			return p.fail("work", err)
		}
		if r.async {
			if err := p.download(); err != nil {
				return p.fail("download", err)
			}
		}
		r.worked <- p
	}
}

// drain waits for downloads, and passes them to Sink.
func (r *run) drain(ctx context.Context) error {
	for {
		p, err := next(ctx, r.worked)
		if p == nil {
			return err
		}
		if !r.async {
			if err := p.download(); err != nil {
				return p.fail("download", err)
			}
		}
		if err := p.wait(); err != nil {
			return err
		}
		begin := time.Now()
		if err := r.Sink(ctx, p.out); err != nil {
			return p.fail("sink", err)
		}
		r.stats.Sink += time.Since(begin)
		if err := p.takeBack(); err != nil {
			return p.fail("download", err)
		}
		r.note(p)
		r.free <- p
	}
}

// note adds a finished batch to the statistics.
func (r *run) note(p *slot) {
	s := &r.stats
	s.Batches++
	s.Source += p.source
	s.Uploaded += p.uploaded
	s.Downloaded += p.downloaded
	for i, sum := range []*time.Duration{&s.Upload, &s.Work, &s.Download} {
		d, ok := p.spans[i].took(r.host)
		*sum += d
		r.untimed = r.untimed || !ok
	}
}

// close waits for everything in flight, releases everything, and returns err and later errors.
func (r *run) close(err error) (Stats, error) {
	errs := []error{err}
	for _, p := range r.slots {
		errs = append(errs, p.release())
	}
	// The uploads' queue waits for no other, the stream for uploads, the downloads' queue for
	// the stream.
	if r.up != nil {
		errs = append(errs, r.up.Close())
	}
	if r.down != nil {
		errs = append(errs, r.stream.Wait(), r.down.Close())
	}
	for _, p := range r.slots {
		errs = append(errs, p.close())
	}
	s := &r.stats
	if s.Timed = !r.untimed && s.Batches > 0; !s.Timed {
		s.Upload, s.Work, s.Download = 0, 0, 0
	}
	s.Pinned = !r.notPinned.Load()
	return *s, errors.Join(errs...)
}

// memory returns a buffer's memory if the device works in host memory: it needs no transfer.
func (r *run) memory(b device.Buffer) ([]byte, bool) {
	if r.memories == nil || !r.host {
		return nil, false
	}
	r.notPinned.Store(true)
	return r.memories.HostBytes(b)
}

// lends reports whether Sink can borrow a result's memory.
func (r *run) lends(x *tensor.Tensor) bool {
	_, ok := r.memory(x.Buffer())
	return ok && x.Stream().Device() == r.dev
}

// allocHost returns host memory, pinned if available.
func (r *run) allocHost(bytes int64) (mem []byte, pinned bool, err error) {
	if r.pinner != nil {
		mem, err = r.pinner.AllocHost(bytes)
		if err == nil {
			return mem, true, nil
		}
		// Pinned memory is scarcer than other memory.
		if !errors.Is(err, device.ErrOutOfMemory) && !errors.Is(err, device.ErrUnsupported) {
			return nil, false, err
		}
	}
	r.notPinned.Store(true)
	if bytes > math.MaxInt64-63 {
		return nil, false, layout.Errorf(device.ErrOutOfMemory, "pipeline", "%d bytes of host memory", bytes)
	}
	mem, err = budget.Make[byte](budget.Process(), "pipeline", (bytes+63)&^63) // small ones would be unaligned
	if err != nil {
		return nil, false, err
	}
	return mem[:bytes], false, nil
}
