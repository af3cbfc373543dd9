package gpu

import (
	"errors"
	"fmt"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Capturer is implemented by streams that replay work.
type Capturer interface {
	// BeginCapture makes later launches part of a Graph instead of running them.
	BeginCapture() error
	// EndCapture ends the capture, also when it fails.
	EndCapture() (Graph, error)
}

// Graph is captured work. One goroutine at a time calls it and its stream.
type Graph interface {
	// Launch queues the work. After an error, some says whether a part of it is queued.
	Launch() (some bool, err error)
	Close() error
}

// capture is the state of a queue while its work is captured.
type capture struct {
	// hold keeps the buffers from being freed: a queue whose work 1 is done when no replay is
	// possible any more.
	hold     *timeline
	launches int64
	bytes    int64
	takes    []taken   // takes and puts in it
	kernels  []*Kernel // of the user's, which it uses
	page     *page     // for the statuses of takes: the last slot is that of all further ones

	// Buffers that the work reads before it has written them, and buffers that it writes.
	reads, writes []part
}

// taken is a take or put in a capture.
type taken struct {
	dst  *Buffer
	seq  uint64
	name *fmt.Stringer // of its operation; nil: unknown
}

// attribute is Queue.Attribute for work in the capture.
func (c *capture) attribute(dst *Buffer, after uint64, name fmt.Stringer) {
	for i := range c.takes {
		if t := &c.takes[i]; t.dst == dst && t.seq > after && t.name == nil {
			t.name = &name
		}
	}
}

// slot is where the next take or put records its status.
func (c *capture) slot() int { return min(len(c.takes), len(c.page.slots)-1) }

// describe tells the page what its slots are for.
func (c *capture) describe() {
	p := c.page
	p.several = min(len(c.takes), len(p.slots))
	for i := range p.several {
		p.names = append(p.names, c.takes[i].name)
	}
	if len(c.takes) > p.several { // several share it
		p.names[p.several-1] = nil
	}
}

// captureSlots is the number of takes and puts of a capture that have a slot each.
const captureSlots = 16

// mostRuns bounds the runs of a replay whose outcomes are unknown: at the bound, a run waits.
const mostRuns = 64

// note adds a piece of work.
func (c *capture) note(dst part, srcs []part) {
	covers := func(p part) func(part) bool {
		return func(w part) bool { return w.b == p.b && w.lo <= p.lo && p.hi <= w.hi }
	}
	for _, s := range srcs {
		own := slices.ContainsFunc(c.writes, func(w part) bool { return w.dense && covers(s)(w) })
		if !own && !slices.ContainsFunc(c.reads, covers(s)) {
			c.reads = append(c.reads, s)
		}
	}
	if !slices.ContainsFunc(c.writes, func(w part) bool { return (w.dense || !dst.dense) && covers(dst)(w) }) {
		c.writes = append(c.writes, dst)
	}
}

// replay is a device.Replay.
type replay struct {
	capture
	q         *timeline
	graph     Graph
	suspected []*outcome // used by flow, to avoid allocations
}

// Capture makes what f queues into a device.Replay.
func (q *Queue) Capture(f func() error) (device.Replay, error) {
	s, ok := q.stream.(Capturer)
	if !ok {
		return nil, layout.Errorf(device.ErrUnsupported, "Capture", "%s does not replay work", q.dev.Info().ID())
	}
	if f == nil {
		return nil, layout.Errorf(device.ErrInvalid, "Capture", "the function is nil")
	}
	if err := q.begin("Capture"); err != nil {
		return nil, err
	}
	err := q.beginCapture(s)
	q.mu.Unlock()
	if err != nil {
		return nil, err
	}
	err = errors.New("Capture: panic") // the error if f panics
	defer func() {
		if err != nil {
			q.abandon()
		}
	}()
	if err = f(); err != nil {
		return nil, err
	}
	r, err := q.captured(s)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// beginCapture begins a capture.
func (q *timeline) beginCapture(s Capturer) error {
	var p *page // allocated now, as allocation cannot be captured
	var err error
	if idle := q.statuses.captures; len(idle) > 0 {
		p, q.statuses.captures = idle[len(idle)-1], idle[:len(idle)-1]
	} else if p, err = q.statuses.newPage(q, captureSlots, mostRuns); err != nil {
		return err
	}
	if err = p.ready(q); err == nil {
		err = s.BeginCapture()
	}
	if err != nil {
		q.statuses.captures = append(q.statuses.captures, p)
		return err
	}
	q.capture = &capture{hold: new(timeline), page: p}
	return nil
}

// captured ends the capture, and returns what it captured.
func (q *timeline) captured(s Capturer) (*replay, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.capture == nil {
		return nil, layout.Errorf(device.ErrClosed, "Capture", "the queue or its device was closed")
	}
	g, err := s.EndCapture()
	if err != nil {
		err = errors.Join(err, q.release(q.capture))
		q.capture = nil
		return nil, err
	}
	q.capture.describe()
	r := &replay{capture: *q.capture, q: q, graph: g}
	q.capture = nil
	if q.replays == nil {
		q.replays = map[*replay]struct{}{}
	}
	q.replays[r] = struct{}{}
	return r, nil
}

// abandon ends the capture, if any, and drops it.
func (q *timeline) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endCapture()
}

func (q *timeline) endCapture() {
	if q.capture == nil {
		return
	}
	if g, err := q.stream.(Capturer).EndCapture(); err == nil {
		_ = g.Close() // it has not run
	}
	_ = q.release(q.capture) // the error that ends the capture is more important
	q.capture = nil
}

// release ends a capture's hold on buffers, kernels and its page, whose outcomes are lost.
func (q *timeline) release(c *capture) error {
	raise(&c.hold.done, 1)
	var errs []error
	for _, k := range c.kernels {
		errs = append(errs, k.leave())
	}
	c.kernels = nil
	c.page.lose(q)
	c.page.several, c.page.names = 0, nil
	q.statuses.captures = append(q.statuses.captures, c.page)
	return errors.Join(errs...)
}

// Run queues the work. With kernels of the user's, it waits for the outcomes that the work's
// inputs depend on, as Launch does.
func (r *replay) Run() error {
	for {
		suspects, err := r.run()
		if len(suspects) > 0 {
			if err = waitAll(suspects); err == nil {
				continue
			}
		}
		return err
	}
}

// run is Run, unless there are outcomes for which it has to wait.
func (r *replay) run() ([]*outcome, error) {
	q := r.q
	if err := q.begin("Run"); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	if r.graph == nil {
		return nil, layout.Errorf(device.ErrClosed, "Run", "the replay is closed")
	}
	if len(r.kernels) > 0 {
		if suspects := r.suspects(nil); len(suspects) > 0 {
			return suspects, nil
		}
	}
	q.seq++
	if err := r.makeReady(); err != nil {
		return nil, err
	}
	if some, err := r.graph.Launch(); err != nil {
		if some {
			r.page.soil(q) // a take may have recorded an index
			r.flow(q.failure(err))
		}
		return nil, err
	}
	q.dev.counters.Replay(r.launches, r.bytes)
	r.flow(r.ask())
	return nil, nil
}

// suspects appends the outcomes that the inputs depend on and that may have failed.
func (r *replay) suspects(to []*outcome) []*outcome {
	for _, p := range r.reads {
		to = p.b.suspects(p.lo, p.hi, to)
	}
	return to
}

// makeReady makes room for the outcome of a run, and clears the status of the last one.
func (r *replay) makeReady() error {
	p := r.page
	if len(r.takes) == 0 {
		return nil
	}
	if p.used == len(p.outcomes) {
		r.q.drain(r.q.seq - 1)
		if err := p.ready(r.q); err != nil {
			return err
		}
	}
	if p.used > 0 && p.outcomes[p.used-1].state.Load() != good {
		p.soil(r.q)
	}
	return p.zero(r.q)
}

// ask queues the transfer of the status to the host, before the next run can write it, and
// returns the run's outcome; nil: there are no takes.
func (r *replay) ask() *outcome {
	if len(r.takes) == 0 {
		return nil
	}
	q, p := r.q, r.page
	o := p.next(q)
	q.seq++
	err := q.stream.Download(p.host[o.at:][:p.stride*int64(p.several)], p.block.mem, 0)
	q.records.mu.Lock()
	defer q.records.mu.Unlock()
	if err != nil {
		o.end(err)
	} else {
		o.asked = q.seq
	}
	return o
}

// flow makes the outputs of a run depend on its outcome, and on its inputs.
func (r *replay) flow(own *outcome) {
	q := r.q
	on := r.suspects(r.suspected[:0])
	if own != nil {
		on = append(on, own)
	}
	for _, p := range r.writes {
		p.b.mu.Lock()
		p.b.written(use{q, q.seq})
		p.b.mu.Unlock()
		p.b.depend(p.lo, p.hi, p.dense, on)
	}
	clear(on)
	r.suspected = on[:0]
}

// Close waits for the queue, and ends the capture's hold on the buffers.
func (r *replay) Close() error {
	q := r.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.graph == nil {
		return layout.Errorf(device.ErrClosed, "Close", "the replay is closed")
	}
	if q.capture != nil {
		return layout.Errorf(device.ErrInvalid, "Close", "the queue is capturing")
	}
	return errors.Join(q.finish(), r.end())
}

// end is Close after the wait. The queue is locked.
func (r *replay) end() error {
	err := errors.Join(r.graph.Close(), r.q.release(&r.capture))
	r.graph = nil
	delete(r.q.replays, r)
	return err
}
