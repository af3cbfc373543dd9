package tensor

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// FromReaderAt returns a contiguous tensor of any type but String from the packed little-endian
// bytes of r, such as a file, from byte off on: the format of WriteTo. It reads pieces of 4 MiB,
// or directly to the tensor if its memory is the host's. If r ends before the last byte, nothing
// is allocated, and the error is io.ErrUnexpectedEOF.
func FromReaderAt(s *Stream, t layout.DType, r io.ReaderAt, off int64, dims ...int64) (*Tensor, error) {
	const op = "FromReaderAt"
	size, err := layout.Shape(dims).Bytes(t)
	switch {
	case err != nil:
	case r == nil:
		err = layout.Errorf(device.ErrInvalid, op, "the reader is nil")
	case off < 0 || off > math.MaxInt64-size:
		err = layout.Errorf(device.ErrInvalid, op, "%d bytes from byte %d on", size, off)
	case size > 0: // the last byte must exist
		_, err = io.ReadFull(io.NewSectionReader(r, off+size-1, 1), make([]byte, 1))
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%d bytes from byte %d on: %w", size, off, io.ErrUnexpectedEOF)
		}
	}
	if err != nil {
		return nil, named(op, t, err)
	}
	x, err := allocate(s, op, t, dims)
	if err != nil {
		return nil, err
	}
	return x.upload(op, func() error { return x.readFrom(io.NewSectionReader(r, off, size), size) })
}

// readFrom fills a new tensor.
func (t *Tensor) readFrom(r io.Reader, size int64) error {
	full := func(piece []byte) error {
		_, err := io.ReadFull(r, piece)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if raw, ok := t.hostBytes(); ok {
		return full(raw[:size])
	}
	piece := make([]byte, min(size, pieceBytes))
	for off := int64(0); off < size; off += pieceBytes {
		piece = piece[:min(size-off, pieceBytes)]
		if err := full(piece); err != nil {
			return err
		}
		if err := t.stream.queue.Write(t.memory.buffer, off, piece); err != nil {
			return err
		}
	}
	return nil
}
