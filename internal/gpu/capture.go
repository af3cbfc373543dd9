package gpu

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Capturer is implemented by streams that replay work.
type Capturer interface {
	// BeginCapture makes later launches part of a Graph: they do not run.
	BeginCapture() error
	// EndCapture ends that, also when it fails.
	EndCapture() (Graph, error)
}

// Graph is captured work. One goroutine at a time calls it and its stream.
type Graph interface {
	Launch() error
	Close() error
}

// capture is work while it is captured.
type capture struct {
	// hold keeps the buffers from being freed: a queue whose work 1 is done when
	// nothing will be replayed any more.
	hold     *Queue
	launches int64
	bytes    int64
	takes    bool // there are takes in it
}

// replay is a device.Replay.
type replay struct {
	capture
	q     *Queue
	graph Graph
}

// capturable reports whether a call can be part of a capture.
func capturable(op string) bool {
	switch op {
	case "Copy", "Fill", "Convert", "Take", "Put", "Map", "Where":
		return true
	}
	return false
}

// Capture makes what f queues into a device.Replay.
func (q *Queue) Capture(f func() error) (device.Replay, error) {
	s, ok := q.stream.(Capturer)
	if !ok {
		return nil, layout.Errorf(device.ErrUnsupported, "Capture", "%s does not replay work", q.dev.Info().ID())
	}
	if f == nil {
		return nil, layout.Errorf(device.ErrInvalid, "Capture", "there is no function whose work to record")
	}
	if err := q.begin("Capture"); err != nil {
		return nil, err
	}
	err := q.prepareTakes() // allocation cannot be captured
	if err == nil {
		err = s.BeginCapture()
	}
	if err == nil {
		q.capture = &capture{hold: new(Queue)}
	}
	q.mu.Unlock()
	if err != nil {
		return nil, err
	}
	err = errors.New("Capture: panic") // if f does
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

// captured ends the capture, and returns what it captured.
func (q *Queue) captured(s Capturer) (*replay, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.capture == nil {
		return nil, layout.Errorf(device.ErrClosed, "Capture", "the queue or its device was closed")
	}
	g, err := s.EndCapture()
	if err != nil {
		q.capture.release()
		q.capture = nil
		return nil, err
	}
	r := &replay{*q.capture, q, g}
	q.capture = nil
	if q.replays == nil {
		q.replays = map[*replay]struct{}{}
	}
	q.replays[r] = struct{}{}
	return r, nil
}

// abandon ends the capture, if there is one, and drops it.
func (q *Queue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endCapture()
}

func (q *Queue) endCapture() {
	if q.capture == nil {
		return
	}
	if g, err := q.stream.(Capturer).EndCapture(); err == nil {
		_ = g.Close() // it has not run
	}
	q.capture.release()
	q.capture = nil
}

// release ends the hold on the buffers.
func (c *capture) release() { raise(&c.hold.done, 1) }

// Run queues the work.
func (r *replay) Run() error {
	q := r.q
	if err := q.begin("Run"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if r.graph == nil {
		return layout.Errorf(device.ErrClosed, "Run", "the replay is closed")
	}
	q.seq++
	err := r.graph.Launch()
	if err == nil {
		q.takes.queued = q.takes.queued || r.takes
		q.dev.counters.Replay(r.launches, r.bytes)
	}
	return err
}

// Close waits for the queue, and ends the hold on the buffers.
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
	err := r.graph.Close()
	r.graph = nil
	r.release()
	delete(r.q.replays, r)
	return err
}
