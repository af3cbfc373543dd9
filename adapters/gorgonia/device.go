package gorgonia

import (
	"errors"
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"

	gt "gorgonia.org/tensor"
)

// Device is an engine whose tensors lie in the memory of a cpu, OpenCL or CUDA device, in
// the order of one stream. They are not natively accessible: ToDevice and ToHost, or Memcpy,
// transfer elements. There is no arithmetic: gorgonia reports that the engine does not support
// it.
//
// The garbage collector does not free a device's memory: the caller must free the results of
// the engine's and gorgonia's calls, by Free or, all together, by Close. All methods may be
// called from any goroutine.
type Device struct {
	s *tensor.Stream

	mu     sync.Mutex
	blocks map[uintptr]*tensor.Tensor // by address
	failed error                      // of a call that cannot return it
}

// NewDevice returns an engine for a stream, which the caller owns.
func NewDevice(s *tensor.Stream) (*Device, error) {
	if s == nil {
		return nil, layout.Errorf(device.ErrInvalid, "NewDevice", "no stream")
	}
	return &Device{s: s, blocks: map[uintptr]*tensor.Tensor{}}, nil
}

// Close frees all memory of the engine. Its tensors must not be used afterwards.
func (e *Device) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.failed
	for at, b := range e.blocks {
		err = errors.Join(err, b.Release())
		addresses.give(at)
	}
	clear(e.blocks)
	return err
}

// Wait returns when all work of the stream is done, with its first error, or Memclr's, which
// cannot return its own.
func (e *Device) Wait() error {
	e.mu.Lock()
	err := e.failed
	e.failed = nil
	e.mu.Unlock()
	return errors.Join(err, e.s.Wait())
}

// Transpose moves the elements of a tensor after T; Dense.Transpose calls it.
func (e *Device) Transpose(t gt.Tensor, strides []int) error {
	const op = "Transpose"
	all, err := denses(op, t)
	if err != nil {
		return err
	}
	return transpose(e, op, all[0], strides)
}

// Materialize returns a contiguous copy of a view or a tensor after T, and any other tensor
// unchanged. Dense.Materialize does not call it: its result for such a tensor of a device has
// undefined elements.
func (e *Device) Materialize(t gt.Tensor) (gt.Tensor, error) {
	const op = "Materialize"
	all, err := denses(op, t)
	if err != nil {
		return nil, err
	}
	if !all[0].IsMaterializable() {
		return t, nil
	}
	return either(materialize(e, op, all[0]))
}

// Concat joins tensors along an axis; Dense.Concat, Hstack and Vstack call it.
func (e *Device) Concat(t gt.Tensor, axis int, others ...gt.Tensor) (gt.Tensor, error) {
	const op = "Concat"
	all, err := denses(op, append([]gt.Tensor{t}, others...)...)
	if err != nil {
		return nil, err
	}
	return either(concat(e, op, axis, all))
}

// StackDense joins tensors of one shape along a new axis; Dense.Stack calls it.
func (e *Device) StackDense(t gt.DenseTensor, axis int, others ...gt.DenseTensor) (gt.DenseTensor, error) {
	const op = "Stack"
	all, err := denses(op, tensors(t, others)...)
	if err != nil {
		return nil, err
	}
	out, err := stack(e, op, axis, all)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Repeat repeats the elements along an axis: each as often as repeats says, which may be
// one number for all. Dense.Repeat calls it.
func (e *Device) Repeat(t gt.Tensor, axis int, repeats ...int) (gt.Tensor, error) {
	const op = "Repeat"
	all, err := denses(op, t)
	if err != nil {
		return nil, err
	}
	return either(repeat(e, op, all[0], axis, repeats))
}

// RepeatReuse is Repeat to the memory of another tensor.
func (e *Device) RepeatReuse(t, reuse gt.Tensor, axis int, repeats ...int) (gt.Tensor, error) {
	const op = "RepeatReuse"
	all, err := denses(op, t, reuse)
	if err != nil {
		return nil, err
	}
	return either(repeatInto(e, op, all[1], all[0], axis, repeats))
}

func (e *Device) stream() *tensor.Stream { return e.s }

func (e *Device) memory(op string, t *gt.Dense) (device.Buffer, int64, error) {
	b, at, err := e.find(op, t)
	if err != nil {
		return nil, 0, err
	}
	return b.Operand().Buffer, at, nil
}

func (e *Device) empty(op string, of gt.Dtype, shape gt.Shape) (*gt.Dense, error) {
	n, err := bytesOf(op, of, shape)
	if err != nil {
		return nil, err
	}
	m, err := e.alloc(op, n)
	if err != nil {
		return nil, err
	}
	return gt.NewDense(of, shape, gt.WithEngine(e), gt.FromMemory(m.Uintptr(), m.MemSize())), nil
}
