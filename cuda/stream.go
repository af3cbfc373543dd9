package cuda

import (
	"time"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/engine"
	"github.com/restride/restride/kernels"
	"github.com/restride/restride/layout"
)

// queue is a CUDA stream: what package engine asks for.
type queue struct {
	g         *gpu
	s         stream
	seat      seat
	functions map[kernels.Spec]function // of the device's, without its lock

	// A launch's arguments, and pointers to them as the driver wants.
	args   [7]uint64
	params [7]unsafe.Pointer
}

func (g *gpu) NewStream() (engine.Stream, error) {
	q := &queue{g: g, functions: map[kernels.Spec]function{}}
	for i := range q.args {
		q.params[i] = unsafe.Pointer(&q.args[i])
	}
	err := g.with(func() error {
		var err error
		q.s, err = g.drv.newStream()
		return err
	})
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (q *queue) Upload(dst engine.Mem, off int64, src []byte) error {
	if err := q.g.enter(&q.seat); err != nil {
		return err
	}
	defer q.g.leave(&q.seat)
	return q.g.drv.upload(dst.(*memory).at+pointer(off), unsafe.Pointer(unsafe.SliceData(src)), int64(len(src)), q.s)
}

func (q *queue) Download(dst []byte, src engine.Mem, off int64) error {
	if err := q.g.enter(&q.seat); err != nil {
		return err
	}
	defer q.g.leave(&q.seat)
	return q.g.drv.download(unsafe.Pointer(unsafe.SliceData(dst)), src.(*memory).at+pointer(off), int64(len(dst)), q.s)
}

func (q *queue) Launch(l *kernels.Launch, a *engine.Args) error {
	f, ok := q.functions[l.Spec]
	if !ok {
		var err error
		if f, err = q.g.function(l.Spec); err != nil {
			return err
		}
		q.functions[l.Spec] = f
	}
	if err := q.g.enter(&q.seat); err != nil {
		return err
	}
	defer q.g.leave(&q.seat)
	q.args = [...]uint64{
		uint64(a.Dst.(*memory).at), uint64(a.Src.(*memory).at), uint64(a.Desc.(*memory).at),
		uint64(a.Bases[0]), uint64(a.Bases[1]), a.Pattern[0], a.Pattern[1],
	}
	return q.g.drv.launch(f, l.Groups, l.Local, q.s, &q.params[0])
}

// Flush has nothing to do: work goes to the device at once.
func (q *queue) Flush() error { return nil }

func (q *queue) Mark() (engine.Mark, error) {
	if err := q.g.enter(&q.seat); err != nil {
		return nil, err
	}
	defer q.g.leave(&q.seat)
	e, err := q.g.drv.newEvent()
	if err != nil {
		return nil, err
	}
	if err := q.g.drv.record(e, q.s); err != nil {
		_ = q.g.drv.destroyEvent(e)
		return nil, err
	}
	return &mark{g: q.g, e: e}, nil
}

func (q *queue) WaitFor(m engine.Mark) error {
	if err := q.g.enter(&q.seat); err != nil {
		return err
	}
	defer q.g.leave(&q.seat)
	return q.g.drv.waitEvent(q.s, m.(*mark).e)
}

func (q *queue) Finish() error {
	if err := q.g.enter(&q.seat); err != nil {
		return err
	}
	defer q.g.leave(&q.seat)
	return q.g.drv.synchronize(q.s)
}

func (q *queue) Close() error {
	if err := q.g.enter(&q.seat); err != nil {
		return err
	}
	defer q.g.leave(&q.seat)
	return q.g.drv.destroyStream(q.s)
}

// mark is a CUDA event that was recorded once.
type mark struct {
	g *gpu
	e event
}

func (m *mark) Done() bool {
	done := true
	err := m.with(func() error {
		var err error
		done, err = m.g.drv.done(m.e)
		return err
	})
	return done || err != nil
}

func (m *mark) Wait() error { return m.with(func() error { return m.g.drv.await(m.e) }) }

func (m *mark) Since(earlier engine.Mark) (time.Duration, error) {
	from, ok := earlier.(*mark)
	if !ok || from.g != m.g {
		return 0, layout.Errorf(device.ErrInvalid, "Since", "the events are of different devices")
	}
	var ms float32
	err := m.with(func() error {
		var err error
		ms, err = m.g.drv.elapsed(from.e, m.e)
		return err
	})
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

func (m *mark) Release() { _ = m.with(func() error { return m.g.drv.destroyEvent(m.e) }) }

// with is gpu.with, but several marks may wait at once.
func (m *mark) with(f func() error) error {
	s := new(seat)
	if err := m.g.enter(s); err != nil {
		return err
	}
	defer m.g.leave(s)
	return f()
}
