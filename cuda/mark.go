package cuda

import (
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/engine"
	"github.com/restride/restride/layout"
)

// mark is a CUDA event that was recorded once. The device's Close, which waits
// for all work, takes it away.
type mark struct {
	g *gpu
	e event
}

func (q *queue) Mark() (engine.Mark, error) {
	var m *mark
	err := q.g.with(func(f *frame) error {
		e, err := q.g.newEvent()
		if err != nil {
			return err
		}
		m = &mark{q.g, e}
		if err := q.g.drv.record(f, e, q.s); err != nil {
			q.g.reuse(e)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (q *queue) WaitFor(m engine.Mark) error {
	if err := q.g.enter(&q.seat); err != nil {
		return err
	}
	defer q.g.leave(&q.seat)
	return q.g.check(q.g.drv.waitEvent(&q.seat.frame, q.s, m.(*mark).e))
}

// newEvent returns an event that nobody has: if one is recorded anew, those that
// wait for it wait for what they did.
func (g *gpu) newEvent() (event, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := len(g.idle); n > 0 {
		e := g.idle[n-1]
		g.idle = g.idle[:n-1]
		return e, nil
	}
	e, err := g.drv.newEvent()
	if err == nil {
		g.events[e] = struct{}{}
	}
	return e, err
}

func (g *gpu) reuse(e event) {
	g.mu.Lock()
	g.idle = append(g.idle, e)
	g.mu.Unlock()
}

// with calls f unless the device is closed. Several marks may wait at once.
func (m *mark) with(f func(*frame) error) error {
	m.g.life.RLock()
	defer m.g.life.RUnlock()
	if m.g.closed {
		return nil
	}
	return m.g.with(f)
}

func (m *mark) Done() bool {
	done := true
	err := m.with(func(f *frame) error {
		var err error
		done, err = m.g.drv.done(f, m.e)
		return err
	})
	return done || err != nil
}

func (m *mark) Wait() error {
	return m.with(func(f *frame) error { return m.g.drv.await(f, m.e) })
}

func (m *mark) Since(earlier engine.Mark) (time.Duration, error) {
	ms, err := float32(0), layout.Errorf(device.ErrClosed, "Since", "the device is closed, which kept the time")
	_ = m.with(func(*frame) error {
		ms, err = m.g.drv.elapsed(earlier.(*mark).e, m.e)
		return m.g.check(err)
	})
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

func (m *mark) Release() { m.g.reuse(m.e) }
