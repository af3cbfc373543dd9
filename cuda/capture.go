package cuda

import "github.com/restride/restride/internal/gpu"

// BeginCapture and EndCapture make a CUDA graph of the launches in between.
func (s *stream) BeginCapture() error {
	s.driver.capturing(1)
	err := s.driver.with(func(*frame) error { return s.driver.api.beginCapture(s.handle) })
	if err != nil {
		s.driver.capturing(-1)
		return err
	}
	s.capturing = true
	return nil
}

func (s *stream) EndCapture() (gpu.Graph, error) {
	parameters := s.parameters
	s.capturing, s.parameters = false, nil
	defer s.driver.capturing(-1)
	var exec cuGraphExec
	err := s.driver.with(func(*frame) error {
		var err error
		exec, err = s.driver.api.endCapture(s.handle)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.driver.keep(parameters, 1)
	return &replay{s, exec, parameters}, nil
}

// capturing counts captures that are under way.
func (d *driver) capturing(by int) {
	d.mu.Lock()
	d.captures += by
	d.mu.Unlock()
}

// keep counts the graphs that use the parameters of launches.
func (d *driver) keep(parameters []*memory, by int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range parameters {
		if d.kept[m] += by; d.kept[m] == 0 {
			delete(d.kept, m)
		}
	}
}

// replay is a graph that can run.
type replay struct {
	stream     *stream
	exec       cuGraphExec
	parameters []*memory // of its launches
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
	defer r.stream.driver.keep(r.parameters, -1)
	return r.stream.driver.giveBack(func(*frame) error { return r.stream.driver.api.destroyGraph(r.exec) })
}
