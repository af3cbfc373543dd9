package tensor

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
)

// ReadInto copies the elements, in row-major order, to a slice on the host: of the Go type of the
// tensor's element type, or []byte for the packed bytes of any type but String. Its length must
// be exact. It waits for the stream's work on the tensor. It is a transfer, after a copy on the
// device if the tensor is not contiguous.
func (t *Tensor) ReadInto(dst any) error {
	const op = "ReadInto"
	if err := t.hold(op); err != nil {
		return err
	}
	defer t.memory.drop()
	if err := t.checkRoom(op, dst); err != nil {
		return t.fail(op, err)
	}
	return t.download(op, func(x *Tensor) error { return x.load(dst) })
}

// Wait returns when the stream's work so far is done. Like ReadInto, it returns the error of the
// work that the elements depend on: nil if they are right, even if other work has failed.
func (t *Tensor) Wait() error { return t.wait("Wait", context.Background()) }

// WaitContext is Wait that returns early, with ctx's cause, when ctx is done; the work goes on.
// After it succeeds, ReadInto and related calls hardly wait, unless others queue work on the
// stream meanwhile.
func (t *Tensor) WaitContext(ctx context.Context) error { return t.wait("WaitContext", ctx) }

func (t *Tensor) wait(op string, ctx context.Context) error {
	if err := t.hold(op); err != nil {
		return err
	}
	defer t.memory.drop()
	if ctx == nil {
		return t.fail(op, layout.Errorf(device.ErrInvalid, op, "the context is nil"))
	}
	e, err := t.stream.queue.Record()
	if err == nil {
		err = await(ctx, e)
	}
	if c, ok := device.As[device.Checker](t.stream.queue); ok && err == nil && t.Count() > 0 {
		lo, hi, _ := t.layout.Extent()
		bits := int64(t.dtype.Bits())
		first, end := lo*bits/8, (hi*bits+bits+7)/8
		err = c.CheckBuffer(t.memory.buffer, first, end-first)
	}
	if err != nil {
		return t.fail(op, err)
	}
	return nil
}

// checkRoom checks that dst is a slice for exactly the elements.
func (t *Tensor) checkRoom(op string, dst any) error {
	room, want := int64(0), t.Count()
	if strs, ok := hostStrings(dst); ok && t.dtype == layout.String {
		room = int64(len(strs))
	} else {
		raw, of, ok := hostSlice(dst)
		if !ok || of != t.dtype && of != layout.Uint8 || t.dtype == layout.String {
			return layout.Errorf(device.ErrInvalid, op, "cannot read into a %T: want %s", dst, wantedSlice(t.dtype))
		}
		var err error
		if want, err = t.layout.Shape().Bytes(t.dtype); err != nil {
			return err
		}
		room = int64(len(raw))
	}
	if room != want {
		unit := "bytes"
		if t.dtype == layout.String {
			unit = "strings"
		}
		return layout.Errorf(device.ErrInvalid, op, "%d %s of room are given; %d are needed", room, unit, want)
	}
	return nil
}

// load reads the elements of a run to a slice that checkRoom has accepted.
func (t *Tensor) load(dst any) error {
	if strs, ok := hostStrings(dst); ok {
		return t.stream.words.ReadStrings(strs, t.memory.buffer, t.layout.Offset())
	}
	raw, of, _ := hostSlice(dst)
	if err := t.stream.queue.Read(raw, t.memory.buffer, t.byteOffset()); err != nil {
		clear(raw) // an index out of range may leave old memory
		return err
	}
	if used := t.Count() * int64(t.dtype.Bits()) % 8; used != 0 {
		raw[len(raw)-1] &= 1<<used - 1 // clear what is not the tensor's
	}
	if of == layout.Bool {
		clampBools(raw)
	}
	return nil
}

// clampBools makes every byte 0 or 1: a Go bool allows no other.
func clampBools(raw []byte) {
	for i, b := range raw {
		raw[i] = min(b, 1)
	}
}

// wantedSlice names the slices that can hold elements of a type.
func wantedSlice(t layout.DType) string {
	switch t {
	case layout.String:
		return "[]string"
	case layout.Float32:
		return "[]float32 or []byte"
	case layout.Float64:
		return "[]float64 or []byte"
	case layout.Bool, layout.Complex64, layout.Complex128, layout.Int8, layout.Int16, layout.Int32, layout.Int64,
		layout.Uint16, layout.Uint32, layout.Uint64:
		return "[]" + t.String() + " or []byte"
	}
	return "[]byte"
}

// hostStrings returns a slice of any string type as a []string.
func hostStrings(slice any) ([]string, bool) {
	if strs, ok := slice.([]string); ok {
		return strs, true
	}
	v := reflect.ValueOf(slice)
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() != reflect.String {
		return nil, false
	}
	return unsafe.Slice((*string)(v.UnsafePointer()), v.Len()), true
}

// hostSlice returns the memory and the element type of a slice of numbers or bools, or of a type
// with such an underlying type.
func hostSlice(slice any) ([]byte, layout.DType, bool) {
	switch s := slice.(type) {
	case []bool:
		return bytesOfSlice(s), layout.Bool, true
	case []int8:
		return bytesOfSlice(s), layout.Int8, true
	case []int16:
		return bytesOfSlice(s), layout.Int16, true
	case []int32:
		return bytesOfSlice(s), layout.Int32, true
	case []int64:
		return bytesOfSlice(s), layout.Int64, true
	case []uint8:
		return s, layout.Uint8, true
	case []uint16:
		return bytesOfSlice(s), layout.Uint16, true
	case []uint32:
		return bytesOfSlice(s), layout.Uint32, true
	case []uint64:
		return bytesOfSlice(s), layout.Uint64, true
	case []float32:
		return bytesOfSlice(s), layout.Float32, true
	case []float64:
		return bytesOfSlice(s), layout.Float64, true
	case []complex64:
		return bytesOfSlice(s), layout.Complex64, true
	case []complex128:
		return bytesOfSlice(s), layout.Complex128, true
	}
	v := reflect.ValueOf(slice)
	if v.Kind() != reflect.Slice {
		return nil, layout.Invalid, false
	}
	of := layout.TypeOfKind(v.Type().Elem().Kind())
	if of == layout.Invalid || of == layout.String {
		return nil, layout.Invalid, false
	}
	return unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*int(v.Type().Elem().Size())), of, true
}

// download calls read with t, or with a copy if t is not a run of elements that starts on a byte,
// and reports the transfer.
func (t *Tensor) download(op string, read func(*Tensor) error) error {
	x := t
	if !t.isRun() {
		var err error
		if x, err = t.compact(op, t.layout.Shape()); err != nil {
			return err
		}
		defer x.Release()
	}
	if err := read(x); err != nil {
		return t.fail(op, err)
	}
	t.transferred(op)
	return nil
}

// transferred reports a transfer of all elements to the host.
func (t *Tensor) transferred(op string) {
	if t.stream.trace.Load() != nil {
		to, _ := layout.Contiguous(t.layout.Shape()...) // no error: t has this shape
		t.stream.report(op, Verdict{Kind: Transfer, Bytes: bytesOf(t.dtype, t.Count())}, t.dtype, &t.layout, &to)
	}
}

// isRun reports whether the elements form one run that starts on a byte.
func (t *Tensor) isRun() bool {
	return t.layout.IsContiguous() && (t.dtype.Bits() >= 8 || t.layout.Offset()*int64(t.dtype.Bits())%8 == 0)
}

func (t *Tensor) byteOffset() int64 {
	if t.Count() == 0 {
		return 0
	}
	return t.layout.Offset() * int64(t.dtype.Bits()) / 8
}

// Bytes returns a copy of the packed elements.
func (t *Tensor) Bytes() ([]byte, error) { return t.bytes("Bytes") }

func (t *Tensor) bytes(op string) (out []byte, err error) {
	if err := t.hold(op); err != nil {
		return nil, err
	}
	defer t.memory.drop()
	size, err := t.layout.Shape().Bytes(t.dtype)
	if err != nil {
		return nil, t.fail(op, err)
	}
	err = t.download(op, func(x *Tensor) error {
		if out, err = budget.Make[byte](budget.Process(), op, size); err != nil {
			return err
		}
		return x.load(out)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Values returns a copy of the elements in row-major order.
func Values[T layout.Element](t *Tensor) (out []T, err error) {
	const op = "Values"
	if err := t.hold(op); err != nil {
		return nil, err
	}
	defer t.memory.drop()
	if want := layout.TypeOf[T](); want != t.dtype {
		return nil, t.fail(op, layout.Errorf(device.ErrInvalid, op, "the elements are not of type %v: want %s", want, wantedSlice(t.dtype)))
	}
	err = t.download(op, func(x *Tensor) error {
		if out, err = budget.Make[T](budget.Process(), op, x.Count()); err != nil {
			return err
		}
		return x.load(layout.Plain(out))
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// To returns the tensor on another stream. On the same device it is a view, and the other
// stream's work on it waits for this stream's work so far. On another device it is a transfer to
// a contiguous copy: without the host and without waiting, if the devices can (see
// device.PeerQueue).
func (t *Tensor) To(s *Stream) (*Tensor, error) { return published(t.to("To", s)) }

func (t *Tensor) to(op string, s *Stream) (*Tensor, error) {
	if err := t.hold(op); err != nil {
		return nil, err
	}
	defer t.memory.drop()
	if s == nil {
		return nil, t.fail(op, nilStream(op))
	}
	if s.dev == t.stream.dev {
		return t.reference(s, op, &t.layout, t.usedOn(s))
	}
	var out *Tensor
	err := t.download(op, func(x *Tensor) (err error) {
		if out, err = allocate(s, op, t.dtype, t.layout.Shape()); err == nil {
			err = out.take(x)
		}
		return err
	})
	if err != nil {
		_ = out.Release()
		return nil, err
	}
	out.note(op, move{verdict: Verdict{Kind: Transfer, Bytes: bytesOf(t.dtype, t.Count())}}, t)
	return out, nil
}

// take fills t, which is new, with the elements of a run on another device.
func (t *Tensor) take(x *Tensor) error {
	if t.dtype == layout.String { // both devices hold strings, or t would not be
		strs, err := budget.Make[string](budget.Process(), "To", x.Count())
		if err != nil {
			return err
		}
		if err := x.load(strs); err != nil {
			return err
		}
		return t.stream.words.WriteStrings(t.memory.buffer, 0, strs)
	}
	if peer, ok := device.As[device.PeerQueue](t.stream.queue); ok {
		err := peer.CopyPeer(t.memory.buffer, 0, x.memory.buffer, x.byteOffset(), t.memory.buffer.Size(), x.stream.queue)
		if !errors.Is(err, device.ErrUnsupported) {
			x.memory.elsewhere.Store(true)
			return err
		}
	}
	from, ok := x.hostBytes()
	if ok {
		from = from[x.byteOffset():][:t.memory.buffer.Size()]
	} else if to, ok := t.hostBytes(); ok {
		return x.stream.queue.Read(to, x.memory.buffer, x.byteOffset())
	} else {
		return t.takeByHost(x)
	}
	return t.stream.queue.Write(t.memory.buffer, 0, from)
}

// takeByHost is take through the host's memory, piece by piece.
func (t *Tensor) takeByHost(x *Tensor) error {
	size := t.memory.buffer.Size()
	piece := make([]byte, min(size, pieceBytes))
	for off := int64(0); off < size; off += pieceBytes {
		piece = piece[:min(size-off, pieceBytes)]
		if err := x.stream.queue.Read(piece, x.memory.buffer, x.byteOffset()+off); err != nil {
			return err
		}
		if err := t.stream.queue.Write(t.memory.buffer, off, piece); err != nil {
			return err
		}
	}
	return nil
}

// usedOn makes later work of s, which may read t, wait for the work on t so far.
func (t *Tensor) usedOn(s *Stream) error {
	if s == t.stream {
		return nil
	}
	t.memory.elsewhere.Store(true)
	return follow(s, t.stream)
}

// follow makes later work of s wait for the work of before so far.
func follow(s, before *Stream) error {
	if s == before {
		return nil
	}
	e, err := before.queue.Record()
	if err != nil {
		return err
	}
	if err := s.queue.WaitFor(e); err != nil {
		return fmt.Errorf("waiting for another stream: %w", err)
	}
	return nil
}
