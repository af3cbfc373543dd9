package cuda

import (
	"runtime"
	"unsafe"

	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/planner"
)

// stream is a CUDA stream.
type stream struct {
	driver    *driver
	handle    cuStream
	own       bool // Close destroys the stream
	thread    threadContext
	functions map[planner.Spec]cuFunction // the device's modules, without their lock
	last      *planner.Launch             // the last launch,
	function  cuFunction                  // and its function
	home      bool                        // the thread of the last launch has the device's context
	capturing bool

	// The arguments of a launch, and the pointers to them that the driver needs: instead of an
	// argument, the launch's parameters.
	args   [planner.MaxArguments]uint64
	params [planner.MaxArguments]unsafe.Pointer
}

func (d *driver) NewStream() (gpu.Stream, error) {
	var handle cuStream
	err := d.with(func(*frame) error {
		var err error
		handle, err = d.api.newStream()
		return err
	})
	if err != nil {
		return nil, err
	}
	return newStream(d, handle, true), nil
}

// newStream makes a stream of a handle; Close destroys it if it is owned.
func newStream(d *driver, handle cuStream, own bool) *stream {
	s := &stream{driver: d, handle: handle, own: own, functions: map[planner.Spec]cuFunction{}}
	for i := range s.args {
		s.params[i] = unsafe.Pointer(&s.args[i])
	}
	return s
}

func (s *stream) Upload(dst gpu.Mem, off int64, src []byte) error {
	if err := s.driver.enter(&s.thread); err != nil {
		return err
	}
	defer s.driver.leave(&s.thread)
	err := s.driver.api.upload(&s.thread.frame, dst.(*memory).at+cuDevicePtr(off), unsafe.Pointer(unsafe.SliceData(src)), int64(len(src)), s.handle)
	runtime.KeepAlive(src)
	return s.driver.check(err)
}

// Download may wait for earlier work, unless the host memory is pinned: the driver cannot
// transfer to Go's memory later.
func (s *stream) Download(dst []byte, src gpu.Mem, off int64) error {
	if err := s.driver.enter(&s.thread); err != nil {
		return err
	}
	defer s.driver.leave(&s.thread)
	if err := s.driver.relax(&s.thread); err != nil {
		return err
	}
	err := s.driver.api.download(&s.thread.frame, unsafe.Pointer(unsafe.SliceData(dst)), src.(*memory).at+cuDevicePtr(off), int64(len(dst)), s.handle)
	runtime.KeepAlive(dst)
	return s.driver.check(err)
}

func (s *stream) Launch(l *planner.Launch, args []gpu.Argument) error {
	if l != s.last {
		f, ok := s.functions[l.Spec]
		if !ok {
			var err error
			if f, err = s.driver.modules.get(l.Spec); err != nil {
				return err
			}
			s.functions[l.Spec] = f
		}
		s.last, s.function = l, f
		s.params[byValue] = unsafe.Pointer(unsafe.SliceData(l.Params))
	}
	for i, a := range args {
		if m, ok := a.Mem.(*memory); ok {
			a.Number = uint64(m.at)
		}
		s.args[i] = a.Number
	}
	if s.home && !s.capturing && s.driver.gone() == nil && s.submit(l) == nil {
		return nil
	}
	if err := s.driver.enter(&s.thread); err != nil {
		return err
	}
	// The thread's context is queried only if the launch may need another: with a wrong one it
	// fails, as for other reasons, and is repeated here.
	s.home = s.handle > perThread && (s.thread.before == s.driver.ctx || s.thread.before == 0)
	err := s.submit(l)
	s.driver.leave(&s.thread)
	return s.driver.check(err)
}

// submit launches with the arguments s.args, with the current context.
func (s *stream) submit(l *planner.Launch) error {
	return s.driver.api.launch(&s.thread.frame, s.function, l.Groups, l.Local, s.handle, s.params[:len(l.Arguments)])
}

func (s *stream) Finish() error { return s.driver.over(s.synchronize, s.pass) }

// synchronize waits for the stream.
func (s *stream) synchronize() error {
	if err := s.driver.bind(&s.thread); err != nil {
		return err
	}
	defer s.driver.leave(&s.thread)
	if err := s.driver.relax(&s.thread); err != nil {
		return err
	}
	return s.driver.api.synchronize(&s.thread.frame, s.handle)
}

// pass waits for an event after the stream's work.
func (s *stream) pass() error {
	return s.driver.anyway(func(f *frame) error {
		e, err := s.driver.newEvent()
		if err != nil {
			return err
		}
		defer s.driver.reuse(e)
		if err := s.driver.api.record(f, e, s.handle); err != nil {
			return err
		}
		return s.driver.api.await(f, e)
	})
}

// Captured queries adopted streams: like Launch, first with the current context.
func (s *stream) Captured() bool {
	if s.own {
		return false
	}
	if s.home {
		if is, err := s.driver.api.isCapturing(&s.thread.frame, s.handle); err == nil {
			return is
		}
	}
	if s.driver.enter(&s.thread) != nil {
		return false // the call itself will report it
	}
	defer s.driver.leave(&s.thread)
	is, err := s.driver.api.isCapturing(&s.thread.frame, s.handle)
	// If the driver does not answer about a stream, it counts as captured: otherwise captured
	// work could find its buffers freed.
	return is || s.driver.check(err) != nil && s.driver.gone() == nil
}

func (s *stream) Close() error {
	if !s.own {
		return nil
	}
	return s.driver.giveBack(func(*frame) error { return s.driver.api.destroyStream(s.handle) })
}
