package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// File is a file open for reading.
type File struct {
	Path string
	Header
	file *file.File
}

// OpenFile opens a file and reads its header.
func OpenFile(path string) (*File, error) {
	open, err := file.Open(path, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path, file: open}
	h, err := readHeader(open, open.Size, func(bytes int64) error {
		return budget.TakeFor(budget.Process(), f, "the header of "+quote.Path(path), bytes)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", quote.Path(path), err), open.Close())
	}
	f.Header = *h
	for _, t := range f.Tensors {
		t.file = f
	}
	return f, nil
}

// Close closes the file; its tensors can no longer be read.
func (f *File) Close() error { return f.file.Close() }

// File returns the file that the tensor was read from.
func (t *Tensor) File() *File { return t.file }

// ReadAt reads bytes of the tensor, as io.ReaderAt does; off counts from its first byte.
func (t *Tensor) ReadAt(p []byte, off int64) (int, error) {
	if t.file == nil {
		return 0, layout.Errorf(layout.ErrInvalid, "ReadAt", "tensor %s is in no file", quote.Name(t.Name))
	}
	if off < 0 || off > t.size {
		return 0, layout.Errorf(layout.ErrInvalid, "ReadAt", "byte %d of tensor %s, which has %d", off, quote.Name(t.Name), t.size)
	}
	part := p[:min(int64(len(p)), t.size-off)]
	n, err := t.file.file.ReadAt(part, t.offset+off)
	switch {
	case n == len(part) && n < len(p):
		err = io.EOF
	case n == len(part):
		err = nil
	case err == io.EOF:
		err = fmt.Errorf("%s: it has become shorter: %w", quote.Path(t.file.Path), io.ErrUnexpectedEOF)
	}
	return n, err
}

// readHeader reads the header of a file of size bytes. It charges the memory that it needs
// before it allocates.
func readHeader(r io.ReaderAt, size int64, charge func(int64) error) (*Header, error) {
	var start [len(magicGGUF)]byte
	if n, err := r.ReadAt(start[:], 0); err != nil && (err != io.EOF || n == len(start)) {
		return nil, err
	}
	paid := budget.Steps(charge)
	if string(start[:]) == magicGGUF {
		h := &Header{Format: GGUF}
		return h, h.readGGUF(r, size, paid)
	}
	h := &Header{Format: Safetensors}
	return h, h.readSafetensors(r, size, paid)
}

// append computes the tensors' offsets and sizes, and appends the header to b.
func (h *Header) append(b []byte) ([]byte, error) {
	names := map[string]bool{}
	for _, t := range h.Tensors {
		if err := h.check(t); err != nil {
			return nil, err
		}
		if names[t.Name] {
			return nil, h.invalid("two tensors are named %s", quote.Name(t.Name))
		}
		names[t.Name] = true
	}
	switch h.Format {
	case Safetensors:
		return h.appendSafetensors(b)
	case GGUF:
		return h.appendGGUF(b)
	}
	return nil, layout.Errorf(layout.ErrInvalid, "checkpoint", "%v is no file format", h.Format)
}
