package tensor

import (
	"fmt"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// A Tensor is memory on a device, seen through a layout as elements of a type. Views share the
// memory; it is freed when the last of them is released. A Tensor is immutable except for Release
// and its elements, which CopyFrom and other holders of the buffer can change.
//
// On a nil Tensor, methods that return an error return one of kind ErrInvalid, and Release and
// String work; the others panic.
type Tensor struct {
	stream   *Stream
	memory   *memory
	layout   layout.Layout
	moved    *move // nil: this tensor is a view
	dtype    layout.DType
	released atomic.Bool
	scope    atomic.Pointer[Scope] // will release it; nil: none
}

// memory is a buffer and the number of tensors that share it.
type memory struct {
	buffer   device.Buffer
	refs     atomic.Int64
	owner    *Stream // its leak check records it
	borrowed bool    // belongs to the caller: not freed here
	shared   bool    // others see the elements, too
	// elsewhere: work on another stream than its tensor's may still read it.
	elsewhere atomic.Bool
}

// ErrReleased: the tensor has been released. It is of kind ErrInvalid.
var ErrReleased = fmt.Errorf("%w: the tensor has been released", device.ErrInvalid)

// allocate returns a contiguous tensor with undefined elements. Like the results of own and
// reference, it is in no scope, so that no one else releases it: when the call that makes it is
// done, publish adds it to a scope.
func allocate(s *Stream, op string, t layout.DType, shape []int64) (*Tensor, error) {
	if s == nil {
		return nil, nilStream(op)
	}
	l, err := layout.Contiguous(shape...)
	if err != nil {
		return nil, named(op, t, err)
	}
	var b device.Buffer
	if t == layout.String {
		a, ok := device.As[device.StringAllocator](s.dev)
		if !ok {
			return nil, named(op, t, layout.Errorf(device.ErrUnsupported, op, "%v: device %s does not hold strings; the cpu device does",
				l.Shape(), s.dev.Info().ID()))
		}
		b, err = a.AllocStrings(l.Count())
	} else {
		size, sizeErr := l.Shape().Bytes(t)
		if sizeErr != nil {
			return nil, named(op, t, sizeErr)
		}
		b, err = s.alloc(size)
	}
	if err != nil {
		return nil, fmt.Errorf("%s of %v%v: %w", op, t, l.Shape(), err)
	}
	return own(s, &memory{buffer: b}, t, l), nil
}

// named adds the operation and the element type to err, before there is a tensor.
func named(op string, t layout.DType, err error) error {
	return layout.Named(fmt.Sprintf("%s of %v", op, t), err)
}

// own returns the first tensor over m, whose buffer and ownership are set.
func own(s *Stream, m *memory, t layout.DType, l layout.Layout) *Tensor {
	m.owner = s
	m.refs.Store(1)
	s.live.add(m, t, l)
	return &Tensor{stream: s, memory: m, layout: l, dtype: t}
}

// publish adds a complete tensor to the stream's scope, if it has one.
func (t *Tensor) publish() *Tensor {
	if t.stream.scope.Load() != nil {
		t.stream.collect(t)
	}
	return t
}

// published ends a call that makes a tensor.
func published(t *Tensor, err error) (*Tensor, error) {
	if err != nil {
		return nil, err
	}
	return t.publish(), nil
}

// OwnBuffer returns a tensor over a buffer of the stream's device, which the last Release frees.
// After an error the buffer stays the caller's.
func OwnBuffer(s *Stream, b device.Buffer, t layout.DType, l layout.Layout) (*Tensor, error) {
	return fromMemory(s, "OwnBuffer", &memory{buffer: b}, t, l)
}

// BorrowBuffer is OwnBuffer for a buffer that stays the caller's, who must keep it alive while
// the tensor or a view of it is in use, and then frees it.
func BorrowBuffer(s *Stream, b device.Buffer, t layout.DType, l layout.Layout) (*Tensor, error) {
	return fromMemory(s, "BorrowBuffer", &memory{buffer: b, borrowed: true}, t, l)
}

// ShareBuffer is OwnBuffer for memory whose elements others may read and change meanwhile: no
// call reuses it for results unless asked (see [Tensor.Unshared]).
func ShareBuffer(s *Stream, b device.Buffer, t layout.DType, l layout.Layout) (*Tensor, error) {
	return fromMemory(s, "ShareBuffer", &memory{buffer: b, shared: true}, t, l)
}

func fromMemory(s *Stream, op string, m *memory, t layout.DType, l layout.Layout) (*Tensor, error) {
	if s == nil {
		return nil, nilStream(op)
	}
	o := device.Operand{Buffer: m.buffer, Layout: l, Type: t}
	if err := backend.CheckOperand(op, "the tensor", &o); err != nil {
		return nil, err
	}
	return own(s, m, t, l).publish(), nil
}

// WithLayout returns a view of the same memory through another layout, which must stay within the
// buffer. It is the general view; op names the operation in traces and errors.
func (t *Tensor) WithLayout(op string, l layout.Layout) (*Tensor, error) {
	if t == nil {
		return nil, nilTensor(op)
	}
	o := t.operandOf(l)
	return t.view(t.stream, op, &l, backend.CheckOperand(op, "the view", &o))
}

// view ends a call that makes a view on a stream of the device. err is the error of making the
// layout; if it is nil, the layout stays within the buffer.
func (t *Tensor) view(s *Stream, op string, l *layout.Layout, err error) (*Tensor, error) {
	x, err := t.reference(s, op, l, err)
	if err == nil && s.scope.Load() != nil {
		s.collect(x)
	}
	return x, err
}

// reference is view without a scope.
func (t *Tensor) reference(s *Stream, op string, l *layout.Layout, err error) (*Tensor, error) {
	if err != nil {
		return nil, t.fail(op, err)
	}
	if !t.retain() {
		return nil, t.fail(op, ErrReleased)
	}
	if s.trace.Load() != nil {
		s.report(op, Verdict{}, t.dtype, &t.layout, l)
	}
	return &Tensor{stream: s, memory: t.memory, layout: *l, dtype: t.dtype}, nil
}

// retain adds a reference, unless t is released. Another goroutine's last Release may come in
// between: a count of zero stays zero.
func (t *Tensor) retain() bool {
	if t.released.Load() {
		return false
	}
	for {
		n := t.memory.refs.Load()
		if n <= 0 {
			return false
		}
		if t.memory.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// hold retains t during a call, which must then call drop: a Release in another goroutine must
// not free the memory meanwhile.
func (t *Tensor) hold(op string) error {
	if t == nil {
		return nilTensor(op)
	}
	if !t.retain() {
		return t.fail(op, ErrReleased)
	}
	return nil
}

// Release gives up the tensor. The memory is freed when no view of it is left, after the work
// queued on it. Releasing a tensor twice, or a nil tensor, does nothing; using a released tensor
// is ErrReleased. If the device is closed, which has freed the memory, the error is
// device.ErrClosed.
func (t *Tensor) Release() error {
	if t == nil || t.released.Swap(true) {
		return nil
	}
	if t.scope.Load() != nil {
		t.leaveScope()
	}
	return t.letGo()
}

// letGo drops the reference of a tensor that is marked as released.
func (t *Tensor) letGo() error {
	if err := t.memory.drop(); err != nil {
		return t.fail("Release", err)
	}
	return nil
}

// drop removes a reference, and frees the memory after the last.
func (m *memory) drop() error {
	if m.refs.Add(-1) > 0 {
		return nil
	}
	return m.free()
}

// free frees the memory after the last reference.
func (m *memory) free() error {
	m.owner.live.remove(m)
	if m.borrowed {
		return nil
	}
	if m.owner.deviceClosed.Load() {
		return layout.Errorf(device.ErrClosed, "", "its stream was closed, and the device %s with it, which freed the memory", m.owner.dev.Info().ID())
	}
	return m.buffer.Free()
}

// Stream returns the stream that the tensor belongs to.
func (t *Tensor) Stream() *Stream { return t.stream }

// DType returns the element type.
func (t *Tensor) DType() layout.DType { return t.dtype }

// Layout returns the layout of the elements in the buffer.
func (t *Tensor) Layout() layout.Layout { return t.layout }

// Shape returns the extents.
func (t *Tensor) Shape() layout.Shape { return t.layout.Shape() }

// AppendDims appends the extents to dst: Shape without the allocation.
func (t *Tensor) AppendDims(dst []int64) []int64 { return t.layout.AppendDims(dst) }

// Dim returns the extent of an axis in [0, Rank).
func (t *Tensor) Dim(axis int) int64 { return t.layout.Dim(axis) }

// Rank returns the number of axes.
func (t *Tensor) Rank() int { return t.layout.Rank() }

// Count returns the number of elements.
func (t *Tensor) Count() int64 { return t.layout.Count() }

// Unshared reports whether t is the only tensor over its memory, the memory is neither borrowed
// from the caller nor shared with others, and only t's stream has worked on it: then no one else
// can see its elements change.
func (t *Tensor) Unshared() bool {
	m := t.memory
	return m.refs.Load() == 1 && !m.borrowed && !m.shared && !m.elsewhere.Load()
}

// Buffer returns the memory, for the caller's own kernels. It is valid until the tensor is
// released.
func (t *Tensor) Buffer() device.Buffer { return t.memory.buffer }

// Operand returns the tensor as an operand of the device's queue; for a nil tensor, an operand
// without a buffer.
func (t *Tensor) Operand() device.Operand {
	if t == nil {
		return device.Operand{}
	}
	return t.operandOf(t.layout)
}

func (t *Tensor) operandOf(l layout.Layout) device.Operand {
	return device.Operand{Buffer: t.memory.buffer, Layout: l, Type: t.dtype}
}

// Verdict returns what the call that made this tensor did.
func (t *Tensor) Verdict() Verdict {
	m := t.moved
	if m == nil {
		return Verdict{}
	}
	v := m.verdict
	if m.src.Buffer != nil {
		v.Class, v.Kernel = t.stream.kernelName(m.dst, m.src)
	}
	return v
}

// hostBytes returns the whole buffer of a host tensor, once the stream's work is done. False: it
// must be read or written through the queue.
func (t *Tensor) hostBytes() ([]byte, bool) {
	if !t.stream.IsHost() || t.stream.Wait() != nil {
		return nil, false
	}
	return t.stream.host.HostBytes(t.memory.buffer)
}

func nilTensor(op string) error { return layout.Errorf(device.ErrInvalid, op, "the tensor is nil") }

// apart is the error of tensors on different devices.
func apart(op, what string, on *Stream, with string, other *Stream) error {
	return layout.Errorf(device.ErrInvalid, op, "%s is on device %s, %s on %s: To brings it there", what, on.dev.Info().ID(), with, other.dev.Info().ID())
}

// fail adds the operation and t's type and shape to err.
func (t *Tensor) fail(op string, err error) error {
	return layout.Named(fmt.Sprintf("%s of %v%v", op, t.dtype, t.layout.Shape()), err)
}
