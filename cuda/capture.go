package cuda

import (
	"github.com/restride/restride/internal/engine"
)

// BeginCapture and EndCapture make a CUDA graph of what is queued in between.
func (q *queue) BeginCapture() error {
	q.g.capturing(1)
	err := q.g.with(func(*frame) error { return q.g.drv.beginCapture(q.s) })
	if err != nil {
		q.g.capturing(-1)
		return err
	}
	q.capturing = true
	return nil
}

func (q *queue) EndCapture() (engine.Graph, error) {
	descs := q.descs
	q.capturing, q.descs = false, nil
	defer q.g.capturing(-1)
	var exec graph
	err := q.g.with(func(*frame) error {
		var err error
		exec, err = q.g.drv.endCapture(q.s)
		return err
	})
	if err != nil {
		return nil, err
	}
	q.g.keep(descs, 1)
	return &replay{q, exec, descs}, nil
}

// capturing counts captures that are under way.
func (g *gpu) capturing(by int) {
	g.mu.Lock()
	g.captures += by
	g.mu.Unlock()
}

// keep counts the graphs that descriptors are in.
func (g *gpu) keep(descs []*memory, by int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range descs {
		if g.kept[m] += by; g.kept[m] == 0 {
			delete(g.kept, m)
		}
	}
}

// replay is a graph that is ready to run.
type replay struct {
	q     *queue
	exec  graph
	descs []*memory // of its launches
}

func (r *replay) Launch() error {
	q := r.q
	if err := q.g.enter(&q.seat); err != nil {
		return err
	}
	defer q.g.leave(&q.seat)
	return q.g.check(q.g.drv.replay(&q.seat.frame, r.exec, q.s))
}

func (r *replay) Close() error {
	defer r.q.g.keep(r.descs, -1)
	return r.q.g.giveBack(func(*frame) error { return r.q.g.drv.destroyGraph(r.exec) })
}
