package opencl

import (
	"cmp"
	"errors"
	"runtime"
	"unsafe"

	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/planner"
)

// stream is an in-order command queue.
type stream struct {
	driver  *driver
	handle  uintptr // a cl_command_queue
	kernels map[planner.Spec]*kernel
	last    *planner.Launch // the last launch,
	kernel  *kernel         // and its kernel
	frame   [9]uintptr      // the arguments of a transfer, or of clFinish
	failure *failure
	capture *replay  // nil: launches are queued, not captured
	behind  []*event // events of other streams that work waits for; each is held
}

func (d *driver) NewStream() (gpu.Stream, error) {
	properties := uintptr(0)
	if d.properties.hasClock {
		properties = profilingEnable
	}
	handle, err := clCreateCommandQueue.create(d.context, d.properties.id, properties)
	if err != nil {
		return nil, err
	}
	return newStream(d, handle), nil
}

// newStream makes a stream of a handle, whose reference it takes over.
func newStream(d *driver, handle uintptr) *stream {
	return &stream{driver: d, handle: handle, kernels: map[planner.Spec]*kernel{}, failure: new(failure)}
}

func (s *stream) Upload(dst gpu.Mem, off int64, src []byte) error {
	return s.transfer(clEnqueueWriteBuffer, dst, off, src)
}

func (s *stream) Download(dst []byte, src gpu.Mem, off int64) error {
	return s.transfer(clEnqueueReadBuffer, src, off, dst)
}

func (s *stream) transfer(f *fn, m gpu.Mem, off int64, host []byte) error {
	if err := s.driver.gone(); err != nil {
		return err
	}
	s.frame = [9]uintptr{
		s.handle, m.(*memory).handle, 0, uintptr(off), uintptr(len(host)), address(unsafe.SliceData(host)),
	}
	code := int32(dl.Call(f.addr, s.frame[:]...))
	runtime.KeepAlive(host)
	return f.check(code)
}

func (s *stream) Finish() error {
	err := s.finish()
	if err != nil {
		if again := s.pass(); again != nil {
			s.driver.lose(err, again)
		}
	}
	return cmp.Or(err, s.driver.gone(), s.failure.take(), s.forget())
}

// mostBehind is the number of events that a stream holds before it checks which are done.
const mostBehind = 64

// forget releases the events of other streams that are done, and returns the first error of the
// work before them: the stream's own work depends on it.
func (s *stream) forget() (err error) {
	left := s.behind[:0]
	for _, e := range s.behind {
		if !e.Done() {
			left = append(left, e)
			continue
		}
		err = cmp.Or(err, e.failed())
		e.drop()
	}
	clear(s.behind[len(left):])
	s.behind = left
	return err
}

// pass waits for an event after the stream's work, where clFinish fails: no work may continue
// after Finish.
func (s *stream) pass() error {
	event, err := s.marker()
	if err != nil {
		return err
	}
	_ = s.driver.over(event)
	return clReleaseEvent.call(event)
}

// finish waits for the stream.
func (s *stream) finish() error {
	if s.driver.properties.finishForgets {
		event, err := s.marker()
		if err != nil {
			return err
		}
		return cmp.Or(s.driver.over(event), clReleaseEvent.call(event))
	}
	s.frame = [9]uintptr{s.handle}
	return clFinish.check(int32(dl.Call(clFinish.addr, s.frame[:1]...))) // call allocates
}

func (s *stream) Close() error {
	var errs []error
	for _, k := range s.kernels {
		errs = append(errs, clReleaseKernel.call(k.handle))
	}
	s.kernels = nil
	errs = append(errs, s.forget())
	return errors.Join(append(errs, clReleaseCommandQueue.call(s.handle))...)
}

// kernel is a cl_kernel of one stream. The driver keeps arguments in it, so that only arguments
// that differ from the last launch's are set.
type kernel struct {
	handle uintptr

	// The arguments, which the driver reads from here.
	memory [planner.MaxArguments]*memory // the driver may reuse a handle for other memory; a *memory is unique
	values [planner.MaxArguments]uint64
	known  [planner.MaxArguments]bool

	set           [4]uintptr // the arguments of clSetKernelArg
	run           [9]uintptr // and of clEnqueueNDRangeKernel
	global, local uintptr
}

// kernelOf returns the stream's kernel for a spec.
func (s *stream) kernelOf(spec planner.Spec) (*kernel, error) {
	if k := s.kernels[spec]; k != nil {
		return k, nil
	}
	k, err := s.newKernel(spec)
	if err == nil {
		s.kernels[spec] = k
	}
	return k, err
}

func (s *stream) newKernel(spec planner.Spec) (*kernel, error) {
	program, err := s.driver.programs.get(spec)
	if err != nil {
		return nil, err
	}
	name := append([]byte(spec.String()), 0)
	handle, err := clCreateKernel.create(program, uintptr(unsafe.Pointer(&name[0])))
	if err != nil {
		return nil, err
	}
	k := &kernel{handle: handle}
	k.set = [4]uintptr{handle, 0, 8, 0}
	k.run = [9]uintptr{s.handle, handle, 1, 0, uintptr(unsafe.Pointer(&k.global)), uintptr(unsafe.Pointer(&k.local)), 0, 0, 0}
	return k, nil
}

func (s *stream) Launch(l *planner.Launch, args []gpu.Argument) error {
	if err := s.driver.gone(); err != nil {
		return err
	}
	if s.capture != nil {
		return s.capture.add(l, args)
	}
	if l != s.last {
		k, err := s.kernelOf(l.Spec)
		if err != nil {
			return err
		}
		s.last, s.kernel = l, k
	}
	if err := s.kernel.prepare(l, args); err != nil {
		return err
	}
	return s.kernel.launch()
}

// prepare sets the arguments of a launch.
func (k *kernel) prepare(l *planner.Launch, args []gpu.Argument) error {
	for i, a := range args {
		v := a.Number
		if m, ok := a.Mem.(*memory); ok {
			if k.memory[i] != m {
				k.memory[i], k.known[i] = m, false
			}
			v = uint64(m.handle)
		}
		if k.known[i] && k.values[i] == v {
			continue
		}
		k.values[i] = v
		k.set[1], k.set[3] = uintptr(i), uintptr(unsafe.Pointer(&k.values[i]))
		err := clSetKernelArg.check(int32(dl.Call(clSetKernelArg.addr, k.set[:]...)))
		if k.known[i] = err == nil; err != nil {
			return err
		}
	}
	k.global, k.local = uintptr(l.Groups)*uintptr(l.Local), uintptr(l.Local)
	return nil
}

// launch queues the kernel with the arguments that are set.
func (k *kernel) launch() error {
	code := int32(dl.Call(clEnqueueNDRangeKernel.addr, k.run[:]...))
	runtime.KeepAlive(k)
	return clEnqueueNDRangeKernel.check(code)
}

// marker queues an event after all work so far, and flushes.
func (s *stream) marker() (uintptr, error) {
	var event uintptr
	if err := clEnqueueMarkerWithWaitList.call(s.handle, 0, 0, uintptr(unsafe.Pointer(&event))); err != nil {
		return 0, err
	}
	if err := clFlush.call(s.handle); err != nil {
		return 0, errors.Join(err, clReleaseEvent.call(event))
	}
	return event, nil
}

func (s *stream) Record() (gpu.Event, error) {
	if err := s.driver.gone(); err != nil {
		return nil, err
	}
	handle, err := s.marker()
	if err != nil {
		return nil, err
	}
	return &event{driver: s.driver, stream: s.failure, handle: handle, hasClock: s.driver.properties.hasClock}, nil
}

func (s *stream) WaitFor(e gpu.Event) error {
	if err := s.driver.gone(); err != nil {
		return err
	}
	of := e.(*event)
	handle := of.hold()
	if handle == 0 {
		return of.failed()
	}
	if err := clEnqueueBarrierWithWaitList.call(s.handle, 1, uintptr(unsafe.Pointer(&handle)), 0); err != nil {
		of.drop()
		return err
	}
	if s.behind = append(s.behind, of); len(s.behind) < mostBehind {
		return nil
	}
	return s.forget()
}
