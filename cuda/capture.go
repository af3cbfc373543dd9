package cuda

import (
	"github.com/restride/restride/internal/engine"
)

// BeginCapture and EndCapture make a CUDA graph of what is queued in between.
func (q *queue) BeginCapture() error {
	q.g.graph(1)
	err := q.g.with(func(*frame) error { return q.g.drv.beginCapture(q.s) })
	if err != nil {
		q.g.graph(-1)
	}
	return err
}

func (q *queue) EndCapture() (engine.Graph, error) {
	var exec graph
	err := q.g.with(func(*frame) error {
		var err error
		exec, err = q.g.drv.endCapture(q.s)
		return err
	})
	if err != nil {
		q.g.graph(-1)
		return nil, err
	}
	return &replay{q, exec}, nil
}

// graph counts captures and graphs.
func (g *gpu) graph(by int) {
	g.mu.Lock()
	g.graphs += by
	g.mu.Unlock()
}

// replay is a graph that is ready to run.
type replay struct {
	q    *queue
	exec graph
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
	defer r.q.g.graph(-1)
	return r.q.g.giveBack(func(*frame) error { return r.q.g.drv.destroyGraph(r.exec) })
}
