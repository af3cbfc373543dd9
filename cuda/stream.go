package cuda

import (
	"runtime"
	"unsafe"

	"github.com/restride/restride/internal/engine"
	"github.com/restride/restride/kernels"
)

// queue is a CUDA stream: what package engine asks for.
type queue struct {
	g         *gpu
	s         stream
	own       bool // Close ends the stream
	seat      seat
	functions map[kernels.Spec]function // of the device's, without its lock
	last      *kernels.Launch           // and that of the last launch,
	function  function                  // without looking
	home      bool                      // the thread of the last launch has the device's context
	capturing bool
	descs     []*memory // of the launches of a capture

	// A launch's arguments, and pointers to them as the driver wants.
	args   [kernels.MaxArguments]uint64
	params [kernels.MaxArguments]unsafe.Pointer
}

func (g *gpu) NewStream() (engine.Stream, error) {
	var s stream
	err := g.with(func(*frame) error {
		var err error
		s, err = g.drv.newStream()
		return err
	})
	if err != nil {
		return nil, err
	}
	return g.queue(s, true), nil
}

// queue makes a queue of a stream.
func (g *gpu) queue(s stream, own bool) *queue {
	q := &queue{g: g, s: s, own: own, functions: map[kernels.Spec]function{}}
	for i := range q.args {
		q.params[i] = unsafe.Pointer(&q.args[i])
	}
	g.mu.Lock()
	g.queues[q] = struct{}{}
	g.mu.Unlock()
	return q
}

func (q *queue) Upload(dst engine.Mem, off int64, src []byte) error {
	if err := q.g.enter(&q.seat); err != nil {
		return err
	}
	defer q.g.leave(&q.seat)
	err := q.g.drv.upload(&q.seat.frame, dst.(*memory).at+pointer(off), unsafe.Pointer(unsafe.SliceData(src)), int64(len(src)), q.s)
	runtime.KeepAlive(src)
	return q.g.check(err)
}

// Download may wait for the work before it where the host memory is Go's: only
// into pinned memory can the driver transfer later.
func (q *queue) Download(dst []byte, src engine.Mem, off int64) error {
	if err := q.g.enter(&q.seat); err != nil {
		return err
	}
	defer q.g.leave(&q.seat)
	err := q.g.drv.download(&q.seat.frame, unsafe.Pointer(unsafe.SliceData(dst)), src.(*memory).at+pointer(off), int64(len(dst)), q.s)
	runtime.KeepAlive(dst)
	return q.g.check(err)
}

func (q *queue) Launch(l *kernels.Launch, a *engine.Args) error {
	if l != q.last {
		f, ok := q.functions[l.Spec]
		if !ok {
			var err error
			if f, err = q.g.modules.get(l.Spec); err != nil {
				return err
			}
			q.functions[l.Spec] = f
		}
		q.last, q.function = l, f
	}
	p := &q.args
	p[0], p[1], p[2] = uint64(a.Dst.(*memory).at), uint64(a.Src.(*memory).at), uint64(a.Desc.(*memory).at)
	p[3], p[4], p[5], p[6] = uint64(a.Bases[0]), uint64(a.Bases[1]), a.Pattern[0], a.Pattern[1]
	if a.At != nil {
		p[7], p[8] = uint64(a.At.(*memory).at), uint64(a.Status.(*memory).at)
	}
	if q.home && !q.capturing && q.submit(l) == nil {
		return nil
	}
	if err := q.g.enter(&q.seat); err != nil {
		return err
	}
	// The context of the thread is asked for only where the launch needs another
	// one: with that it fails, whatever else may be wrong, and is done here again.
	q.home = q.s > perThread && (q.seat.before == q.g.ctx || q.seat.before == 0)
	if q.capturing {
		q.descs = append(q.descs, a.Desc.(*memory))
	}
	err := q.submit(l)
	q.g.leave(&q.seat)
	return q.g.check(err)
}

// submit launches what q.args are for, with whatever context is current.
func (q *queue) submit(l *kernels.Launch) error {
	return q.g.drv.launch(&q.seat.frame, q.function, l.Groups, l.Local, q.s, q.params[:l.Spec.Arguments()])
}

func (q *queue) Finish() error {
	if err := q.g.enter(&q.seat); err != nil {
		return err
	}
	defer q.g.leave(&q.seat)
	return q.g.check(q.g.drv.synchronize(&q.seat.frame, q.s))
}

func (q *queue) Close() error {
	q.g.mu.Lock()
	delete(q.g.queues, q)
	q.g.mu.Unlock()
	if !q.own {
		return nil
	}
	return q.g.giveBack(func(*frame) error { return q.g.drv.destroyStream(q.s) })
}
