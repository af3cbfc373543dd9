package cuda

import "github.com/restride/restride/internal/gpu"

// BeginCapture and EndCapture make a CUDA graph of the launches in between. The driver
// keeps a copy of their arguments in it.
func (s *stream) BeginCapture() error {
	err := s.driver.with(func(*frame) error { return s.driver.api.beginCapture(s.handle) })
	s.capturing = err == nil
	return err
}

func (s *stream) EndCapture() (gpu.Graph, error) {
	s.capturing = false
	var exec cuGraphExec
	err := s.driver.with(func(*frame) error {
		var err error
		exec, err = s.driver.api.endCapture(s.handle)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &replay{s, exec}, nil
}

// replay is a graph that can run.
type replay struct {
	stream *stream
	exec   cuGraphExec
}

func (r *replay) Launch() error {
	s := r.stream
	if err := s.driver.enter(&s.thread); err != nil {
		return err
	}
	defer s.driver.leave(&s.thread)
	return s.driver.check(s.driver.api.replay(&s.thread.frame, r.exec, s.handle))
}

func (r *replay) Close() error {
	return r.stream.driver.giveBack(func(*frame) error { return r.stream.driver.api.destroyGraph(r.exec) })
}
