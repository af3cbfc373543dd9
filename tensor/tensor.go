package tensor

import (
	"fmt"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// A Tensor is memory on a device, seen through a layout as elements of a type.
// Views share the memory; it is freed when the last of them is released. A
// Tensor is immutable but for Release and for the elements, which CopyFrom and
// whoever else holds the buffer can change.
//
// On a nil Tensor, methods that return an error return one of kind ErrInvalid, and
// Release and String work; the others panic.
type Tensor struct {
	stream   *Stream
	memory   *memory
	layout   layout.Layout
	moved    *move // nil: this tensor is a view
	dtype    layout.DType
	released atomic.Bool
	scope    atomic.Pointer[Scope] // that releases it; nil: none
}

// memory is a buffer with the count of tensors that share it.
type memory struct {
	buffer device.Buffer
	refs   atomic.Int64
	owner  *Stream // whose leak check knows it
	lent   bool    // the caller's: not freed here
	shared bool    // others see the elements, too
	// elsewhere: work on a stream that is not its tensor's may still read it.
	elsewhere atomic.Bool
}

// ErrReleased is the error of a call on a released tensor. It is of kind
// ErrInvalid.
var ErrReleased = fmt.Errorf("%w: the tensor has been released", device.ErrInvalid)

// allocate returns a tensor with undefined elements, contiguous. Like all that own and
// reference return, it is in no scope, so that nobody else releases it: publish gives it to
// one when the call that makes it is done with it.
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

// named names the operation and the element type that err is about, where
// there is no tensor yet.
func named(op string, t layout.DType, err error) error {
	return layout.Named(fmt.Sprintf("%s of %v", op, t), err)
}

// own returns the first tensor over memory whose buffer is set, and whose it is.
func own(s *Stream, m *memory, t layout.DType, l layout.Layout) *Tensor {
	m.owner = s
	m.refs.Store(1)
	s.live.add(m, t, l)
	return &Tensor{stream: s, memory: m, layout: l, dtype: t}
}

// publish gives a tensor that is complete to the stream's scope, if it has one.
func (t *Tensor) publish() *Tensor {
	if t.stream.scope.Load() != nil {
		t.stream.collect(t)
	}
	return t
}

// published is the end of a call that makes a tensor.
func published(t *Tensor, err error) (*Tensor, error) {
	if err != nil {
		return nil, err
	}
	return t.publish(), nil
}

// FromBuffer returns a tensor over a buffer of the stream's device. If lend is
// set the buffer stays the caller's, who keeps it alive and frees it;
// otherwise the last Release frees it. After an error it is the caller's.
func FromBuffer(s *Stream, b device.Buffer, t layout.DType, l layout.Layout, lend bool) (*Tensor, error) {
	return fromMemory(s, "FromBuffer", &memory{buffer: b, lent: lend}, t, l)
}

// FromSharedBuffer is FromBuffer, without lend, for memory whose elements others may read
// and change meanwhile: no call takes it for its own, to write results to it (see Unshared).
func FromSharedBuffer(s *Stream, b device.Buffer, t layout.DType, l layout.Layout) (*Tensor, error) {
	return fromMemory(s, "FromSharedBuffer", &memory{buffer: b, shared: true}, t, l)
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

// WithLayout returns a view of the same memory through another layout, which
// must stay within the buffer. It is what every view is made with; op names the
// operation to the trace hook and in errors.
func (t *Tensor) WithLayout(op string, l layout.Layout) (*Tensor, error) {
	if t == nil {
		return nil, nilTensor(op)
	}
	o := t.operandOf(l)
	return t.view(t.stream, op, &l, backend.CheckOperand(op, "the view", &o))
}

// view finishes a call that makes a view, on a stream of the device: with the
// error that making the layout gave, or with a layout that stays within the
// buffer.
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

// retain takes one more reference, unless t is released. A last Release in
// another goroutine may come in between: memory at zero stays at zero.
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

// hold retains t for the time of a call, which then needs a drop: a Release in
// another goroutine must not free the memory under it.
func (t *Tensor) hold(op string) error {
	if t == nil {
		return nilTensor(op)
	}
	if !t.retain() {
		return t.fail(op, ErrReleased)
	}
	return nil
}

// Release gives up the tensor. The memory is freed, in order after the work
// queued on it, when no view of it is left. Releasing a tensor twice does
// nothing; using it afterwards is ErrReleased. Release on a nil tensor does
// nothing. A device that is closed has freed the memory: that is device.ErrClosed.
func (t *Tensor) Release() error {
	if t == nil || t.released.Swap(true) {
		return nil
	}
	if t.scope.Load() != nil {
		t.leaveScope()
	}
	return t.letGo()
}

// letGo gives up the reference of a tensor that is marked as released.
func (t *Tensor) letGo() error {
	if err := t.memory.drop(); err != nil {
		return t.fail("Release", err)
	}
	return nil
}

// drop gives up a reference.
func (m *memory) drop() error {
	if m.refs.Add(-1) > 0 {
		return nil
	}
	return m.free()
}

// free is the end of the last reference.
func (m *memory) free() error {
	m.owner.live.remove(m)
	if m.lent {
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

// Layout returns where the elements lie in the buffer.
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

// Unshared reports whether t is the only tensor that has this memory, the memory
// is neither the caller's nor shared with others, and only t's stream has worked on it:
// nobody else sees its elements change.
func (t *Tensor) Unshared() bool {
	m := t.memory
	return m.refs.Load() == 1 && !m.lent && !m.shared && !m.elsewhere.Load()
}

// Buffer returns the memory, for the caller's own kernels; it is alive until
// the tensor is released.
func (t *Tensor) Buffer() device.Buffer { return t.memory.buffer }

// Operand returns the tensor as an operand of the device's queue; of a nil tensor, an
// operand without a buffer.
func (t *Tensor) Operand() device.Operand {
	if t == nil {
		return device.Operand{}
	}
	return t.operandOf(t.layout)
}

func (t *Tensor) operandOf(l layout.Layout) device.Operand {
	return device.Operand{Buffer: t.memory.buffer, Layout: l, Type: t.dtype}
}

// Verdict returns what the call did that made this tensor.
func (t *Tensor) Verdict() Verdict {
	m := t.moved
	if m == nil {
		return Verdict{}
	}
	v := m.verdict
	if m.src.Buffer != nil {
		v.Kernel = t.stream.kernelName(m.dst, m.src)
	}
	return v
}

// hostBytes returns the whole buffer of a host tensor, once the stream's work
// is done. False: it must be read or written through the queue.
func (t *Tensor) hostBytes() ([]byte, bool) {
	if !t.stream.IsHost() || t.stream.Wait() != nil {
		return nil, false
	}
	return t.stream.host.HostBytes(t.memory.buffer)
}

func nilTensor(op string) error { return layout.Errorf(device.ErrInvalid, op, "the tensor is nil") }

// apart is the error of a tensor on another device than what it is used with.
func apart(op, what string, on *Stream, with string, other *Stream) error {
	return layout.Errorf(device.ErrInvalid, op, "%s is on device %s, %s on %s: To brings it there", what, on.dev.Info().ID(), with, other.dev.Info().ID())
}

// fail names the operation on t that err is from, with t's type and shape.
func (t *Tensor) fail(op string, err error) error {
	return layout.Named(fmt.Sprintf("%s of %v%v", op, t.dtype, t.layout.Shape()), err)
}
