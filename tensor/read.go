package tensor

import (
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Read copies the elements, in row-major order, to a slice on the host: of the
// Go type of the tensor's element type, or []byte for the packed bytes of any
// type but String. Its length must be exact. It waits for the stream's work on
// the tensor; it is a transfer, and where the tensor is not contiguous there is
// a copy on the device before it.
func (t *Tensor) Read(dst any) error {
	const op = "Read"
	if strs, ok := dst.([]string); ok && t.dtype == layout.String {
		if err := checkCount(op, t.dtype, t.layout.Shape(), int64(len(strs)), "elements of room are"); err != nil {
			return err
		}
		return t.download(op, func(x *Tensor) error {
			return x.stream.queue.(device.StringQueue).ReadStrings(strs, x.memory.buffer, x.layout.Offset())
		})
	}
	raw, of, ok := hostSlice(dst)
	if !ok || of != t.dtype && of != layout.Uint8 || t.dtype == layout.String {
		return t.fail(op, layout.Errorf(device.ErrInvalid, op, "cannot read into a %T", dst))
	}
	want, err := t.layout.Shape().Bytes(t.dtype)
	if err != nil {
		return t.fail(op, err)
	}
	if int64(len(raw)) != want {
		return t.fail(op, layout.Errorf(device.ErrInvalid, op, "%d bytes of room are given; %d are needed", len(raw), want))
	}
	return t.download(op, func(x *Tensor) error {
		if err := x.stream.queue.Read(raw, x.memory.buffer, x.byteOffset()); err != nil {
			return err
		}
		if used := t.Count() * int64(t.dtype.Bits()) % 8; used != 0 {
			raw[want-1] &= 1<<used - 1 // what else is in the last byte is not the tensor's
		}
		return nil
	})
}

// hostSlice returns the memory and the element type of a slice of numbers or
// bools.
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
	return nil, layout.Invalid, false
}

// download calls read with the tensor as a contiguous run that starts on a
// byte, and reports the transfer.
func (t *Tensor) download(op string, read func(*Tensor) error) error {
	if t.released.Load() {
		return t.fail(op, ErrReleased)
	}
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
	t.stream.report(op, Verdict{Kind: Transfer, Bytes: bytesOf(t.dtype, t.Count())}, t.dtype, t.layout, x.layout)
	return nil
}

// isRun reports whether the elements are one run that starts on a byte.
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
func (t *Tensor) Bytes() ([]byte, error) {
	size, err := t.layout.Shape().Bytes(t.dtype)
	if err != nil {
		return nil, t.fail("Bytes", err)
	}
	out := make([]byte, size)
	return out, t.Read(out)
}

// Values returns a copy of the elements in row-major order.
func Values[T Element](t *Tensor) ([]T, error) {
	if want := TypeOf[T](); want != t.dtype {
		return nil, t.fail("Values", layout.Errorf(device.ErrInvalid, "Values", "the elements are not of type %v", want))
	}
	out := make([]T, t.Count())
	return out, t.Read(out)
}

// To returns the tensor on another stream. On the same device that is a view,
// and the other stream's work on it waits for this one's so far; on another
// device it is a transfer to a contiguous copy.
func (t *Tensor) To(s *Stream) (*Tensor, error) {
	const op = "To"
	if t.released.Load() {
		return nil, t.fail(op, ErrReleased)
	}
	if s.dev == t.stream.dev {
		if err := follow(s, t.stream); err != nil {
			return nil, t.fail(op, err)
		}
		return t.view(op, t.layout, s)
	}
	out, err := allocate(s, op, t.dtype, t.layout.Shape())
	if err != nil {
		return nil, err
	}
	move := func(x *Tensor) error {
		if t.dtype == layout.String { // both devices hold strings, or allocate would have failed
			strs := make([]string, x.Count())
			if err := x.stream.queue.(device.StringQueue).ReadStrings(strs, x.memory.buffer, x.layout.Offset()); err != nil {
				return err
			}
			return s.queue.(device.StringQueue).WriteStrings(out.memory.buffer, 0, strs)
		}
		size := bytesOf(t.dtype, x.Count())
		if host, ok := out.hostBytes(); ok {
			return x.stream.queue.Read(host[:size], x.memory.buffer, x.byteOffset())
		}
		host, ok := x.hostBytes()
		if ok {
			if err := x.stream.Wait(); err != nil {
				return err
			}
			host = host[x.byteOffset():][:size]
		} else {
			host = make([]byte, size)
			if err := x.stream.queue.Read(host, x.memory.buffer, x.byteOffset()); err != nil {
				return err
			}
		}
		return s.queue.Write(out.memory.buffer, 0, host)
	}
	if err := t.download(op, move); err != nil {
		out.Release()
		return nil, err
	}
	out.moved = &Verdict{Kind: Transfer, Bytes: bytesOf(t.dtype, t.Count())}
	return out, nil
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
