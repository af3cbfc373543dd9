package cuda

import (
	"errors"

	"github.com/restride/restride/internal/gpu"
)

// BeginCapture and EndCapture make a CUDA graph of the launches in between. The graph holds a
// copy of their arguments.
func (s *stream) BeginCapture() error {
	err := s.driver.with(func(*frame) error { return s.driver.api.beginCapture(s.handle) })
	s.capturing = err == nil
	return err
}

func (s *stream) EndCapture() (gpu.Graph, error) {
	s.capturing = false
	var exec cuGraphExec
	err := s.driver.with(func(f *frame) error {
		var err error
		if exec, err = s.driver.api.endCapture(s.handle); err != nil {
			err = errors.Join(err, s.dropCapture(f, exec))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &replay{s, exec}, nil
}

// CapturesOthers says that a graph contains all work that is queued on the stream.
func (s *stream) CapturesOthers() {}

// dropCapture destroys what a failed endCapture has made so far, and ends a capture that it has
// not ended: otherwise the stream would run nothing any more.
func (s *stream) dropCapture(f *frame, exec cuGraphExec) error {
	api := s.driver.api
	if exec == 0 {
		if is, err := api.isCapturing(f, s.handle); err != nil || !is {
			return err
		}
		var err error
		if exec, err = api.endCapture(s.handle); exec == 0 {
			return err
		}
	}
	return api.destroyGraph(exec)
}

// replay is a graph that can run.
type replay struct {
	stream *stream
	exec   cuGraphExec
}

func (r *replay) Launch() (some bool, err error) {
	s := r.stream
	if err := s.driver.enter(&s.thread); err != nil {
		return false, err
	}
	defer s.driver.leave(&s.thread)
	return false, s.driver.check(s.driver.api.replay(&s.thread.frame, r.exec, s.handle))
}

func (r *replay) Close() error {
	return r.stream.driver.giveBack(func(*frame) error { return r.stream.driver.api.destroyGraph(r.exec) })
}
