package tensor

import (
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Launch queues a user's kernel, in order with the stream's other work: device.Launcher lists the
// possible arguments. Tensors among them, alone or within device.Strided, ReadOnly or
// Overwritten, may belong to other streams of the device. The kernel waits for their streams'
// work so far; their later work waits for this stream only if the caller makes it (with To, or an
// event). Everything that the kernel uses may be released as soon as Launch has returned, also in
// a capture.
//
// Each kind of device has kernels of its own: see device.Kernel. If the queue is not a
// device.Launcher, the error is device.ErrUnsupported.
func (s *Stream) Launch(k device.Kernel, grid, block device.Dim3, args ...any) error {
	const op = "Launch"
	if s == nil {
		return nilStream(op)
	}
	q, ok := device.As[device.Launcher](s.queue)
	if !ok {
		return layout.Errorf(device.ErrUnsupported, op, "device %s runs no kernels but its own", s.dev.Info().ID())
	}
	for i, arg := range args {
		if access, ok := arg.(device.AccessArgument); ok {
			arg = access.X
		}
		if strided, ok := arg.(device.StridedArgument); ok {
			arg = strided.X
		}
		t, ok := arg.(*Tensor)
		if !ok {
			continue
		}
		if err := t.hold(op); err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
		defer t.memory.drop()
		if t.stream.dev != s.dev {
			return t.fail(op, apart(op, fmt.Sprintf("argument %d", i), t.stream, "the kernel", s))
		}
		if err := t.usedOn(s); err != nil {
			return t.fail(op, err)
		}
	}
	return q.Launch(k, grid, block, args...)
}
