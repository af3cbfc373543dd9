package opencl

import (
	"errors"

	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/planner"
)

// replay is captured work: launches, each of a kernel of its own, whose arguments stay set.
type replay struct {
	stream   *stream
	launches []func() error
	kernels  []uintptr // cl_kernels
	memory   []uintptr // cl_mems that the arguments refer to
}

// BeginCapture and EndCapture keep the launches in between. Each run queues them again.
func (s *stream) BeginCapture() error {
	if err := s.driver.gone(); err != nil {
		return err
	}
	s.capture = &replay{stream: s}
	return nil
}

func (s *stream) EndCapture() (gpu.Graph, error) {
	r := s.capture
	s.capture = nil
	return r, nil
}

// add adds a launch.
func (r *replay) add(l *planner.Launch, args []gpu.Argument) error {
	k, err := r.stream.newKernel(l.Spec)
	if err != nil {
		return err
	}
	r.kernels = append(r.kernels, k.handle)
	for _, a := range args {
		if err := r.retain(a.Mem); err != nil {
			return err
		}
	}
	if err := k.prepare(l, args); err != nil {
		return err
	}
	r.launches = append(r.launches, k.launch)
	return nil
}

// addProgram adds a launch of a user's kernel.
func (r *replay) addProgram(u *userKernel, grid, block [3]uint32, values []gpu.Value) error {
	kernel, err := kernelOf(u.program, u.name)
	if err != nil {
		return err
	}
	r.kernels = append(r.kernels, kernel)
	own := &userKernel{kernel: kernel}
	if err := own.prepare(values); err != nil {
		return err
	}
	r.launches = append(r.launches, func() error { return own.launch(r.stream, grid, block) })
	return nil
}

// retain keeps the memory of an argument: parameters of launches are freed when the queue
// forgets these.
func (r *replay) retain(m gpu.Mem) error {
	mem, ok := m.(*memory)
	if !ok {
		return nil
	}
	if err := clRetainMemObject.call(mem.handle); err != nil {
		return err
	}
	r.memory = append(r.memory, mem.handle)
	return nil
}

func (r *replay) Launch() (some bool, err error) {
	if err := r.stream.driver.gone(); err != nil {
		return false, err
	}
	for i, launch := range r.launches {
		if err := launch(); err != nil {
			return i > 0, err
		}
	}
	return true, nil
}

// Close may be called with launches in progress: the driver keeps their resources.
func (r *replay) Close() error {
	var errs []error
	for _, k := range r.kernels {
		errs = append(errs, clReleaseKernel.call(k))
	}
	for _, m := range r.memory {
		errs = append(errs, clReleaseMemObject.call(m))
	}
	*r = replay{}
	return errors.Join(errs...)
}
